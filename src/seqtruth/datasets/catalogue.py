"""What can be fetched, from where, under which terms, and what should come out.

Digests. The tables we measure with are known by the digests in :attr:`Recipe.reference`: SHA-256 over a
table's unpacked content. Nobody has published digests of the *sources*, and GitHub packs its archives
anew from time to time, so a source has none here: the digest of what is fetched first is recorded beside
it, and a later copy must agree (trust on first use, as with SSH host keys).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from seqtruth.datasets.other_sources import SETS

MB = 1 << 20


@dataclass(frozen=True)
class Download:
    """One file to fetch.

    file : the name it is kept under.
    urls : addresses of the same content, tried in turn.
    sha256 : digest, where one is known.
    limit : more bytes than this are not taken.
    without : what the data set lacks if this one cannot be had; where empty, it cannot be made at all.
    """

    file: str
    urls: tuple[str, ...]
    sha256: str | None = None
    limit: int = 200 * MB
    without: str = ""


@dataclass(frozen=True)
class Recipe:
    """A data set that is fetched and converted.

    reference : table -> SHA-256 of its unpacked content in the copy our figures were made with.
    """

    name: str
    title: str
    licence: str
    source: str
    citation: str
    sources: tuple[Download, ...]
    reference: Mapping[str, str] = field(repr=False)


_RAW = "https://raw.githubusercontent.com/"
_SEQCROWD = "thanhan/seqcrowd-acl17"
_AGGSLC = (
    f"{_RAW}NasimISU/Truth-Discovery-in-Sequence-Labels-from-Crowds/"
    "d147c4bf7d08ca507d254d1ee8807b900bf9028c/NER/processed_test_data/"
)
_PICO = "yinfeiy/PICO-data"
_PICO_TREE = "1dbc674d2863107ac65fb024920a0bb94cb68efb"
_PICO_GOLD = "ea00e3ff849068cf04b30fc4d05c26f8f8696ed3"

NER = Recipe(
    name="ner",
    title="CoNLL-2003 news sentences labelled by 47 crowd workers",
    licence=(
        "The text is from the Reuters Corpus, as used by CoNLL-2003: for research only, under NIST's "
        "agreement (https://trec.nist.gov/data/reuters/reuters.html), and not to be passed on. The "
        "crowd labels were published by Rodrigues et al. for research, without a licence."
    ),
    source="https://github.com/thanhan/seqcrowd-acl17 (task1.zip), after "
    "http://amilab.dei.uc.pt/fmpr/crf-ma-datasets.tar.gz",
    citation=(
        "Rodrigues, Pereira and Ribeiro (2014), Sequence labeling with multiple annotators, Machine "
        "Learning 95, doi:10.1007/s10994-013-5411-2; Tjong Kim Sang and De Meulder (2003), "
        "Introduction to the CoNLL-2003 shared task, https://aclanthology.org/W03-0419"
    ),
    sources=(
        Download(
            "crowd.archive",
            (
                f"{_RAW}{_SEQCROWD}/cc80ab25ab02014af869a331b13b398f4c07be96/task1.zip",
                f"https://github.com/{_SEQCROWD}/raw/master/task1.zip",
                "http://amilab.dei.uc.pt/fmpr/crf-ma-datasets.tar.gz",
            ),
        ),
        Download(
            "aggslc-gold.txt",
            (f"{_AGGSLC}Ground_Truth.txt",),
            limit=20 * MB,
            without="the split aggslc_3466",
        ),
        Download(
            "aggslc-mv.txt",
            (f"{_AGGSLC}mv.txt",),
            limit=20 * MB,
            without="the table aggslc_mv",
        ),
        Download(
            "optsla-gold.txt",
            (
                f"{_RAW}NasimISU/OptSLA/449367a52e2a8e595b1fe4bf8c23e3a657aecfc5/datasets/ner/"
                "Ground_Truth.txt",
            ),
            limit=20 * MB,
            without="the split optsla_4515",
        ),
        Download(
            "conll2003.zip",
            ("https://data.deepai.org/conll2003.zip",),
            limit=50 * MB,
            without="CoNLL-2003 testa and testb, for scoring taggers, and the repaired gold",
        ),
    ),
    reference={
        "sentences.tsv.gz": "eeddae2d1d2d69d7ab3405b8b30e1c3bed832c6aa0eb462efa9af9aafd37e129",
        "annotations.tsv.gz": "511bf234a1ce411bb235c61fdd2b676e8b5e1f04af4afced61a3ac93a8b4bbaa",
        "gold.tsv.gz": "0084f47fd20b6e449eb6f58919bacf61942ff86445fee361829fbdd18996738d",
        "splits.tsv.gz": "098d3234e8c9ed688ce32645f4b5ca6346d7e4da4e33e59fef31326f8a318b87",
        "aggslc_mv.tsv.gz": "9f20e9de527afc81f8091d931f939cf0c0cd86a279c5f823fbf44b6bc052eb22",
        "conll2003_task2_eval.tsv.gz": (
            "00137b6809ba2f5e2f51f9a7cb841532204289ba4128ee303407e06664c9b56f"
        ),
    },
)

PICO = Recipe(
    name="pico",
    title="abstracts of clinical trials in which crowd workers marked the population",
    licence=(
        "The abstracts are from PubMed and remain with their publishers; the labels were published for "
        "research by Nguyen et al., without a licence. Use them for research, and do not pass them on."
    ),
    source="https://github.com/yinfeiy/PICO-data",
    citation=(
        "Nguyen, Wallace, Li, Nenkova and Lease (2017), Aggregating and Predicting Sequence Labels from "
        "Crowd Annotations, ACL, doi:10.18653/v1/P17-1028"
    ),
    sources=(
        Download(
            "pico-data.zip",
            (
                f"https://codeload.github.com/{_PICO}/zip/{_PICO_TREE}",
                f"https://github.com/{_PICO}/archive/{_PICO_TREE}.zip",
                f"https://github.com/{_PICO}/archive/refs/heads/master.zip",
            ),
            limit=500 * MB,
        ),
        Download(
            "experts.json",
            (f"{_RAW}{_PICO}/{_PICO_GOLD}/annotations/PICO-annos-professional.json",),
            limit=20 * MB,
        ),
    ),
    reference={
        "sentences_acl17-test.tsv.gz": (
            "d19aca40faf6c4c240d908a1e8df14279edb57794d22a14a9ea83f8185590dbc"
        ),
        "annotations_acl17-test.tsv.gz": (
            "697d11f8459c1a6e6a31d512c83d6e0959e3fc1141ed73163c24c5d62314bc73"
        ),
        "gold.tsv.gz": "09164eac275dc2700b30013a348a067b0a7a129a9388da6d3c413687b913dc17",
        "splits.tsv.gz": "1d40a9de459ba53bbfe6234909416e37962bee534be200ce8ee12b05841324bf",
        "sentences_nogold.tsv.gz": (
            "23eb7e9a2f67ac8d3fb76f33c2974e179f61bf09245dcf95557ef92532138bd6"
        ),
        "annotations_nogold.tsv.gz": (
            "ceb4064cd1efad8395aead639375534d92052ad4db03b4a9a5b016df542a1bbf"
        ),
    },
)

RECIPES: dict[str, Recipe] = {recipe.name: recipe for recipe in (NER, PICO)}


@dataclass(frozen=True)
class Own:
    """A data set we make ourselves, and the fetched one whose text it takes, if any."""

    title: str
    text: str = ""


OWN = {
    "demo": Own("news and biomedical prose of our own, labelled by ten simulated annotators"),
    "synthetic": Own("the sentences of ner, labelled by six programs", "ner"),
    "synthetic-demo": Own("the sentences of demo, six programs imitated"),
}


def title(name: str) -> str:
    """What a data set is, in a line."""
    return (RECIPES.get(name) or SETS.get(name) or OWN[name]).title


def needs(name: str) -> str:
    """The folder of tables that ``name`` is or takes its text from; empty where it is built in."""
    if name in SETS:
        return SETS[name].folder
    return name if name in RECIPES else OWN[name].text
