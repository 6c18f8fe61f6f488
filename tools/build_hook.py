"""Builds the kernels when a wheel or an editable installation is made (hatchling runs this)."""

from __future__ import annotations

import importlib.util
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def _build() -> ModuleType:
    """``seqtruth.kernels.build`` by its file: nothing that seqtruth needs is installed here."""
    path = Path(__file__).parents[1] / "src" / "seqtruth" / "kernels" / "build.py"
    spec = importlib.util.spec_from_file_location("build_kernels", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class KernelsHook(BuildHookInterface):
    def dependencies(self) -> list[str]:
        try:
            _build().compiler()
        except RuntimeError:
            return ["ziglang>=0.13"]
        return []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build = _build()
        build.build()
        build_data["pure_python"] = False
        build_data["tag"] = (
            f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
        )
        build_data["artifacts"].append(build.LIBRARY.relative_to(self.root).as_posix())
