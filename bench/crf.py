"""Training our CRF beside python-crfsuite and sklearn-crfsuite: the same features, data, penalty and steps.

    python -m bench.crf            # needs python-crfsuite (and sklearn-crfsuite) and the NER data

CPU seconds of one thread, all in one run, and F1 on sentences that were not learnt from. crfsuite takes hard
labels only, so all learn from the majority vote.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.child import limit_threads


def feature_lists(corpus: Any) -> list[list[list[str]]]:
    """The features that our CRF sees, as texts: sentence, token, feature."""
    from seqtruth.predictors.crf.features import Encoder

    encoder = Encoder()
    channels = encoder.encode(corpus, grow=True)
    names = [list(vocabulary) for vocabulary in encoder.vocabularies]
    by_token: list[list[str]] = [[] for _ in range(corpus.n_tokens)]
    for number, (channel, texts) in enumerate(zip(channels, names, strict=True)):
        of_atom = [
            [f"{number}:{texts[f]}" for f in channel.feature[a:b].tolist()]
            for a, b in zip(channel.start[:-1], channel.start[1:], strict=True)
        ]
        for token, atom in enumerate(channel.atom.tolist()):
            by_token[token] += of_atom[atom]
    offsets = corpus.token_offsets.tolist()
    return [by_token[a:b] for a, b in itertools.pairwise(offsets)]


def timed(job: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of a job, and what it gives."""
    began = time.process_time()
    found = job()
    return round(time.process_time() - began, 2), found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--split", default="crowdlayer_5985", help="of the data set ner")
    args = parser.parse_args()
    limit_threads(1)
    warnings.simplefilter("ignore")
    import pycrfsuite

    import seqtruth as st
    from seqtruth.data.labelling import Labelling

    data = st.datasets.load("ner")
    chosen = data.splits[args.split]
    crowd, gold = data.crowd[chosen], data.gold[chosen]
    vote = st.MajorityVote().fit(crowd)
    third = np.arange(crowd.n_sentences) % 3 == 0
    learn, ask = np.flatnonzero(~third), np.flatnonzero(third)
    labels = [vote.labels[s] for s in learn]
    lists = feature_lists(crowd.corpus)
    model = st.predictors.CRF(max_iter=args.steps)
    seconds, _ = timed(lambda: model.fit(crowd.corpus[learn], labels, scheme=crowd.scheme))
    mine = st.Tagger(model, crowd.scheme).label(crowd.corpus[ask])
    rows = {"seqtruth": (seconds, 100 * st.evaluate(mine, gold[ask]).f1)}
    path = Path(tempfile.mkdtemp()) / "model"
    options = {"c1": 0.0, "c2": 0.25, "max_iterations": args.steps, "feature.possible_states": True}

    def crfsuite() -> Any:
        trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
        for s, told in zip(learn, labels, strict=True):
            trainer.append(lists[s], told)
        trainer.set_params(options)
        trainer.train(str(path))
        tagger = pycrfsuite.Tagger()
        tagger.open(str(path))
        return tagger

    def scored(tag: Callable[[int], list[str]]) -> float:
        tags = [crowd.scheme.index(label) for s in ask for label in tag(s)]
        found = Labelling(crowd.corpus[ask], crowd.scheme, np.array(tags, crowd.scheme.tag_dtype))
        return 100 * st.evaluate(found, gold[ask]).f1

    seconds, tagger = timed(crfsuite)
    rows["python-crfsuite"] = seconds, scored(lambda s: tagger.tag(lists[s]))
    try:
        import sklearn_crfsuite
    except ImportError:
        pass
    else:
        other = sklearn_crfsuite.CRF(
            algorithm="lbfgs", c1=0.0, c2=0.25, max_iterations=args.steps, all_possible_states=True
        )
        seconds, _ = timed(lambda: other.fit([lists[s] for s in learn], labels))
        rows["sklearn-crfsuite"] = seconds, scored(lambda s: other.predict_single(lists[s]))
    for name, (seconds, f1) in rows.items():
        ratio = round(seconds / rows["seqtruth"][0], 1)
        print(
            json.dumps({"system": name, "cpu_seconds": seconds, "ratio": ratio, "f1": round(f1, 2)})
        )
    if path.exists():
        os.unlink(path)


if __name__ == "__main__":
    main()
