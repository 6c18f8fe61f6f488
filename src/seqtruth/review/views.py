"""A question as plain values for the page: text, labels, who said what, and why."""

from __future__ import annotations

from typing import Any

import numpy as np

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.decisions.cases import Cases
from seqtruth.decisions.claims import Claim, claims_of, rows_of
from seqtruth.decisions.explain import reasons_of, runs
from seqtruth.result import Result
from seqtruth.review.marks import current_marks
from seqtruth.review.questions import Question
from seqtruth.review.store.decisions import State

#: Those who labelled a sentence, each with what they marked.
Claims = list[tuple[int, list[Claim]]]
#: Sentences of the document shown before and behind, and characters of each.
AROUND, LONGEST = 2, 400


def sentence_view(
    result: Result, crowd: Crowd | None, sentence: int, state: State, cases: Cases, chosen: list[int]
) -> dict[str, Any]:  # fmt: skip
    """All that the page shows of one sentence.

    Parameters
    ----------
    result, crowd : the labels, and what the annotators said.
    sentence, state : its number, and what is decided about it.
    cases, chosen : all cases, and those in this sentence that are asked about.
    """
    corpus = result.corpus
    a, b = (int(value) for value in corpus.token_offsets[sentence : sentence + 2])
    words, glued = corpus.words(sentence), corpus.glued(sentence)
    marks = current_marks(result, sentence, state.marks)
    claims = [] if crowd is None else claims_of(crowd, sentence)
    return {
        "sentence": sentence,
        "id": base_name(corpus, sentence),
        "document": corpus.documents[int(corpus.sentence_document[sentence])],
        "layer": corpus.layers[int(corpus.sentence_layer[sentence])],
        "version": state.version,
        "status": state.status,
        "tokens": [[word, text[len(word) :]] for word, text in zip(words, glued, strict=True)],
        "confidence": [round(float(value), 3) for value in result.token_confidence[a:b]],
        "spans": [list(span) for span in marks.spans],
        "settled": [list(one) for one in state.marks.settled],
        "cases": [_case(result, crowd, cases, number, claims) for number in chosen],
        "carried_over": carried_over(result, sentence),
        "readings": [] if crowd is None else readings(result, crowd, claims),
        "before": _around(result, sentence, -1),
        "after": _around(result, sentence, 1),
    }


def base_name(corpus: Corpus, sentence: int) -> str:
    """The name of a sentence, the same on all its layers."""
    name, layer = str(corpus.sentence_ids[sentence].as_py()), int(corpus.sentence_layer[sentence])
    return name.removesuffix(f"@{corpus.layers[layer]}") if layer else name


def layer_view(result: Result, sentence: int, state: State) -> dict[str, Any]:
    """One layer of a text beside another: its name, its marks and whether they are settled."""
    return {
        "sentence": sentence,
        "layer": result.corpus.layers[int(result.corpus.sentence_layer[sentence])],
        "status": state.status,
        "spans": [list(span) for span in current_marks(result, sentence, state.marks).spans],
    }


def listed(result: Result, sentence: int, status: str) -> dict[str, Any]:
    """A sentence in a list: how to open it, its text, where it is and whether it is decided."""
    document = result.corpus.documents[int(result.corpus.sentence_document[sentence])]
    return {
        "question": f"s-{sentence}", "id": base_name(result.corpus, sentence), "status": status,
        "text": _text(result, sentence), "document": document,
    }  # fmt: skip


def readings(result: Result, crowd: Crowd, claims: Claims) -> list[dict[str, Any]]:
    """What the annotators marked, those who marked the same together, most trusted first."""
    by_spans: dict[tuple[Any, ...], list[int]] = {}
    for who, spans in claims:
        by_spans.setdefault(tuple(spans), []).append(who)
    weight = _weights(result, crowd)

    def trust(spans: tuple[Any, ...]) -> float:
        return sum(weight[w] or 0.0 for w in by_spans[spans])

    order = sorted(by_spans, key=lambda spans: (-trust(spans), -len(by_spans[spans]), spans))
    return [
        {
            "names": [crowd.annotators[w] for w in by_spans[spans]],
            "weights": [weight[w] for w in by_spans[spans]],
            "spans": [list(span) for span in spans],
        }
        for spans in order
    ]


def _weights(result: Result, crowd: Crowd) -> list[float | None]:
    by_name = dict(zip(result.annotators.names, result.annotators.weight.tolist(), strict=True))
    found = (by_name.get(name) for name in crowd.annotators)
    return [None if value is None or value != value else round(value, 3) for value in found]


def _case(
    result: Result, crowd: Crowd | None, cases: Cases, number: int, claims: Claims
) -> dict[str, Any]:
    """One case: where it is, what the labels say, and what speaks for each type."""
    types = result.scheme.types
    label = int(cases.label[number])
    return {
        "case": number,
        "range": [int(cases.start[number]), int(cases.end[number])],
        "mark": [int(cases.first[number]), int(cases.last[number])],
        "label": None if label < 0 else types[label],
        "wrong": round(float(cases.wrong[number]), 3),
        "why": _why(result, crowd, cases, number, claims),
    }


