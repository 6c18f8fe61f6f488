"""The synthetic data set: real programs on real text where both are here, and the built-in imitation."""

from __future__ import annotations

import gzip
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from seqtruth import datasets
from seqtruth.cli import main
from seqtruth.data.corpus import Corpus
from seqtruth.datasets import synthetic, synthetic_demo
from seqtruth.datasets.annotators import OpenNLP, RuleCascade
from seqtruth.errors import DataWarning, MissingToolError, ParameterError
from seqtruth.kernels.grammar import is_legal
from seqtruth.metrics import annotator_scores

#: Strict F1 on all sentences, some three points below what was measured.
FLOORS = {
    "places": 0.40, "wordnet": 0.42, "names": 0.17, "spacy": 0.59, "opennlp": 0.21, "rules": 0.66,
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A tiny data set in the layout of ``ner``; its last sentence has no crowd labels."""
    tables = {
        "sentences": "sentence_id\tdoc_id\ttokens\n"
        "a#0\ta\tMr. Ueno left Spain\na#1\ta\tUeno slept\nb#0\tb\tNothing\n",
        "annotations": "sentence_id\tworker_id\tlabels\na#0\tw\tO B-PER O B-LOC\na#1\tw\tB-PER O\n",
        "gold": "sentence_id\tlabels\tlabels_raw\n"
        "a#0\tO B-PER O B-LOC\tO B-PER O B-LOC\na#1\tB-PER O\tB-PER O\nb#0\tO\tO\n",
        "splits": "sentence_id\tsplit\na#0\tnguyen_val\na#1\tnguyen_test\nb#0\tno_crowd\n",
    }
    (tmp_path / "data" / "ner").mkdir(parents=True)
    for name, text in tables.items():
        (tmp_path / "data" / "ner" / f"{name}.tsv.gz").write_bytes(gzip.compress(text.encode()))
    return tmp_path / "data"


@dataclass
class Counting:
    """Marks nothing, and counts how often it is asked."""

    name: str = "counting"
    kind: str = "NER system"
    needs: str = "nothing"
    source: str = "this test"
    number: str = "1"
    missing: bool = False
    asked: list[int] = field(default_factory=list)

    def version(self) -> str:
        if self.missing:
            raise MissingToolError("it is gone")
        return self.number

    def annotate(self, corpus: Corpus) -> list[list[str]]:
        self.asked.append(corpus.n_sentences)
        return [["O"] * len(corpus.words(s)) for s in range(corpus.n_sentences)]


def test_the_programs_read_what_the_crowd_read(folder):
    data = synthetic.load(folder, annotators=[RuleCascade()])
    assert data.name == "synthetic" and data.crowd.annotators == ("rules",)
    assert data.crowd.n_sentences == data.gold.n_sentences == 2
    assert data.crowd.corpus.documents[data.crowd.corpus.sentence_document[0]] == "a"
    assert {name: mask.tolist() for name, mask in data.splits.items()} == {
        "nguyen_val": [True, False], "nguyen_test": [False, True], "all": [True, True],
    }  # fmt: skip
    assert annotator_scores(data.crowd, data.gold).f1.tolist() == [1.0]


def test_labels_are_kept_until_something_changes(folder, tmp_path):
    cache = tmp_path / "cache"
    one = Counting()
    first = synthetic.load(folder, cache, [one])
    assert synthetic.load(folder, cache, [one]).crowd.digest() == first.crowd.digest()
    assert one.asked == [2]
    synthetic.load(folder, cache, [RuleCascade(), one])  # another one joins
    assert one.asked == [2]
    one.number = "2"  # its knowledge changes
    synthetic.load(folder, cache, [one])
    assert one.asked == [2, 2]
    one.missing = True  # it can run no more
    both = synthetic.load(folder, cache, [RuleCascade(), one])
    assert both.crowd.annotators == ("rules", "counting")
    table = folder / "ner" / "sentences.tsv.gz"  # the text changes
    table.write_bytes(gzip.compress(gzip.decompress(table.read_bytes()).replace(b"Ueno", b"Abe")))
    one.missing = False
    synthetic.load(folder, cache, [one])
    assert one.asked == [2, 2, 2]


def test_what_is_kept_holds_no_text_and_is_the_same_every_time(folder, tmp_path):
    for name in "ab":
        synthetic.load(folder, tmp_path / name, [RuleCascade()])
    for table in (synthetic.LABELS, synthetic.ANNOTATORS):
        bytes_of = [(tmp_path / name / "synthetic" / table).read_bytes() for name in "ab"]
        assert bytes_of[0] == bytes_of[1]
        assert b"Ueno" not in gzip.decompress(bytes_of[0])


def test_who_cannot_run_is_left_out_with_a_warning(folder, tmp_path, monkeypatch):
    gone = OpenNLP(executable=str(tmp_path / "nowhere"))
    monkeypatch.setattr(synthetic, "six", lambda: (gone, RuleCascade()))
    with pytest.warns(DataWarning, match="'opennlp' is left out.*Debian's package opennlp"):
        data = synthetic.load(folder)
    assert data.crowd.annotators == ("rules",)
    with pytest.raises(MissingToolError):
        synthetic.load(folder, annotators=[gone])


def test_two_of_one_name_are_refused(folder):
    with pytest.raises(ParameterError, match="unique"):
        synthetic.load(folder, annotators=[Counting(), Counting()])


def test_ready_labels_are_taken_from_the_data_folder(folder, tmp_path):
    one = Counting()
    first = synthetic.load(folder, folder, [one])
    one.missing = True
    for cache in (None, tmp_path / "cache"):
        assert synthetic.load(folder, cache, [one]).crowd.digest() == first.crowd.digest()
    assert not (tmp_path / "cache").exists()


# Built in


def test_six_imitations_with_the_vices_of_the_real_ones():
    data = datasets.load("synthetic-demo")
    assert data.crowd.annotators == tuple(one.name for one, _ in synthetic_demo.CAST)
    assert data.crowd.annotators == tuple(one.name for one in synthetic.six())
    assert (np.diff(data.crowd.sentence_rows) == 6).all()
    assert is_legal(data.crowd.tags, data.crowd.row_offsets, data.crowd.scheme.grammar).all()
    scores = annotator_scores(data.crowd, data.gold)
    assert all(
        abs(f1 - FLOORS[name]) < 0.1 for name, f1 in zip(scores.annotators, scores.f1, strict=True)
    )
    labels = np.array(data.crowd.scheme.labels)
    for annotator, (_, written) in enumerate(synthetic_demo.CAST):
        tags = data.crowd.tags[
            np.repeat(data.crowd.row_annotator, np.diff(data.crowd.row_offsets)) == annotator
        ]
        assert {label[2:] for label in labels[np.unique(tags)] if label != "O"} == set(written)


def test_imitations_follow_their_seed():
    digests = [synthetic_demo.load(seed=seed).crowd.digest() for seed in (0, 0, 1)]
    assert digests[0] == digests[1] != digests[2]


def test_compare_on_the_command_line(capsys):
    assert main(["compare", "--dataset", "synthetic-demo", "-m", "mv,ds", "-q"]) == 0
    assert "synthetic-demo" in capsys.readouterr().out


# On the real text


def test_strict_f1_of_each_program(data_dir, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        data = synthetic.load(data_dir, tmp_path)
    assert data.crowd.n_sentences == 6056
    scores = annotator_scores(data.crowd, data.gold)
    found = dict(zip(scores.annotators, scores.f1.tolist(), strict=True))
    print({name: round(100 * f1, 1) for name, f1 in found.items()})
    assert "rules" in found
    for name, f1 in found.items():
        assert f1 > FLOORS[name], name
