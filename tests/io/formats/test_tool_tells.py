"""Every real file is claimed by its own tool's format, and no other's is claimed."""

from __future__ import annotations

import pytest

from seqtruth.io.format import Glimpse
from seqtruth.io.formats import argilla, doccano, label_studio, language_models, prodigy

from .tool_documents import FIXTURES, needs_fixtures

FOLDERS = {
    "label_studio": label_studio.FORMAT,
    "doccano": doccano.FORMAT,
    "prodigy": prodigy.FORMAT,
    "argilla": argilla.FORMAT,
    "no folder": language_models.FORMAT,
}


@needs_fixtures
@pytest.mark.parametrize("folder", FOLDERS)
def test_only_its_own_files(folder):
    own = []
    for path in sorted(FIXTURES.rglob("*")):
        if FOLDERS[folder].tell(Glimpse(path)) > 0:
            assert path.relative_to(FIXTURES).parts[0] == folder
            own.append(path)
    assert (
        len(own)
        == {"label_studio": 13, "doccano": 7, "prodigy": 2, "argilla": 3, "no folder": 0}[folder]
    )


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize(
    "data", [b"", b"[", b"{}", b"\x1f\x8b", b"PK\x05\x06" + b"\0" * 18, b"\xff\xfe{"]
)
def test_any_bytes_can_be_glimpsed(folder, data, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(data)
    assert FOLDERS[folder].tell(Glimpse(path)) < 0.5
