"""Small files in the shapes that the tools write, made for these tests."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

TEXT = "😀 Ann Lee met Bob in Rome."  # UTF-16 offsets are one more than code points


def _lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def _csv(header: list[str], *rows: list[str], delimiter: str = ",") -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=delimiter).writerows([header, *rows])
    return buffer.getvalue().encode()


def answer(*spans: tuple[int, int, str]) -> list[Any]:
    entities = [{"startOffset": a, "endOffset": b, "label": label} for a, b, label in spans]
    return [{"crowd-entity-annotation": {"entities": entities}}]


MTURK = _csv(
    [
        "HITId",
        "AssignmentId",
        "WorkerId",
        "AssignmentStatus",
        "SubmitTime",
        "Input.id",
        "Input.text",
        "Answer.taskAnswers",
        "Approve",
        "Reject",
    ],
    [
        "H1",
        "A1",
        "w1",
        "Approved",
        "Tue Jan 17 05:05:14 PST 2023",
        "7",
        TEXT,
        json.dumps(answer((3, 10, "PER"), (15, 18, "PER"))),
        "x",
        "",
    ],
    ["H1", "A2", "w2", "Submitted", "", "7", TEXT, repr(answer((22, 26, "LOC"))), "", ""],
    ["H2", "A3", "w1", "Submitted", "", "7", TEXT, json.dumps(answer()), "", ""],
    ["H1", "A4", "w3", "Rejected", "", "7", TEXT, json.dumps(answer()), "", ""],
    ["H1", "A5", "w4", "Submitted", "", "7", TEXT, json.dumps(answer()), "", "x"],
    ["H3", "A6", "w1", "Submitted", "", "8", "Other", json.dumps(answer((0, 99, "PER"))), "", ""],
)

MANIFEST = _lines(
    {
        "source": TEXT,
        "ner": {
            "annotations": {
                "entities": answer((3, 10, "PER"))[0]["crowd-entity-annotation"]["entities"],
                "labels": [{"label": "PER"}],
            }
        },
        "ner-metadata": {
            "type": "groundtruth/text-span",
            "human-annotated": "yes",
            "job-name": "j",
            "creation-date": "2020-10-29T00:40:39.398470",
            "entities": [{"confidence": 0.75}],
        },
    },
    {"source": "No luck", "ner-metadata": {"failure-reason": "x"}, "ner": {}},
)

REQUEST = json.dumps(
    [
        {
            "datasetObjectId": "5",
            "dataObject": {"content": TEXT},
            "annotations": [
                {
                    "workerId": "w1",
                    "annotationData": {"content": json.dumps(answer((3, 10, "PER"))[0])},
                },
                {"workerId": "w2", "annotationData": {"content": json.dumps(answer()[0])}},
            ],
        }
    ]
).encode()

LIGHTTAG = json.dumps(
    {
        "id": "x",
        "relations": [{"id": 1}],
        "examples": [
            {
                "example_id": "e1",
                "content": TEXT,
                "seen_by": [
                    {"annotator_id": 1, "annotator": "ann"},
                    {"annotator_id": 2, "annotator": "bob"},
                    {"annotator_id": 3, "annotator": "eve"},
                ],
                "annotations": [
                    {
                        "start": 2,
                        "end": 9,
                        "tag": "PER",
                        "value": "Ann Lee",
                        "correct": True,
                        "reviewed": True,
                        "annotated_by": [
                            {"annotator": "ann", "timestamp": "2020-07-26T20:42:03"},
                            {"annotator": "bob", "timestamp": "2020-07-26T20:42:04"},
                        ],
                    },
                    {
                        "start": 22,
                        "end": 26,
                        "tag": "LOC",
                        "value": "Rome",
                        "correct": False,
                        "reviewed": True,
                        "annotated_by": [{"annotator": "ann", "timestamp": "2020-07-27T20:42:03"}],
                    },
                ],
                "classifications": [{"classname": "good"}],
            }
        ],
    }
).encode()

TAGTOG_LEGEND = b'{"e_1": "Person", "e_2": "Place", "r_3": "Knows"}'


def tagtog_ann(*entities: dict[str, Any]) -> bytes:
    content = {
        "annotatable": {"parts": ["s1h1", "s1p1"]},
        "anncomplete": True,
        "sources": [],
        "metas": {},
        "entities": list(entities),
        "relations": [],
    }
    return json.dumps(content).encode()


def tagtog_entity(kind: str, part: str, start: int, text: str, who: str) -> dict[str, Any]:
    return {
        "classId": kind,
        "part": part,
        "offsets": [{"start": start, "text": text}],
        "coordinates": [],
        "confidence": {"state": "pre-added", "who": [who], "prob": 1},
        "fields": {},
        "normalizations": {},
    }


TAGTOG_HTML = (
    '<!DOCTYPE html><html><head><meta charset="UTF-8"/></head><body><article><section data-type="">'
    '<div class="content"><h2 id="s1h1">News &amp; more</h2><p id="s1p1">'
    + TEXT
    + "</p></div></section>"
    "</section></article></body></html>"
).encode()

FIGURE_EIGHT_CSV = _csv(
    [
        "_unit_id",
        "_created_at",
        "_tainted",
        "_trust",
        "_worker_id",
        "names",
        "unsure",
        "doc",
        "names_gold",
        "sentence",
        "unsure_gold",
    ],
    ["1", "9/3/2018 15:14:10", "false", "1", "w1", '["Ann Lee","Bob"]', "", "d1", "", TEXT, ""],
    ["1", "9/3/2018 15:14:10", "false", "1", "w2", "[]", "true", "d1", "", TEXT, ""],
    ["1", "9/3/2018 15:14:10", "true", "1", "w3", '["Rome"]', "", "d1", "", TEXT, ""],
    [
        "2",
        "9/3/2018 15:14:10",
        "false",
        "1",
        "w1",
        '["the","dog","Zoe"]',
        "",
        "d2",
        '["dog"]',
        "the dog and the cat and the dog",
        "",
    ],
)

FIGURE_EIGHT_JSON = _lines(
    {
        "id": 9,
        "job_id": 3,
        "data": {"text": "Ann Lee met\nBob", "tokens": ["Ann", "Lee", "met", "Bob"]},
        "results": {
            "judgments": [
                {
                    "worker_id": 1,
                    "job_id": 3,
                    "tainted": False,
                    "created_at": "2013-09-04T09:59:36+00:00",
                    "data": {"found": "done", "names": ["0", "1", "3"]},
                },
                {"worker_id": 2, "job_id": 3, "tainted": False, "data": {"found": "none"}},
                {"worker_id": 3, "job_id": 3, "tainted": True, "data": {"found": "none"}},
            ],
            "names": {"agg": "0"},
        },
    }
)

WRENCH = json.dumps(
    {
        "0": {
            "label": ["B-PER", "I-PER", "O"],
            "data": {"text": ["Ann", "Lee", "ran"]},
            "weak_labels": [["B-PER", "O"], ["O", "O"], ["O", "B-LOC"]],
            "len": 3,
        }
    }
).encode()
WRENCH_META = b'{"lf": ["names", "places"], "num_lf": 2, "entity_types": ["PER", "LOC"]}'

GLINER = json.dumps(
    [
        {
            "tokenized_text": ["Ann", "Lee", "", "ran"],
            "ner": [[0, 1, "person"], [3, 3, "act"], [1, 9, "x"]],
        },
        {"tokenized_text": ["Bob"], "ner": []},
    ]
).encode()

HF_LINES = _lines(
    {
        "id": "0",
        "tokens": ["Ann", "ran"],
        "pos_tags": [1, 2],
        "ner_tags_1": [1, 0],
        "ner_tags_2": [0, -100],
    },
    {"id": "1", "tokens": ["Bob"], "pos_tags": [1], "ner_tags_1": [1], "ner_tags_2": None},
)

JSON_TAGS = b'[{"tokens": ["Ann", "ran"], "tags": ["B-PER", "O"]}, {"tokens": [], "tags": []}]'
JSON_SPANS = _lines(
    {"id": 1, "text": "Ann ran", "spans": [{"start": 0, "end": 3, "label": "PER", "score": 0.5}]},
    {"id": 2, "text": "Bob ran", "spans": [[0, 3, "PER"], ["LOC", 4, 7]]},
    {"id": 3, "text": "Eve ran", "annotations": {"ann": [], "bob": None, "gold": [[0, 3, "PER"]]}},
    {"id": 4, "text": "Zoe", "entities": {"start": [0], "end": [3], "label": ["PER"]}},
    {"id": 5, "text": "Max", "entities": [{"begin": 0, "stop": 3, "type": "PER", "user": "u7"}]},
)
SPAN_TABLE = _csv(
    ["Document ID", "Begin", "End", "Type", "Annotator", "Sentence", "Text"],
    ["d1", "0", "3", "PER", "ann", "Ann ran", "Ann"],
    ["d1", "", "", "", "bob", "Ann ran", ""],
    ["d2", "0", "3", "PER", "ann", "Bob ran", "Bob"],
    ["d2", "0", "99", "PER", "bob", "Bob ran", ""],
    delimiter=";",
)
WIDE_TABLE = _csv(
    ["sentence", "token", "pos", "ann", "bob", "gold"],
    ["1", "Ann", "NNP", "B-PER", "B-PER", "B-PER"],
    ["1", "ran", "VBD", "O", "", "O"],
    ["2", "Bob", "NNP", "O", "", "B-PER"],
    delimiter="\t",
)


_HTML = "<p>Ann Lee met <b>Bob</b>.</p>"
_TALK = [{"author": "x", "text": "Ann ran."}, {"author": "y", "text": "Bob 😀"}]
LABEL_STUDIO_PAGES = json.dumps(
    [
        {
            "id": 1, "data": {"page": _HTML}, "annotations": [{"completed_by": 1, "result": [
                {"from_name": "ner", "to_name": "page", "type": "hypertextlabels", "value": {
                    "start": "/p[1]/b[1]/text()[1]", "startOffset": 0, "end": "/p[1]/b[1]/text()[1]",
                    "endOffset": 3, "text": "Bob", "globalOffsets": {"start": 12, "end": 15},
                    "hypertextlabels": ["PER"]}}]}],
        },
        {
            "id": 2, "data": {"talk": _TALK}, "annotations": [{"completed_by": 2, "result": [
                {"from_name": "who", "to_name": "talk", "type": "paragraphlabels", "value": {
                    "start": "1", "startOffset": 0, "end": "1", "endOffset": 3, "text": "Bob",
                    "paragraphlabels": ["PER"]}}]}],
        },
    ]
).encode()  # fmt: skip
LABEL_STUDIO_MIN = json.dumps(
    [
        {"text": "Ann ran", "id": 1, "label": [{"start": 0, "end": 3, "text": "Ann", "labels": ["PER"]}],
         "annotator": person, "annotation_id": person, "lead_time": 1.5}
        for person in (1, 2)
    ]
).encode()  # fmt: skip
_SPAN = {"start": 0, "end": 3, "token_start": 0, "token_end": 0, "label": "PER"}
_TOKENS = [
    {"text": "Ann", "start": 0, "end": 3, "id": 0},
    {"text": "ran", "start": 4, "end": 7, "id": 1},
]
_VERSION = {"text": "Ann ran", "tokens": _TOKENS, "spans": [_SPAN], "answer": "accept"}
PRODIGY_REVIEW = _lines(
    {**_VERSION, "_input_hash": 3, "_task_hash": 4, "_view_id": "review", "_session_id": "r-eve",
     "versions": [{**_VERSION, "sessions": ["d-ann", "d-bob"]}]}
)  # fmt: skip
SPACY_DOC = json.dumps(
    {"text": "Ann ran", "ents": [{"start": 0, "end": 3, "label": "PER"}], "sents": [{"start": 0, "end": 7}],
     "tokens": [{"id": 0, "start": 0, "end": 3}, {"id": 1, "start": 4, "end": 7}]}
).encode()  # fmt: skip
