"""Documents to a crowd and back: nothing that was marked is lost, in any script, however marks lie."""

from __future__ import annotations

import warnings
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqtruth import io
from seqtruth.data.crowd import Crowd
from seqtruth.errors import DataWarning, InputError, ParameterError
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.from_documents import Cutting, RepeatedIdError, documents_to_crowd
from seqtruth.io.overlaps import MAX_LAYERS
from seqtruth.io.sentences import SPLITS, split_text
from seqtruth.io.to_documents import documents_of
from seqtruth.io.tokens import tokenise, trimmed

WORDS = (
    "Ada", "Dr.", "ran.", "3.5", "Zoë", "cafe\u0301", "👨‍👩‍👧", "🇩🇪", "👍🏽", "北京大学。", "東京タワー",
    "ภาษาไทย", "نص", "می‌خواهم", "नमस्ते।", "한국어", "ᄒ\u1161ᆫ", "\U0001d518", "?!", "\u200b",
    "x\u0338", "O'Neill", "a-b",
)  # fmt: skip
BLANKS = (" ", "  ", "\n", "\r\n", "\n\n", "\t", "\u3000", "\u2028", "")
TEXTS = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(BLANKS)), max_size=12).map(
    lambda pairs: "".join(word + blank for word, blank in pairs)
)


@st.composite
def marks(draw: st.DrawFn, text: str) -> Mark | None:
    """A mark as a careful tool gives it: something visible at both edges, sometimes in pieces."""
    ends = sorted(draw(st.sets(st.integers(0, len(text)), min_size=2, max_size=4)))
    label = draw(st.sampled_from(["PER", "LOC", "ORG", "a b"]))
    if len(ends) == 4:
        pieces = tuple(trimmed(text, a, b) for a, b in (ends[:2], ends[2:]))
        if all(a < b for a, b in pieces):
            return Mark(pieces[0][0], pieces[1][1], label, pieces)
    start, end = trimmed(text, ends[0], ends[-1])
    return Mark(start, end, label) if start < end else None


@st.composite
def documents(draw: st.DrawFn, whole: bool = True) -> Document:
    text = draw(TEXTS)
    opinions = []
    for name in draw(st.sets(st.sampled_from(["ann", "bob", "eve"]))):
        found = draw(st.lists(marks(text), max_size=5)) if len(text) > 1 else []
        own = {mark for mark in found if mark is not None}
        order = sorted(own, key=lambda mark: (mark.start, -mark.end, mark.label, mark.pieces))
        role = draw(st.sampled_from(["annotator", "model"]))
        opinions.append(Opinion(name, tuple(order), role))
    given_tokens = draw(st.booleans())
    tokens = tuple(tokenise(text)[::2]) if given_tokens else None
    return Document(draw(st.sampled_from(["d", "e/1", "f#2"])), text, tuple(opinions), tokens)


def crowd_of(*found: Document, **cutting: object) -> tuple[Crowd, Notes]:
    notes = Notes()
    return documents_to_crowd(found, "test", notes, Cutting(**cutting)), notes  # type: ignore[arg-type]


@given(document=documents(), split=st.sampled_from(SPLITS))
@settings(max_examples=400, deadline=None)
def test_marks_come_back(document: Document, split: str) -> None:
    crowd, notes = crowd_of(document, split=split)
    (back,) = documents_of(crowd)
    assert back.id == document.id and back.text == document.text
    assert {o.annotator: (o.marks, o.role, o.seen) for o in back.opinions} == {
        o.annotator: (o.marks, o.role, None) for o in document.opinions
    }
    assert not notes.counts


@given(document=documents(), split=st.sampled_from(SPLITS))
@settings(max_examples=200, deadline=None)
def test_tokens_and_sentences_cut_no_mark_and_leave_nothing_out(
    document: Document, split: str
) -> None:
    crowd, _ = crowd_of(document, split=split)
    (back,) = documents_of(crowd, borders=True)
    assert back.tokens is not None and back.sentences is not None
    covered = {place for start, end in back.tokens for place in range(start, end)}
    visible = {place for place, letter in enumerate(document.text) if not letter.isspace()}
    assert visible <= covered
    assert all(
        not document.text[place].isspace()
        for pair in back.tokens
        for place in (pair[0], pair[1] - 1)
    )
    for mark in (mark for opinion in document.opinions for mark in opinion.marks):
        for start, end in mark.pieces or [(mark.start, mark.end)]:
            assert all(not (a < start < b or a < end < b) for a, b in back.tokens)
        assert all(not mark.start < border < mark.end for border, _ in back.sentences)
    assert "".join(document.text[a:b] for a, b in back.sentences) == document.text


