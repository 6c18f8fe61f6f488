"""How far annotators agree with each other, before anybody knows the truth."""

from __future__ import annotations

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.kernels.agreement import PairSums, SpanSums
from seqtruth.kernels.arrays import F64, Bool
from seqtruth.metrics.agreement import coefficients as of
from seqtruth.metrics.agreement.counting import Cells, Counter
from seqtruth.metrics.agreement.drawing import Draws, Estimate
from seqtruth.metrics.agreement.found import Agreement, Pairs
from seqtruth.metrics.agreement.telling import MEASURES
from seqtruth.metrics.bootstrap import FEWEST_UNITS

__all__ = ["MEASURES", "Agreement", "Estimate", "Pairs", "agreement", "krippendorff_alpha", "pairs"]


def agreement(
    crowd: Crowd,
    strict: str = "conlleval",
    silent: Bool | None = None,
    n_resamples: int = 0,
    level: float = 0.95,
    seed: int = 0,
) -> Agreement:
    """Agreement of a crowd, over all, by type, by pair and by document.

    Only what two or more annotators labelled counts: a sentence that somebody did not see, or a token of
    which they said nothing, is missing and not ``O``. :func:`seqtruth.agreement` also finds out whose ``O``
    is silence.

    Parameters
    ----------
    crowd : the annotators' labels.
    strict : how spans are read, ``conlleval`` or ``b-required``.
    silent : bool[W, K], annotators whose ``O`` is no opinion on a type. Their ``O`` counts for nothing where
        the type is judged, nor over all types; spans of others which they do not touch are not held against
        them; α_U leaves them out.
    n_resamples : how often documents are drawn again for intervals; 0 for none.
    level : confidence of the intervals.
    seed : of the draws.

    Examples
    --------
    >>> tokens = [["Ann", "met", "Bo"]]
    >>> tags = {"a": [["B-PER", "O", "B-PER"]], "b": [["B-PER", "O", "O"]]}
    >>> figures = agreement(Crowd.of(tags, tokens))
    >>> round(figures.observed, 3), round(figures.kappa, 3), round(figures.span_f1, 3)
    (0.667, 0.4, 0.667)
    """
    counter = Counter(crowd, strict, silent)
    met = counter.tokens[0].tokens[:, 1]  # tokens that two or more labelled, by unit
    enough = int((met > 0).sum()) >= FEWEST_UNITS
    draws = Draws.of(counter.units.n, n_resamples if enough else 0, level, seed)
    table = _pairs(counter.cells)
    overall: dict[str, Estimate] = {}
    by_type: dict[str, list[Estimate]] = {}
    _of_tokens(counter, draws, overall, by_type)
    _of_pairs(counter, draws, table, overall, by_type, seed)
    if crowd.scheme.kind != "plain":
        _of_spans(counter, draws, overall, by_type)
    types = crowd.scheme.types
    claimed = counter.tokens[1].share[..., 0].sum(axis=0) > 0
    return Agreement(
        crowd.annotators,
        table,
        {name: overall[name] for name in MEASURES if name in overall},
        {
            kind: {name: by_type[name][k] for name in MEASURES if name in by_type}
            for k, kind in enumerate(types)
            if claimed[k]
        },
        _documents(counter),
        strict,
        level,
        tuple(name for name, mute in zip(crowd.annotators, counter.mute.any, strict=True) if mute),
        {kind: n for kind, n in zip(types, counter.marks.tolist(), strict=True) if n},
        int(met.sum()),
        int((met > 0).sum()) if counter.units.documents else 0,
    )


def pairs(crowd: Crowd, strict: str = "conlleval") -> Pairs:
    """Agreement of every two annotators who share a token (see :class:`Pairs`).

    Parameters
    ----------
    crowd, strict : as for :func:`agreement`.
    """
    return _pairs(Counter(crowd, strict).cells)


def krippendorff_alpha(crowd: Crowd) -> float:
    """Krippendorff's alpha for nominal data, over tokens, with missing values.

    Returns nan where no token was labelled twice, or only one label was ever used.

    Parameters
    ----------
    crowd : the annotators' labels.

    References
    ----------
    Krippendorff (2011), "Computing Krippendorff's alpha-reliability".
    https://repository.upenn.edu/asc_papers/43

    Examples
    --------
    >>> crowd = Crowd.of({"a": [["X", "Y"]], "b": [["X", "Y"]]}, tokens=[["1", "2"]])
    >>> krippendorff_alpha(crowd)
    1.0
    """
    whole, _ = Counter(crowd, "conlleval").tokens
    return float(of.krippendorff(type(whole)(*(column.sum(axis=0) for column in whole))))


def _estimate(value: F64, drawn: F64, draws: Draws) -> Estimate:
    low, high = draws.interval(drawn)
    return Estimate(float(value), float(low), float(high))


def _estimates(values: F64, drawn: F64, draws: Draws) -> list[Estimate]:
    low, high = draws.interval(drawn)
    return [Estimate(*map(float, row)) for row in zip(values, low, high, strict=True)]


def _of_tokens(
    counter: Counter, draws: Draws, overall: dict[str, Estimate], by_type: dict[str, list[Estimate]]
) -> None:
    whole, typed = counter.tokens
    in_use = int((whole.share.sum(axis=0) > 0).sum())
    measures = {
        "observed": (of.observed_agreement, of.observed_agreement),
        "alpha": (of.krippendorff, of.krippendorff),
        "fleiss_kappa": (of.fleiss, of.fleiss),
        "ac1": (lambda sums: of.gwet(sums, in_use), lambda sums: of.gwet(sums, 2)),
    }
    total, drawn = (type(whole)(*(c.sum(axis=0) for c in whole)), draws.sums(whole))
    typed_total, typed_drawn = (type(typed)(*(c.sum(axis=0) for c in typed)), draws.sums(typed))
    for name, (all_of, one_of) in measures.items():
        overall[name] = _estimate(all_of(total), all_of(drawn), draws)
        by_type[name] = _estimates(one_of(typed_total), one_of(typed_drawn), draws)


