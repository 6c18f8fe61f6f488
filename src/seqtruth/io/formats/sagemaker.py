"""Amazon SageMaker Ground Truth: output manifests, and what each worker answered.

An output manifest has a line per text: ``source``, and under the job's attribute name ``annotations``
with ``entities`` (offsets in UTF-16 units), consolidated by the service; ``<name>-metadata`` holds
confidences, the date and whether people labelled it. That labelling is read as gold, or as a model's
where it says ``human-annotated: no``. A confidence of 0 means that there was one worker, and is no
score.

Workers' own answers stand in the consolidation requests, ``[{"datasetObjectId", "dataObject":
{"content": text}, "annotations": [{"workerId", "annotationData": {"content": "<JSON>"}}]}]``, and in the
folder ``annotations/worker-response/iteration-1/<n>/*.json`` as ``{"answers": [{"workerId",
"answerContent"}]}``, without the text: give the job's output folder, where the manifest has it.

Texts that stand in S3 (``source-ref``, ``s3Uri``) are not fetched. Boxes and classes are refused.
Written is an output manifest of one labelling, as a label adjustment job takes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from seqtruth.errors import InputError, ParameterError
from seqtruth.io.documents import Document, Notes, Opinion
from seqtruth.io.files import write_chunks
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats.checked_values import (
    list_at,
    mapping_at,
    name_of,
    number_of,
    shown,
    text_at,
)
from seqtruth.io.formats.crowd_entities import entities_of, entity_lists, marks_of
from seqtruth.io.formats.voices import one_voice
from seqtruth.io.json_records import json_records
from seqtruth.io.tree import Tree

_RESPONSE = re.compile(r"(?:.*/)?worker-response/iteration-\d+/(\d+)/[^/]+\.json")
_SUFFIX = "-metadata"


def tell(glimpse: Glimpse) -> float:
    """By ``source`` with a job's metadata, by workers' payloads, or by the folders of a job."""
    if glimpse.path.is_dir():
        assert glimpse.tree is not None
        names = list(glimpse.tree)
        answers = any(_RESPONSE.fullmatch(name) for name in names)
        return 0.95 if answers and any(name.endswith(".manifest") for name in names) else 0.0
    head = glimpse.head
    if head.lstrip()[:1] not in (b"[", b"{"):
        return 0.0
    if b'"datasetObjectId"' in head and b'"annotationData"' in head:
        return 0.95
    if re.search(rb'"answerContent"\s*:', head) and b'"workerId"' in head:
        return 0.9
    of_job = re.search(rb'"[\w-]+-metadata"\s*:\s*\{', head) or b'"groundtruth/' in head
    return 0.9 if of_job and re.search(rb'"source(-ref)?"\s*:', head) else 0.0


def read(path: Path, notes: Notes, **options: object) -> Iterator[Document]:
    """Documents of a manifest, of a file of consolidation requests, or of a job's output folder."""
    if options:
        raise ParameterError("there is no such option here", got=", ".join(options))
    if path.is_dir():
        yield from _read_folder(path, notes)
        return
    for number, (value, where) in enumerate(json_records(path)):
        record = mapping_at(value, "a record", where)
        if "datasetObjectId" in record:
            yield _of_request(record, notes, where)
        elif "answers" in record:
            raise InputError(
                "a worker's response does not hold the text", where=where,
                fix="give the job's output folder, with its manifests and annotations",
            )  # fmt: skip
        else:
            yield _of_manifest(str(number), record, notes, where)


def _read_folder(path: Path, notes: Notes) -> Iterator[Document]:
    tree = Tree(path)
    manifests = [name for name in tree if name.endswith(".manifest")]
    chosen = [name for name in manifests if "output" in PurePosixPath(name).name] or manifests
    if not chosen:
        raise InputError("there is no manifest in the folder", where=str(path))
    answers: dict[str, list[str]] = {}
    for name in tree:
        found = _RESPONSE.fullmatch(name)
        if found:
            answers.setdefault(found[1], []).append(name)
    for number, (value, where) in enumerate(json_records(path / chosen[-1])):
        document = _of_manifest(str(number), mapping_at(value, "a record", where), notes, where)
        opinions = list(document.opinions)
        for name in answers.get(str(number), []):
            for record, place in json_records(path / name):
                opinions += _responses(record, document.text, notes, place)
        yield Document(document.id, document.text, tuple(opinions), where=where)


def _responses(record: Any, text: str, notes: Notes, where: str) -> Iterator[Opinion]:
    answers = list_at(mapping_at(record, "a response", where).get("answers"), "answers", where)
    for answer in answers:
        worker = mapping_at(answer, "an answer", where).get("workerId")
        time = answer.get("submissionTime")
        yield _opinion(worker, answer.get("answerContent"), text, notes, where, time)


