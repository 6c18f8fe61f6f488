"""Modules that need an extra are looked at for examples only where it is installed.

(pytest's own switch for that would also pass over test files that cannot be imported at all.)
"""

from importlib.util import find_spec

_NEEDS = {
    "torch": [
        "methods/neural/training.py",
        "predictors/torch/crf_layer.py",
        "predictors/torch/network.py",
        "predictors/torch/training.py",
        "predictors/transformer/body.py",
    ],
    "transformers": ["predictors/transformer/checkpoint.py"],
}
collect_ignore = [
    f"src/seqtruth/{module}"
    for package, modules in _NEEDS.items()
    if find_spec(package) is None
    for module in modules
]
