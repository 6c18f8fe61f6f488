"""A few small, valid files of every registered format, made once."""

from __future__ import annotations

import gzip
import io as memory
import json
import os
import warnings
import zipfile
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from seqtruth import io
from seqtruth.data.crowd import Crowd
from seqtruth.errors import SeqTruthError
from seqtruth.io import FORMATS
from tests.io.formats import small_files as small

#: Larger files of the tools, and more of a format, are left out: many files are wanted, not large ones.
LARGEST, SOME = 20_000, 6


_SEMICOLONS = b"""sep=;
task;worker;token_index;token;label
s1;ann;0;a;O
s1;ann;1;b;B-X
s1;bob;0;a;O
"""


_QUOTES = b"""id,text,model,quote,label
7,Jane met Bob.,gpt,Jane,PER
7,,llama,,
"""
_COLUMNS_OF_SPANS = b"""id,text,ann,bob
1,Jane ran.,"[(0, 4, 'PER')]",[]
"""
_ANNOTATED = b"""_unit_id,_worker_id,words,text
1,ann,"[{""classname"": ""PER"", ""tokens"": [{""text"": ""Jane"", ""startIdx"": 0, ""endIdx"": 4}]}]",Jane
"""
_BIONLP = {
    "1.txt": b"IL2 binds",
    "1.a1": b"T1\tProtein 0 3\tIL2\n",
    "1.a2": b"T2\tBinding 4 9\tbinds\n",
}
_PLACE = {"start": 0, "end": 4, "text": "Jane"}
_RESULTS = [
    {"id": "a", "from_name": "kind", "to_name": "left", "type": "taxonomy",
     "value": {**_PLACE, "taxonomy": [["Agent", "Person"]]}},
    {"id": "b", "from_name": "ner", "to_name": "right", "type": "labels",
     "value": {**_PLACE, "labels": ["PER"]}},
]  # fmt: skip
_TWO_TEXTS = {
    "id": 7, "data": {"left": "Jane ran", "right": "Jane sat"},
    "annotations": [{"completed_by": 1, "result": _RESULTS}],
}  # fmt: skip


class Specimen(NamedTuple):
    """Files by name; one alone is a file, several (or one in a folder) are a folder."""

    format: str
    files: dict[str, bytes]
    folder: bool = False

    def put(self, place: Path) -> Path:
        """Write it somewhere; where it can be read."""
        for name, data in self.files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(data)
        return place if self.folder else place / next(iter(self.files))


def _crowd() -> Crowd:
    return Crowd.of(
        {
            "ann": [["B-PER", "I-PER", "O", "O"], ["O", "B-LOC"], None],
            "bob": [["B-PER", "I-PER", "O", None], ["O", "O"], ["O"]],
        },
        [["Zoë", "Smith", "ran", "."], ["in", "Ames"], ["Yes"]],
        ids=["s1", "s2", "s3"],
    )


def _written(name: str) -> list[Specimen]:
    """What the format's writer makes of a small crowd, under each of its names; of one annotator, or
    one sentence, where it takes no more."""
    found = []
    for suffix in FORMATS[name].suffixes or ("",):
        with TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            place = Path(folder) / f"a{suffix}"
            alone = _crowd().select_annotators(["ann"])
            for crowd in (_crowd(), alone, alone[:1]):
                try:
                    io.write(crowd, place, name)
                    break
                except SeqTruthError:
                    continue
            if place.is_dir():
                inside = sorted(p for p in place.rglob("*") if p.is_file())
                files = {p.relative_to(place).as_posix(): p.read_bytes() for p in inside}
                found.append(Specimen(name, files, folder=True))
            else:
                found.append(Specimen(name, {place.name: place.read_bytes()}))
    return found