def _why(
    result: Result, crowd: Crowd | None, cases: Cases, number: int, claims: Claims
) -> list[dict[str, Any]]:
    """For each type that anything speaks for: its probability, and who marked the place with it."""
    scheme, sentence = result.scheme, int(cases.sentence[number])
    first, last = int(cases.first[number]), int(cases.last[number])
    at = int(result.corpus.token_offsets[sentence])
    soft = result.probabilities[at + first : at + last].mean(axis=0, dtype=np.float64)
    column = np.where(scheme.type_of < 0, len(scheme.types), scheme.type_of)
    shares = np.bincount(column, soft, len(scheme.types) + 1).tolist()
    chance: dict[str | None, float] = dict(zip([*scheme.types, None], shares, strict=True))
    votes: dict[str | None, list[str]] = {}
    rows = [] if crowd is None else rows_of(crowd, sentence)
    for (who, tags), (_, spans) in zip(rows, claims, strict=True):
        if crowd is None or (tags[first:last] < 0).all():
            continue
        here = [kind for a, b, kind in spans if a < last and first < b]
        votes.setdefault(here[0] if here else None, []).append(crowd.annotators[who])
    found = [
        {"type": name, "probability": round(chance.get(name, 0.0), 3), "votes": votes.get(name, [])}
        for name in {**chance, **votes}
        if chance.get(name, 0.0) >= 0.01 or name in votes
    ]
    return sorted(found, key=lambda one: -float(str(one["probability"])))


def reasons(result: Result, sentence: int, cases: Cases, chosen: list[int]) -> list[dict[str, Any]]:
    """Why the model gives the words asked about their labels, as ``seqtruth explain`` says it.

    Nothing where the method keeps no model.

    Parameters
    ----------
    result, sentence : the labels, and where.
    cases, chosen : all cases, and those in this sentence that are asked about.
    """
    if result.fitted is None or result.crowd is None:
        return []
    inside = {i for k in chosen for i in range(int(cases.first[k]), int(cases.last[k]))}
    found = runs(
        [one for one in next(reasons_of(result, np.array([sentence]))) if one.index in inside]
    )
    words, out = result.corpus.words(sentence), []
    for one, more in found:
        text = " ".join(words[one.index : one.index + more + 1])
        out.append({"text": text, "token": one.index, **one.told()._asdict()})
    return out


def carried_over(result: Result, sentence: int) -> list[dict[str, Any]]:
    """Labels of a sentence that decisions about like cases changed."""
    found: list[dict[str, Any]] = result.provenance.get("carried_over", {}).get(str(sentence), [])
    return found


def _around(result: Result, sentence: int, step: int) -> list[str]:
    """The text of the document's neighbouring sentences, in reading order."""
    corpus = result.corpus
    out: list[str] = []
    document, layer = corpus.sentence_document[sentence], corpus.sentence_layer[sentence]
    place = sentence + step
    while 0 <= place < corpus.n_sentences and len(out) < AROUND:
        if corpus.sentence_document[place] != document or not corpus.documents[int(document)]:
            break
        if corpus.sentence_layer[place] == layer:
            text = "".join(corpus.glued(place)).strip()
            out.append(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")
        place += step
    return out[::step]


def title(result: Result, cases: Cases, question: Question) -> dict[str, Any]:
    """What a question is about, in a few words that the page puts together."""
    types = result.scheme.types
    if not question.cases:
        sentence = int(question.name.partition("-")[2])
        document = int(result.corpus.sentence_document[sentence])
        return {"text": _text(result, sentence), "document": result.corpus.documents[document],
                "types": [], "marks": 0, "sentences": 1, "wrong": 0.0}  # fmt: skip
    first = question.cases[0]
    pair = {int(cases.label[first]), int(cases.rival[first])}
    named = [types[number] for number in sorted(pair - {-1})] + ([None] if -1 in pair else [])
    sentence = int(cases.sentence[first])
    at = int(result.corpus.token_offsets[sentence])
    text = result.corpus.written(
        sentence, at + int(cases.first[first]), at + int(cases.last[first])
    )[0]
    chosen = list(question.cases)
    shown = {"sentence": _text(result, sentence), "form": text, "pair": ""}
    return {
        "text": shown[question.kind],
        "document": result.corpus.documents[int(cases.document[first])],
        "types": named if question.kind != "sentence" else [],
        "marks": len(chosen),
        "sentences": len(set(cases.sentence[chosen].tolist())),
        "wrong": round(float(cases.wrong[chosen].sum()), 2),
    }  # fmt: skip


def _text(result: Result, sentence: int, most: int = 160) -> str:
    text = "".join(result.corpus.glued(sentence)).strip()
    return text if len(text) <= most else text[: most - 1] + "…"