def _opinion(
    worker: Any, content: Any, text: str, notes: Notes, where: str, time: Any = None
) -> Opinion:
    name = name_of(worker)
    lists = list(entity_lists(content))
    if name is None:
        raise InputError("a worker has no workerId", where=where, got=shown(worker))
    if not lists:
        raise InputError(
            "the answer marks no text: this is a job of another kind", where=where, got=shown(content),
            fix="only named entity (text span) jobs can be read",
        )  # fmt: skip
    marks = [mark for entities in lists for mark in marks_of(entities, text, notes, where)]
    return Opinion(name, tuple(marks), time=time if name_of(time) == time else None)


def _of_request(record: dict[str, Any], notes: Notes, where: str) -> Document:
    name = name_of(record["datasetObjectId"])
    item = mapping_at(record.get("dataObject"), "dataObject", where)
    if "content" not in item:
        raise _elsewhere(item.get("s3Uri"), where)
    text = text_at(item["content"], "content", where)
    opinions = []
    for one in list_at(record.get("annotations"), "annotations", where):
        data = mapping_at(one, "an annotation", where).get("annotationData")
        content = mapping_at(data, "annotationData", where).get("content")
        opinions.append(_opinion(one.get("workerId"), content, text, notes, where))
    return Document(name or where, text, tuple(opinions), where=where)


def _elsewhere(place: object, where: str) -> InputError:
    return InputError(
        "the text is not in the file", where=where, got=shown(place) if place else None,
        fix="it stands in S3, or this is a job with pictures; put the text into source or content",
    )  # fmt: skip


def _of_manifest(number: str, record: dict[str, Any], notes: Notes, where: str) -> Document:
    if "source" not in record:
        raise _elsewhere(record.get("source-ref"), where)
    text = text_at(record["source"], "source", where)
    opinions = []
    for name, value in record.items():
        metadata = record.get(f"{name}{_SUFFIX}")
        if not isinstance(metadata, dict) or name in ("source", "id"):
            continue
        lists = list(entity_lists(value)) if "failure-reason" not in metadata else []
        if not lists:
            what = "failed labelling" if "failure-reason" in metadata else "label that is no span"
            notes.left_out(what, where)
            continue
        opinions.append(_consolidated(name, lists[0], metadata, text, notes, where))
    return Document(name_of(record.get("id")) or number, text, tuple(opinions), where=where)


def _consolidated(
    name: str, entities: list[Any], metadata: dict[str, Any], text: str, notes: Notes, where: str
) -> Opinion:
    scores = metadata.get("entities")
    if isinstance(scores, list) and len(scores) == len(entities):
        entities = [
            entity | {"confidence": number_of(score.get("confidence"))}
            if isinstance(entity, dict) and isinstance(score, dict)
            else entity
            for entity, score in zip(entities, scores, strict=True)
        ]
    time = metadata.get("creation-date")
    marks = tuple(marks_of(entities, text, notes, where))
    role: Any = metadata.get("seqtruth-role")
    if role not in ("annotator", "gold", "model"):
        role = "model" if metadata.get("human-annotated") == "no" else "gold"
    return Opinion(name, marks, role, time=time if name_of(time) == time else None)


def write(documents: Iterable[Document], path: Path, notes: Notes, **options: object) -> None:
    """Write an output manifest."""
    annotator, attribute = options.pop("annotator", None), options.pop("attribute", None)
    if options:
        raise ParameterError("there is no such option here", got=", ".join(options))
    lines = (_line(document, annotator, attribute, notes) for document in documents)
    write_chunks(path, (json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines))


def _line(document: Document, annotator: object, attribute: object, notes: Notes) -> dict[str, Any]:
    where = document.where or document.id
    line: dict[str, Any] = {"id": document.id, "source": document.text}
    opinion = one_voice(document, annotator, notes)
    if opinion is None:
        return line
    marks = tuple(mark for mark in opinion.marks if not mark.pieces)
    if len(marks) < len(opinion.marks):
        notes.left_out("discontinuous mark", where, len(opinion.marks) - len(marks))
    labels = sorted({mark.label for mark in marks})
    name = str(attribute or opinion.annotator)
    if name in ("id", "source") or name.endswith(_SUFFIX):
        raise ParameterError(
            f"the attribute must not be called {name!r}", fix="name one with attribute="
        )
    line[name] = {
        "annotations": {
            "labels": [{"label": label} for label in labels],
            "entities": entities_of(marks, document.text),
        }
    }
    line[f"{name}{_SUFFIX}"] = {
        "job-name": "labeling-job/seqtruth",
        "type": "groundtruth/text-span",
        "human-annotated": "no" if opinion.role == "model" else "yes",
        "seqtruth-role": opinion.role,
        "entities": [{"confidence": mark.score or 0} for mark in marks],
    } | ({"creation-date": opinion.time} if opinion.time is not None else {})
    return line


FORMAT = DocumentFormat(
    "sagemaker",
    "SageMaker Ground Truth",
    tell,
    read,
    write,
    write_options={
        "annotator": "whose labels to write, where there are several annotators",
        "attribute": "the label attribute's name (the annotator's name)",
    },
    cannot_carry=(
        "more than one annotator",
        "discontinuous marks, parts not seen, the score of a whole labelling",
    ),
    suffixes=(".manifest",),
)
