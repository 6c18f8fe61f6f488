"""The ways to choose labels by name, and which models of annotators each listens to.

Two models of annotators, confusion matrices and sequences, are right in different crowds, and often
neither is clearly better: left-out annotators then tell them apart by a hair, which falls this way or that
with the seed. So between the two stand mixtures of them (log scores weighed w and 1 - w), among which the
same judges choose; models that are much alike in their merit are then both heard, and the curve of
merit over w is smoother than a choice between its ends.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from seqtruth.methods.accord.opinions import Opinion, blend

#: Ending of the names of options with a predictor.
HEARD = "+predictor"
#: Annotators alone, and a predictor where nobody speaks.
GAPS = "annotators, gaps" + HEARD
#: What comes before it where the label chain is not heard.
UNCHAINED = ", no chain"
#: Annotators as the text tells them apart (:mod:`~seqtruth.methods.accord.by_text`), and the predictor.
BY_TEXT = "confusion" + UNCHAINED + HEARD
#: The model by which the sequential one is compared with others (:mod:`~seqtruth.methods.accord.sequences`).
CAUTIOUS = "cautious"
#: Weight of the sequential model in each mixture, the even one first.
MIXTURES = {"both": 0.5, "both, mostly confusion": 0.25, "both, mostly sequential": 0.75}


def sequential_weight(name: str) -> float:
    """How much an option listens to the sequential model beside the confusion matrices.

    >>> sequential_weight("both, mostly sequential, no chain+predictor")
    0.75
    >>> sequential_weight("sequential"), sequential_weight("annotators")
    (1.0, 0.0)
    """
    return {"sequential": 1.0, **MIXTURES}.get(without_sources(name), 0.0)


def only_claimed(name: str) -> bool:
    """Whether an option names only spans that somebody marks, or that nobody says anything about: there is
    no predictor who could know better.

    >>> only_claimed("confusion"), only_claimed(GAPS), only_claimed("confusion" + HEARD)
    (True, True, False)
    """
    return name == GAPS or not name.endswith(HEARD)


def models_of(name: str) -> tuple[str, ...]:
    """The models of annotators that an option settles with other sources.

    >>> models_of("both+predictor"), models_of("sequential+predictor"), models_of("vote")
    (('confusion', 'sequential'), ('sequential',), ())
    """
    base = without_sources(name)
    if base in MIXTURES:
        return ("confusion", "sequential")
    return (base,) if base in ("confusion", "sequential") else ()


def mixtures_of(found: Collection[str]) -> list[str]:
    """The mixtures of options that were found: beside a predictor only those that lean to one side, because
    left-out annotators like an even one better than it deserves.

    >>> mixtures_of(["confusion+predictor", "sequential+predictor"])
    ['both, mostly confusion+predictor', 'both, mostly sequential+predictor']
    """
    alone = [*MIXTURES] if "sequential" in found else []
    leaning = [name + HEARD for name, weight in MIXTURES.items() if weight != 0.5]
    return alone + (leaning if "sequential" + HEARD in found else [])


def without_sources(name: str) -> str:
    """The annotators' part of an option's name."""
    return name.removesuffix(HEARD).removesuffix(UNCHAINED)


def mixed(name: str, found: Mapping[str, Opinion]) -> Opinion:
    """An option: one that was found, or a mixture of two that were."""
    if name in found:
        return found[name]
    ending = name.removeprefix(without_sources(name))
    confusion, sequential = (found[model + ending] for model in models_of(name))
    return blend(confusion, sequential, sequential_weight(name))
