"""Programs that label text by themselves: knowledge bases and systems for named entities.

Each is a small frozen dataclass with ``annotate(corpus)``; :func:`six` gives the ones that stand in
for those of the paper, three knowledge bases and three systems. What they need is imported, or
started, when they annotate.
"""

from __future__ import annotations

from seqtruth.datasets.annotators.base import TYPES, AutomaticAnnotator
from seqtruth.datasets.annotators.names import PersonNames
from seqtruth.datasets.annotators.opennlp import OpenNLP
from seqtruth.datasets.annotators.places import Places
from seqtruth.datasets.annotators.rules import RuleCascade
from seqtruth.datasets.annotators.spacy_pipeline import SpacyPipeline
from seqtruth.datasets.annotators.spotlight import Spotlight
from seqtruth.datasets.annotators.wordnet import WordNet


def six() -> tuple[AutomaticAnnotator, ...]:
    """Stand-ins for the paper's six: three knowledge bases, then three systems."""
    return (Places(), WordNet(), PersonNames(), SpacyPipeline(), OpenNLP(), RuleCascade())


__all__ = [
    "TYPES",
    "AutomaticAnnotator",
    "OpenNLP",
    "PersonNames",
    "Places",
    "RuleCascade",
    "SpacyPipeline",
    "Spotlight",
    "WordNet",
    "six",
]
