"""Modules that need an extra are looked at for examples only where it is installed.

(pytest's own switch for that would also pass over test files that cannot be imported at all.)
"""

from importlib.util import find_spec

_NEEDS = {
    "torch": [
        "methods/neural/training.py",
        "predictors/torch/character_lm.py",
        "predictors/torch/crf_layer.py",
        "predictors/torch/network.py",
        "predictors/torch/training.py",
        "predictors/transformer/body.py",
    ],
    "transformers": [
        f"predictors/transformer/{name}.py" for name in ("checkpoint", "encoder", "stored")
    ],
}
_REVIEW = [
    "app",
    "background",
    "desk",
    "doors",
    "export",
    "messages",
    "migrations",
    "server",
    "store",
    "views",
]
_NEEDS["fastapi"] = [
    f"review/{name}{'' if name in ('migrations', 'store') else '.py'}" for name in _REVIEW
]
collect_ignore = [
    *([] if find_spec("fastapi") and find_spec("sqlalchemy") else ["tests/review"]),
]
collect_ignore += [
    f"src/seqtruth/{module}"
    for package, modules in _NEEDS.items()
    if find_spec(package) is None
    for module in modules
]