@given(text=TEXTS, split=st.sampled_from(SPLITS), data=st.data())
@settings(max_examples=200, deadline=None)
def test_the_splitter_cuts_no_stretch(text: str, split: str, data: st.DataObject) -> None:
    places = st.integers(0, len(text))
    stretches = data.draw(st.lists(st.tuples(places, places).map(sorted).map(tuple), max_size=4))
    borders = split_text(text, split, None, stretches)  # type: ignore[arg-type]
    assert "".join(text[a:b] for a, b in borders) == text
    assert all(not a < start < b for start, _ in borders for a, b in stretches)


def test_parts_that_nobody_saw_stay_unseen() -> None:
    text = "Ann ran. Bob slept. Eve left."
    opinion = Opinion("w", (Mark(0, 3, "PER"),), seen=((0, 8), (20, 23)))
    crowd, _ = crowd_of(Document("d", text, (opinion,)))
    assert crowd.corpus.sentence_ids.to_pylist() == ["d#1", "d#2", "d#3"]
    assert crowd.row_sentence.tolist() == [0, 2]
    assert (crowd.tags[-3:] >= 0).tolist() == [True, False, False]
    (back,) = documents_of(crowd)
    assert back.opinions == (opinion,)


def test_the_last_opinion_counts_and_the_other_is_noted() -> None:
    first, last = Opinion("w", (Mark(0, 1, "A"),)), Opinion("w", (Mark(2, 3, "B"),))
    crowd, notes = crowd_of(Document("d", "a b", (first, last), where="f:1"))
    (back,) = documents_of(crowd)
    assert back.opinions == (last,)
    assert notes.lines() == ["1 × earlier opinion of an annotator on the same text (first at f:1)"]


def test_gold_is_left_out_but_cuts_the_same_tokens() -> None:
    text = "Smith-Jones ran"
    document = Document(
        "d",
        text,
        (Opinion("w", (Mark(0, 11, "PER"),)), Opinion("cur", (Mark(0, 3, "PER"),), "gold")),
    )
    crowd, _ = crowd_of(document)
    gold, _ = crowd_of(document, roles="gold")
    assert crowd.annotators == ("w",) and gold.annotators == ("cur",)
    assert crowd.corpus.tokens.equals(gold.corpus.tokens)
    assert crowd.corpus.words(0) == ["Smi", "th", "-", "Jones", "ran"]
    only_gold, _ = crowd_of(replace(document, opinions=document.opinions[1:]))
    assert only_gold.annotators == ("cur",)  # there is nobody else
    with pytest.raises(InputError, match="no opinions of the role model"):
        crowd_of(document, roles=["model"])
    with pytest.raises(ParameterError, match="roles must be of"):
        crowd_of(document, roles="boss")


def test_a_person_and_a_model_of_one_name_are_two() -> None:
    document = Document("d", "a", (Opinion("m", ()), Opinion("m", (Mark(0, 1, "A"),), "model")))
    crowd, _ = crowd_of(document)
    assert crowd.annotators == ("m", "m (model)")


def test_labels_that_meet_are_on_different_layers_and_others_together() -> None:
    text = "New York City"
    opinions = (
        Opinion("w", (Mark(0, 13, "LOC"), Mark(0, 8, "LOC"), Mark(4, 8, "DUKE"))),
        Opinion("v", (Mark(0, 13, "ORG"),)),
        Opinion("u", (Mark(0, 13, "LOC"),)),
    )
    crowd, _ = crowd_of(Document("d", text, opinions))
    assert crowd.corpus.layers == ("", "DUKE", "LOC/2")
    assert crowd.corpus.sentence_ids.to_pylist() == ["d#1", "d#1@DUKE", "d#1@LOC/2"]
    assert crowd.corpus.base_ids.unique().to_pylist() == ["d#1"]
    assert crowd.n_rows == 9  # who saw a sentence saw all its layers
    tags = [[crowd.scheme.labels[t] for t in crowd.row(s, w)] for s in range(3) for w in range(3)]
    assert tags[0] == ["B-LOC", "I-LOC", "I-LOC"] and tags[1] == ["B-ORG", "I-ORG", "I-ORG"]
    assert tags[3] == ["O", "B-DUKE", "O"] and tags[6] == ["B-LOC", "I-LOC", "O"]


def test_other_ways_with_overlaps() -> None:
    document = Document("d", "New York City", (Opinion("w", (Mark(0, 8, "A"), Mark(0, 13, "B"))),))
    crowd, notes = crowd_of(document, overlap="longest")
    (back,) = documents_of(crowd)
    assert back.opinions[0].marks == (Mark(0, 13, "B"),)
    assert notes.counts["mark that overlaps a longer one"] == 1
    with pytest.raises(InputError, match="two spans overlap; got 0 to 13 'B' and 0 to 8 'A'"):
        crowd_of(document, overlap="error")
    with pytest.raises(ParameterError, match="overlap must be one of"):
        crowd_of(document, overlap="wish")
    deep = tuple(Mark(n, 200 - n, "A") for n in range(MAX_LAYERS + 1))
    with pytest.raises(InputError, match="more than 50 marks on one place"):
        crowd_of(Document("d", "x" * 200, (Opinion("w", deep),)))