def _made() -> list[Specimen]:
    """Formats that are only read, and shapes that our writers do not make."""
    entity = small.tagtog_entity("e_1", "s1p1", 3, "Ann Lee", "user:ann")
    items = [{"source": "D_1", "selector": {"start": 0, "end": 3}}]
    mark = {"body": {"tag": "t/CATMA_2", "properties": {"system": {}}}, "target": {"items": items}}
    header = {"name": "c", "responsibleUser": "u", "sourceDocumentId": "D_1"}
    catma = {
        "documents/D_1/D_1.txt": b"Ann ran.",
        "documents/D_1/header.json": b'{"gitContentInfoSet": {"title": "T"}}',
        "tagsets/T/CATMA_2/propertydefs.json": b'{"name": "x"}',
        "collections/C/header.json": json.dumps(header).encode(),
        "collections/C/annotations/a.json": json.dumps([mark]).encode(),
    }
    tagtog = {
        "doc.ann.json": small.tagtog_ann(entity), "doc.plain.html": small.TAGTOG_HTML,
        "annotations-legend.json": small.TAGTOG_LEGEND,
    }  # fmt: skip
    texts = [
        {"id": "s1", "text": "Zoë Smith ran.", "annotations": {"ann": [[0, 9, "PER"]], "bob": []}},
        {"id": "s2", "text": "in Ames", "document": "d",
         "annotations": {"ann": [{"start": 3, "end": 7, "label": "LOC"}], "bob": None}},
    ]  # fmt: skip
    shapes = [
        {"text": "Ann ran.", "gpt": [{"text": "Ann", "label": "PER"}], "llama": []},
        {
            "text": "Ann ran.",
            "annotation": [{"label": ["PER"], "points": [{"start": 0, "end": 2, "text": "Ann"}]}],
        },
    ]
    gold = b"-DOCSTART- -X- O\n\nEU B-ORG\nrejects O\n\nPeter B-PER\nBlackburn I-PER\n"
    return [
        Specimen("conll", {"gold.conll": gold}),
        *(Specimen("jsonl", {"a.jsonl": _lines(some)}) for some in (texts, texts[:1] * 2)),
        Specimen("csv", {"a.csv": _SEMICOLONS}),
        Specimen("conll", {"gold.conll.gz": gzip.compress(gold)}),
        Specimen("mturk", {"a.csv": small.MTURK}),
        Specimen("sagemaker", {"a.manifest": small.MANIFEST}),
        Specimen("sagemaker", {"a.json": small.REQUEST}),
        Specimen("lighttag", {"a.json": small.LIGHTTAG}),
        Specimen("figure-eight", {"a.csv": small.FIGURE_EIGHT_CSV}),
        Specimen("figure-eight", {"a.json": small.FIGURE_EIGHT_JSON}),
        Specimen(
            "wrench", {"train.json": small.WRENCH, "meta.json": small.WRENCH_META}, folder=True
        ),
        Specimen("gliner", {"a.json": small.GLINER}),
        Specimen("huggingface", {"a.jsonl": small.HF_LINES}),
        Specimen("json", {"a.json": small.JSON_TAGS}),
        Specimen("json", {"a.jsonl": small.JSON_SPANS}),
        Specimen("table", {"a.csv": small.SPAN_TABLE}),
        Specimen("wide-table", {"a.tsv": small.WIDE_TABLE}),
        Specimen("label-studio", {"a.json": small.LABEL_STUDIO_PAGES}),
        Specimen("label-studio", {"a.json": small.LABEL_STUDIO_MIN}),
        Specimen("prodigy", {"a.jsonl": small.PRODIGY_REVIEW}),
        Specimen("spacy-json", {"a.json": small.SPACY_DOC}),
        Specimen("label-studio", {"a.zip": _zipped({"p/a.json": small.LABEL_STUDIO_PAGES})}),
        Specimen("label-studio", {"a.json": json.dumps([_TWO_TEXTS]).encode()}),
        Specimen("language-models", {"a.csv": _QUOTES}),
        Specimen("language-models", {"a.jsonl": _lines(shapes[:1])}),
        Specimen("json", {"a.jsonl": _lines(shapes[1:])}),
        Specimen("table", {"a.csv": _COLUMNS_OF_SPANS}),
        Specimen("figure-eight", {"a.csv": _ANNOTATED}),
        Specimen("brat", _BIONLP, folder=True),
        Specimen("tagtog", tagtog, folder=True),
        Specimen("catma", catma, folder=True),
        Specimen("catma", {"project.zip": _zipped(catma)}),
        Specimen("tagtog", {"export.zip": _zipped(tagtog)}),
    ]


def _lines(records: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(one, ensure_ascii=False).encode() + b"\n" for one in records)


def _zipped(files: dict[str, bytes]) -> bytes:
    buffer = memory.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in files.items():
            file.writestr(name, data)
    return buffer.getvalue()


def _of_the_tools() -> list[Specimen]:
    """Small files that the tools themselves made, where they lie beside a checkout; some of each format."""
    root = os.environ.get("SEQTRUTH_FIXTURES")
    found: list[Specimen] = []
    for path in sorted(Path(root).rglob("*")) if root and Path(root).is_dir() else []:
        if not path.is_file() or path.stat().st_size > LARGEST:
            continue
        with TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:  # alone: what needs the files beside it is no specimen
                one = Specimen(io.detect_format(path), {path.name: path.read_bytes()})
                io.read(one.put(Path(folder)), one.format)
            except SeqTruthError:
                continue
        if sum(other.format == one.format for other in found) < SOME:
            found.append(one)
    return found


@cache
def specimens() -> dict[str, list[Specimen]]:
    """All of them by format; every registered format has one."""
    found: dict[str, list[Specimen]] = {name: [] for name in FORMATS}
    for name, form in FORMATS.items():
        if form.write is not None:
            found[name] += _written(name)
    for one in (*_made(), *_of_the_tools()):
        found[one.format].append(one)
    return found
