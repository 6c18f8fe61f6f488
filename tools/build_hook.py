"""Builds the kernels when a wheel or an editable installation is made (hatchling runs this)."""

from __future__ import annotations

import importlib.util
import re
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


def platform_tag(platform: str) -> str:
    """The platform as wheels name it; from macOS 11 on, pip knows no minor versions (conda has 11.1).

    >>> platform_tag("linux-x86_64"), platform_tag("macosx-11.1-arm64"), platform_tag("macosx-10.9-x86_64")
    ('linux_x86_64', 'macosx_11_0_arm64', 'macosx_10_9_x86_64')
    """
    platform = re.sub(r"^macosx-(1[1-9]|[2-9]\d)\.\d+-", r"macosx-\1.0-", platform)
    return re.sub(r"[-.]", "_", platform)


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
        build_data["tag"] = f"py3-none-{platform_tag(sysconfig.get_platform())}"
        build_data["artifacts"].append(build.LIBRARY.relative_to(self.root).as_posix())