def test_what_says_nothing_is_noted() -> None:
    odd = (
        Mark(-1, 2, "A"),
        Mark(2, 9, "A"),
        Mark(1, 2, "A"),
        Mark(0, 1, ""),
        Mark(0, 1, "A"),
        Mark(0, 2, "A"),
    )
    crowd, notes = crowd_of(Document("d", "a b", (Opinion("w", odd),)))
    (back,) = documents_of(crowd)
    assert back.opinions[0].marks == (Mark(0, 1, "A"),)
    assert dict(notes.counts) == {
        "mark outside the text, or empty": 2, "mark over white space only": 1, "mark without a label": 1,
        "repeat of a mark": 1,
    }  # fmt: skip


def test_pieces_of_a_result_are_those_that_most_have() -> None:
    pieces = ((0, 4), (15, 24))
    text = "left and right ventricle"
    one = Opinion("a", (Mark(0, 24, "X", pieces),))
    crowd, _ = crowd_of(
        Document("d", text, (one, replace(one, annotator="b"), Opinion("c", (Mark(0, 24, "X"),))))
    )
    truth = crowd.select_annotators(["a"]).labelling().as_crowd("truth")
    (back,) = documents_of(truth, role="model")
    assert back.opinions[0].marks == (Mark(0, 24, "X", pieces),)


def test_a_repeated_id_and_an_empty_text() -> None:
    with pytest.raises(RepeatedIdError):
        crowd_of(Document("d", "a"), Document("d", "b"))
    crowd, _ = crowd_of(Document("d", "", (Opinion("w"),)))
    (back,) = documents_of(crowd)
    assert back == Document("d", "", (Opinion("w"),))
    with pytest.raises(InputError, match="no documents"):
        crowd_of()


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("北京大学", ["北", "京", "大", "学"]),
        ("ไทย", ["ไ", "ท", "ย"]),
        ("👨‍👩‍👧🇩🇪🇫🇷", ["👨‍👩‍👧", "🇩🇪", "🇫🇷"]),
        ("می‌خواهم", ["می‌خواهم"]),
        ("cafe\u0301 3.5", ["cafe\u0301", "3.5"]),
        ("abc東x", ["abc", "東", "x"]),
    ],
)
def test_tokens_of_scripts(text: str, tokens: list[str]) -> None:
    assert [text[a:b] for a, b in tokenise(text)] == tokens


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("Mr. A. Smith left. He ran.", 2),
        (
            "A title\n\nA text, broken to fit a page of sixty characters or so,\ngoes on here. New.",
            3,
        ),
        ("She said “No.” Then left.", 2),
        ("e.g. this one", 1),
        ("What?! Yes… No", 3),
        ("1. First thing\n2. Second thing", 2),
        ("我走了。你呢？", 2),
    ],
)
def test_sentences(text: str, n: int) -> None:
    assert len(split_text(text, "sentences")) == n


def test_sentences_of_the_source_are_kept() -> None:
    text = "a b c. D e f"
    assert split_text(text, "sentences", ((0, 3), (4, 12))) == [(0, 4), (4, 12)]


@given(document=documents(), split=st.sampled_from(["none", "sentences"]))
@settings(max_examples=60, deadline=None)
def test_json_lines_keep_layers_and_pieces(
    document: Document, split: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    crowd, _ = crowd_of(document, split=split)
    path = tmp_path_factory.mktemp("lines") / "a.jsonl"
    io.write(crowd, path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        back = io.read(path)
    assert back.corpus.sentence_ids.equals(crowd.corpus.sentence_ids)
    assert back.corpus.layers == crowd.corpus.layers
    first, second = (
        [list(d.opinions) for d in documents_of(c, role="annotator")] for c in (crowd, back)
    )
    assert [[(o.annotator, o.marks) for o in some] for some in first] == [
        [(o.annotator, o.marks) for o in some] for some in second
    ]


@pytest.mark.parametrize(
    ("id", "annotator", "label"), [("\ud800", "a", "X"), ("d", "\ud800", "X"), ("d", "a", "\udfff")]
)
def test_names_that_no_file_can_hold(id: str, annotator: str, label: str) -> None:
    made = Document(id, "Ann ran", (Opinion(annotator, (Mark(0, 3, label),)),))
    with pytest.raises(InputError, match=r"x\.json: .* is no text"):
        documents_to_crowd([made], "x.json", Notes(), Cutting())
