"""The evaluation data, taken back into its sources' shapes and converted again, comes out the same.

Needs the evaluation data beside the repository. What the tables do not tell (the annotators' own spellings)
is made up in the manner their column ``align`` names.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
from itertools import groupby
from pathlib import Path

import pytest

from dataset_sources import conll, write_sources, zipped
from seqtruth.datasets.catalogue import NER, PICO
from seqtruth.datasets.convert_ner import convert as convert_ner
from seqtruth.datasets.convert_pico import convert as convert_pico
from seqtruth.datasets.tables import Table, content_digest, write_table

Rows = list[dict[str, str]]


def rows(path: Path) -> Rows:
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    header = lines[0].split("\t")
    return [dict(zip(header, line.split("\t"), strict=True)) for line in lines[1:]]


def document(name: str) -> str:
    return name.rpartition("#")[0]


def spelled(tokens: list[str], labels: list[str], how: str) -> str:
    """Lines of an annotator who spells the sentence in this way; texts that differ are not made up."""
    lines = [f"{token} {label}" for token, label in zip(tokens, labels, strict=True)]
    if how == "suffix":
        lines[0] = f"{tokens[0]}/LOC {labels[0]}"
    elif how == "emptyline":
        lines[len(lines) // 2 : len(lines) // 2] = ["" if len(lines) > 1 else " O"]
    elif how == "retok":
        cut = next(i for i, token in enumerate(tokens) if len(token) > 1)
        lines[cut : cut + 1] = [f"{tokens[cut][:-1]} O", f"{tokens[cut][-1]} {labels[cut]}"]
    return "\n".join(lines) + "\n\n"


@pytest.fixture(scope="module")
def ner_tables(
    data_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, Table]]:
    home = data_dir / "ner"
    tokens = {row["sentence_id"]: row["tokens"].split() for row in rows(home / "sentences.tsv.gz")}
    gold = {row["sentence_id"]: row for row in rows(home / "gold.tsv.gz")}
    splits: dict[str, list[str]] = {}
    for row in rows(home / "splits.tsv.gz"):
        splits.setdefault(row["split"], []).append(row["sentence_id"])
    val = {document(name) for name in splits["nguyen_val"] + splits["no_crowd"]}

    def part(name: str) -> str:
        return "val" if document(name) in val else "test"

    def labelled(names: list[str], column: str = "labels_raw") -> str:
        return conll(
            [list(zip(tokens[n], gold[n][column].split(), strict=True)) for n in names]
        )  # fmt: skip

    files = {
        f"task1/{part(f'{doc}#0')}/ground_truth/{doc}.txt": labelled(list(names))
        for doc, names in groupby(tokens, document)
    }
    for row in rows(home / "annotations.tsv.gz"):
        name = row["sentence_id"]
        path = f"task1/{part(name)}/mturk_train_data/{row['worker_id']}/{document(name)}.txt"
        text = spelled(tokens[name], row["labels"].split(), row["align"])
        files[path] = files.get(path, "") + text
    votes = rows(home / "aggslc_mv.tsv.gz")
    held_out = rows(home / "conll2003_task2_eval.tsv.gz")
    conll2003 = {"eng.train": labelled(list(tokens), "labels")}
    for split in ("testa", "testb"):
        text = ""
        for _, sentences in groupby(
            (r for r in held_out if r["split"] == split), lambda r: r["doc_id"]
        ):
            text += "-DOCSTART- -X- O O\n\n"
            for row in sentences:
                text += conll(
                    [list(zip(row["tokens"].split(), iob1(row["labels"].split()), strict=True))]
                )
        conll2003[f"eng.{split}"] = text
    sources = {
        "crowd.archive": zipped(files),
        "aggslc-gold.txt": conll(
            [list(zip(tokens[v["sentence_id"]], v["gold_as_distributed"].split(), strict=True))
             for v in votes]
        ).encode(),
        "aggslc-mv.txt": conll(
            [list(zip(tokens[v["sentence_id"]], v["labels"].split(), strict=True)) for v in votes]
        ).encode(),
        "optsla-gold.txt": labelled(splits["optsla_4515"]).encode(),
        "conll2003.zip": zipped(conll2003),
    }  # fmt: skip
    folder = tmp_path_factory.mktemp("ner")
    return home, convert_ner(write_sources(folder, sources))


def iob1(labels: list[str]) -> list[str]:
    return [
        f"I{label[1:]}" if label[0] == "B" and before[1:] != label[1:] else label
        for before, label in zip(["O", *labels], labels, strict=False)
    ]


@pytest.mark.parametrize(
    "table", ["sentences.tsv.gz", "gold.tsv.gz", "aggslc_mv.tsv.gz", "conll2003_task2_eval.tsv.gz"]
)
def test_ner_tables_are_the_same_to_the_byte(
    ner_tables: tuple[Path, dict[str, Table]], tmp_path: Path, table: str
) -> None:
    assert write_table(tmp_path / table, ner_tables[1][table]) == NER.reference[table]


def test_ner_annotations_are_the_same_but_for_the_word_fuzzy(
    ner_tables: tuple[Path, dict[str, Table]],
) -> None:
    home, tables = ner_tables
    expected = [tuple(row.values()) for row in rows(home / "annotations.tsv.gz")]
    found = tables["annotations.tsv.gz"].rows
    assert [row[:3] for row in found] == [row[:3] for row in expected]
    other = [(a[3], b[3]) for a, b in zip(expected, found, strict=True) if a[3] != b[3]]
    assert set(other) <= {("fuzzy", "exact")} and len(other) == 20


def test_ner_splits_are_the_same_but_for_the_one_without_source(
    ner_tables: tuple[Path, dict[str, Table]],
) -> None:
    home, tables = ner_tables
    expected = [tuple(row.values()) for row in rows(home / "splits.tsv.gz")]
    assert list(tables["splits.tsv.gz"].rows) == [r for r in expected if r[1] != "crowdlayer_5985"]


def test_the_reference_digests_are_those_of_the_evaluation_data(data_dir: Path) -> None:
    for recipe in (NER, PICO):
        for table, digest in recipe.reference.items():
            assert content_digest(data_dir / recipe.name / table) == digest, table


def spans(tokens: list[str], starts: list[int], labels: list[str]) -> list[list[int]]:
    found: list[list[int]] = []
    for token, start, label in zip(tokens, starts, labels, strict=True):
        if label[0] == "B":
            found.append([start, start])
        if label != "O":
            found[-1][1] = start + len(token)
    return found


@pytest.mark.skipif(importlib.util.find_spec("spacy") is None, reason="spaCy is not installed")
def test_pico_comes_out_the_same(data_dir: Path, tmp_path: Path) -> None:
    home = data_dir / "pico"
    texts: dict[str, str] = {}
    places: dict[str, tuple[list[str], list[int]]] = {}
    for row in rows(home / "sentences_acl17-test.tsv.gz"):
        tokens, starts = row["tokens"].split(" "), [int(x) for x in row["char_starts"].split()]
        places[row["sentence_id"]] = tokens, starts
        text = texts.get(row["doc_id"], "")
        for token, start in zip(tokens, starts, strict=True):
            text += ("\n" * 2 if start - len(text) == 2 else " " * (start - len(text))) + token
        texts[row["doc_id"]] = text
    crowd: dict[str, dict[str, list[list[int]]]] = {doc: {} for doc in texts}
    for row in rows(home / "annotations_acl17-test.tsv.gz"):
        own = crowd[document(row["sentence_id"])].setdefault(row["worker_id"], [])
        own += spans(*places[row["sentence_id"]], row["labels"].split())
    experts: dict[str, list[list[int]]] = {doc: [] for doc in texts}
    for row in rows(home / "gold.tsv.gz"):
        experts[document(row["sentence_id"])] += spans(
            *places[row["sentence_id"]], row["labels"].split()
        )
    files = {f"PICO-data/docs/{doc}.txt": text for doc, text in texts.items()}
    files["PICO-data/docs/1.txt"] = "Nobody."
    annotations = "PICO-data/annotations/{}/PICO-annos-crowdsourcing.json"
    files[annotations.format("acl17-test")] = "\n".join(
        json.dumps({"docid": doc, "Participants": marks}) for doc, marks in crowd.items()
    )
    for part in ("train", "dev", "test"):
        files[annotations.format(part)] = '{"docid": "1", "Participants": {}}'
    sources = {
        "pico-data.zip": zipped(files),
        "experts.json": "\n".join(
            json.dumps({"docid": doc, "Participants": {"md2": marks} if marks else {}})
            for doc, marks in experts.items()
        ).encode(),
    }
    tables = convert_pico(write_sources(tmp_path, sources))
    for table in ("sentences_acl17-test.tsv.gz", "annotations_acl17-test.tsv.gz", "gold.tsv.gz"):
        expected = [tuple(row.values()) for row in rows(home / table)]
        assert list(tables[table].rows) == expected, table
