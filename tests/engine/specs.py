"""Every method that says it runs on every engine, as a user would ask for it."""

from __future__ import annotations

from seqtruth.errors import MissingExtraError, ParameterError
from seqtruth.methods import METHODS, make_method

#: Settings without which a method needs the whole crowd, and those that make one quick enough.
SETTINGS = {
    "hmm-crowd": "text_features=false",
    "bsc-seq-if": "text_features=false",
    "optsla": "prediction=cross-fit;max_iter=2;folds=2",
    "aggslc": "max_iter=3;folds=3",
    "accord": "predictor=crf",
}


def _everywhere() -> list[str]:
    specs = [f"{name}:{SETTINGS[name]}" if name in SETTINGS else name for name in METHODS]
    specs += [
        "aggslc:predictor=none;class_weights=contested",
        "aggslc:descent=true;max_iter=2;folds=2",
    ]
    specs += ["mv:ties=random;seed=3"]
    found = []
    for spec in specs:
        try:
            make_method(spec).check_engine("spark")
        except (ParameterError, MissingExtraError):
            continue
        found.append(spec)
    return found


EVERYWHERE = _everywhere()
