"""The formats of annotation tools, one a file: how to tell it, how to read it, how to write it.

To add one, write its file here, which ends in ``FORMAT = DocumentFormat(…)`` (:mod:`seqtruth.io.format` says
what that takes), and put its name into :data:`TOOLS`. :mod:`seqtruth.io.registry` does the rest.
"""

from __future__ import annotations

#: Modules of tools' formats, in the order in which docs list them.
TOOLS = (
    "label_studio",
    "doccano",
    "prodigy",
    "argilla",
    "inception",
    "brat",
    "spacy_docbin",
    "spacy_json",
    "huggingface",
    "gate",
    "mae",
    "bioc",
    "catma",
    "lighttag",
    "tagtog",
    "gliner",
    "mturk",
    "figure_eight",
    "sagemaker",
    "wrench",
    "language_models",
    "own_json",
    "span_table",
    "wide_table",
)
#: Those whose records usually are sentences already.
OF_SENTENCES = frozenset({"huggingface", "gliner", "wrench", "own_json", "wide_table"})