def _of_spans(
    counter: Counter, draws: Draws, overall: dict[str, Estimate], by_type: dict[str, list[Estimate]]
) -> None:
    found = counter.unitising
    columns = (found.differences, found.length, found.observed)
    sums = of.unitising_disagreements(
        type(found.lengths)(*(c.sum(axis=0) for c in found.lengths)),
        *(c.sum(axis=0) for c in columns),
    )
    drawn = of.unitising_disagreements(
        draws.sums(found.lengths), *(draws.column(c) for c in columns)
    )
    overall["alpha_u"] = _estimate(of.alpha_u(*sums), of.alpha_u(*drawn), draws)
    by_type["alpha_u"] = _estimates(
        of.alpha_u(*sums, by_type=True), of.alpha_u(*drawn, by_type=True), draws
    )
    by_unit = counter.unit_spans
    total = SpanSums(*(column.sum(axis=0) for column in by_unit))
    again = draws.sums(by_unit)
    for name, measure in (("span_f1", of.span_f1), ("span_f1_overlap", of.overlap_f1)):
        overall[name] = _estimate(measure(total), measure(again), draws)
        by_type[name] = _estimates(measure(total, True), measure(again, True), draws)
    overall["span_f1_untyped"] = _estimate(of.untyped_f1(total), of.untyped_f1(again), draws)


def _added(column: F64, place: np.ndarray, n: int) -> F64:
    out = np.zeros((n, *column.shape[1:]))
    np.add.at(out, place, column)
    return out


def _of_pairs(
    counter: Counter, draws: Draws, table: Pairs, overall: dict[str, Estimate],
    by_type: dict[str, list[Estimate]], seed: int,
) -> None:  # fmt: skip
    """Cohen's kappa: the mean over pairs, each by the tokens that both labelled; and pairs' intervals."""
    cells = counter.cells
    total = _by_pair(cells)[0]
    n_draws, n_types = len(draws.times), total.typed_tokens.shape[1]
    sums, weight = np.zeros((2, n_draws))
    typed_sums, typed_weight = np.zeros((2, n_draws, n_types))
    if n_draws:
        for block, tokens, spans in draws.pairs(cells, seed):
            kappa, typed, f1 = of.cohen(tokens), of.cohen_by_type(tokens), of.span_f1(spans)
            for found, tokens_of, up, down in (
                (kappa, tokens.tokens, sums, weight),
                (typed, tokens.typed_tokens, typed_sums, typed_weight),
            ):
                known = np.isfinite(found)
                up += np.where(known, found * tokens_of, 0).sum(axis=1)
                down += np.where(known, tokens_of, 0).sum(axis=1)
            for drawn, low, high in (
                (kappa, table.kappa_low, table.kappa_high),
                (f1, table.span_f1_low, table.span_f1_high),
            ):
                low[block], high[block] = draws.interval(drawn)
        few = np.bincount(cells.pair, minlength=len(cells.first)) < FEWEST_UNITS
        for column in (table.kappa_low, table.kappa_high, table.span_f1_low, table.span_f1_high):
            column[few] = np.nan
    value = _weighted(of.cohen(total), total.tokens)
    typed_value = _weighted(of.cohen_by_type(total), total.typed_tokens)
    overall["cohen_kappa"] = _estimate(value, of.divided(sums, weight), draws)
    by_type["cohen_kappa"] = _estimates(typed_value, of.divided(typed_sums, typed_weight), draws)


def _weighted(values: F64, weight: F64) -> F64:
    known = np.isfinite(values)
    return of.divided(
        np.where(known, values * weight, 0).sum(axis=0), np.where(known, weight, 0).sum(axis=0)
    )


def _by_pair(cells: Cells) -> tuple[PairSums, SpanSums]:
    n = len(cells.first)
    return (
        PairSums(*(_added(column, cells.pair, n) for column in cells.tokens)),
        SpanSums(*(_added(column, cells.pair, n) for column in cells.spans)),
    )


def _pairs(cells: Cells) -> Pairs:
    tokens, spans = _by_pair(cells)
    n = len(cells.first)
    return Pairs(
        cells.first,
        cells.second,
        tokens.tokens.astype(np.int64),
        of.divided(tokens.agree, tokens.tokens),
        of.cohen(tokens),
        of.span_f1(spans),
        of.overlap_f1(spans),
        of.untyped_f1(spans),
        *np.full((4, n), np.nan),
    )


def _documents(counter: Counter) -> dict[str, list[str] | F64]:
    """Columns by document, those in which nobody met anybody left out."""
    if not counter.units.documents:
        return {}
    whole, _ = counter.tokens
    in_use = int((whole.share.sum(axis=0) > 0).sum())
    by_unit = counter.unit_spans
    met = whole.tokens[:, 1] > 0
    columns = {
        "tokens": whole.tokens[:, 1],
        "observed": of.observed_agreement(whole),
        "alpha": of.krippendorff(whole),
        "ac1": of.gwet(whole, in_use),
        "span_f1": of.span_f1(by_unit),
        "span_f1_overlap": of.overlap_f1(by_unit),
    }
    names = np.array(counter.crowd.corpus.documents, object)[met].tolist()
    return {"document": names, **{name: column[met] for name, column in columns.items()}}
