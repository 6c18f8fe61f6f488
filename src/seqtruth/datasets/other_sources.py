"""Rules, trained people and language models as annotators: sets in the layout of four tables, by name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seqtruth.data.scheme import Scheme
from seqtruth.datasets.tables import Dataset, read_corpus, read_labels, read_splits
from seqtruth.errors import InputError


@dataclass(frozen=True)
class Made:
    """A set that users put together from its public source.

    folder : below the folder of all data sets.
    tune, report : splits to tune on, and the one to report.
    """

    folder: str
    title: str
    source: str
    citation: str
    tune: tuple[str, ...]
    report: str


_CHMM = "https://github.com/Yinghao-Li/CHMM-ALT (its folder data)"
_CHMM_PAPER = (
    "Li, Shetty, Liu, Zhang and Song (2021), BERTifying the Hidden Markov Model for Multi-Source "
    "Weakly Supervised Named Entity Recognition, ACL, doi:10.18653/v1/2021.acl-long.482"
)
SETS = {
    "ncbi-disease": Made(
        "rules/ncbi-disease", "abstracts in which 8 rules mark diseases", _CHMM, _CHMM_PAPER,
        ("train", "valid"), "test",
    ),
    "bc5cdr": Made(
        "rules/bc5cdr", "abstracts in which 16 rules of one type each mark chemicals and diseases",
        _CHMM, _CHMM_PAPER, ("train", "valid"), "test",
    ),
    "conll-rules": Made(
        "rules/conll-rules", "news labelled by 35 models and gazetteers, many of them relatives",
        _CHMM, _CHMM_PAPER, ("valid",), "test",
    ),
    "essays": Made(
        "experts/essays", "essays in which three trained people mark claims and premises",
        "https://github.com/UKPLab/arxiv2018-bayesian-ensembles",
        "Stab and Gurevych (2017), Parsing Argumentation Structures in Persuasive Essays, "
        "Computational Linguistics 43(3), doi:10.1162/COLI_a_00295",
        ("tune",), "report",
    ),
    "bambara": Made(
        "models/bambara", "news in Bambara labelled by seven fine-tuned language models",
        "https://github.com/masakhane-io/masakhane-ner (MasakhaNER 2 predictions)",
        "Adelani et al. (2022), MasakhaNER 2.0: Africa-centric Transfer Learning for Named Entity "
        "Recognition, EMNLP, doi:10.18653/v1/2022.emnlp-main.298",
        ("tune",), "report",
    ),
}  # fmt: skip


def load(name: str, roots: list[Path]) -> Dataset:
    """Read the first folder that has the set.

    Splits are the set's own (:attr:`Made.tune` and :attr:`Made.report`), and ``all``.
    """
    made = SETS[name]
    where = next((root / made.folder for root in roots if (root / made.folder).is_dir()), None)
    if where is None:
        raise InputError(
            f"the data set {name!r} is not here",
            got="no folder " + ", ".join(str(root / made.folder) for root in roots),
            fix=f"make its four tables from {made.source} (docs/datasets.md), and name the folder "
            "above with data_dir= or SEQTRUTH_DATA",
        )
    corpus = read_corpus([where / "sentences.tsv.gz"])
    crowd = read_labels(corpus, [where / "annotations.tsv.gz"], "labels", "worker_id")
    gold = read_labels(corpus, [where / "gold.tsv.gz"], "labels", None)
    scheme = Scheme.of(crowd.scheme.kind, {*crowd.scheme.labels, *gold.scheme.labels})
    splits = read_splits(corpus, where / "splits.tsv.gz")
    everything = {"all": np.asarray(crowd.covered & gold.covered)}
    return Dataset(name, crowd.recode(scheme), gold.recode(scheme), splits | everything)
