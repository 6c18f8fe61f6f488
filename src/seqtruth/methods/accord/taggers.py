"""The tagger that a user takes home: trained on the labels that were chosen."""

from __future__ import annotations

import numpy as np

from seqtruth.data.labelling import Labelling
from seqtruth.kernels.arrays import F64, Tags
from seqtruth.methods.accord.learnable import foretold
from seqtruth.methods.accord.options import HEARD, models_of, sequential_weight, without_sources
from seqtruth.methods.accord.run import Run, threshold_of
from seqtruth.methods.accord.state import heard_in
from seqtruth.methods.crossfit import train_on_all
from seqtruth.methods.loop import State
from seqtruth.predictors.ensemble import Ensemble
from seqtruth.predictors.tagger import Tagger


def tagger_of(run: Run, state: State, name: str, tags: Tags) -> Tagger | None:
    """Trained on the labels themselves: probabilities of single tags would blur where spans end.

    Parameters
    ----------
    run, state : what was learnt.
    name : the option that was chosen.
    tags : tag[T], its labels.
    """
    if not run.members or not run.usable.any():
        return None
    labels = Labelling(run.crowd.corpus, run.crowd.scheme, tags)
    trained = train_on_all(
        run.members, labels.corpus, labels.scheme, tags, run.usable, run.method.seed
    )
    weights = _weights(run, name)
    threshold = threshold_of(run.method)
    if threshold is not None and "opinion0" in state:
        # spans are worth naming from half of the F1 on that is to be had
        threshold = 0.5 * foretold(heard_in(state, len(run.members)), weights, labels, run.usable)
    predictor = trained[0] if len(trained) == 1 else Ensemble(trained, weights)
    return Tagger(predictor, labels.scheme, threshold=threshold)


def _weights(run: Run, name: str) -> F64:
    """float64[M]: how far each predictor is trusted beside the others in the option that was chosen."""
    n = len(run.members)
    if not (name.endswith(HEARD) and models_of(name)):
        return np.ones(n)
    ending = name.removeprefix(without_sources(name))
    trusts = [run.trusts[model + ending][-1] for model in models_of(name)]
    weight = sequential_weight(name) if len(trusts) > 1 else 0.0
    trust = (1 - weight) * trusts[0] + weight * trusts[-1]
    found = np.asarray(trust[1 : 1 + n])
    return found if found.any() else np.ones(n)
