"""Archives from strangers: bad names, bombs, damage."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from dataset_sources import tarred, zipped
from seqtruth.datasets.members import Limits, decoded, read_members
from seqtruth.errors import InputError


def read(path: Path, content: bytes, limits: Limits | None = None) -> dict[str, bytes]:
    path.write_bytes(content)
    return dict(read_members(path, lambda name: name.endswith(".txt"), limits or Limits()))


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_wanted_members_are_read(tmp_path: Path, pack) -> None:
    content = pack({"a/one.txt": "1", "a/two.dat": "2", "three.txt": "3"})
    assert read(tmp_path / "x", content) == {"a/one.txt": b"1", "three.txt": b"3"}


@pytest.mark.parametrize("pack", [zipped, tarred])
@pytest.mark.parametrize(
    "name", ["../a.txt", "/etc/a.txt", "a/../../b.txt", "C:/a.txt", "a\\..\\b"]
)
def test_names_that_lead_out_condemn_the_archive(tmp_path: Path, pack, name: str) -> None:
    with pytest.raises(InputError, match="leads out of its folder"):
        read(tmp_path / "x", pack({"good.txt": "1", name: "2"}))
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("pack", [zipped, tarred])
@pytest.mark.parametrize("limits", [Limits(member=1000), Limits(total=1500)])
def test_bombs_are_bounded(tmp_path: Path, pack, limits: Limits) -> None:
    bomb = pack({"a.txt": "0" * 900, "b.txt": "0" * (10_000 if limits.member == 1000 else 900)})
    with pytest.raises(InputError, match="unpacks to more than"):
        read(tmp_path / "x", bomb, limits)


def test_a_header_that_lies_about_the_size_is_no_way_round(tmp_path: Path) -> None:
    content = zipped({"a.txt": "0" * 100_000})
    size = (100_000).to_bytes(4, "little")
    lying = content.replace(size, (10).to_bytes(4, "little"))
    assert lying != content
    with pytest.raises(InputError):
        read(tmp_path / "x", lying, Limits(member=1000))


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_too_many_members(tmp_path: Path, pack) -> None:
    with pytest.raises(InputError, match="more than 5 members"):
        read(tmp_path / "x", pack({f"{n}.txt": "" for n in range(6)}), Limits(members=5))


def test_damage(tmp_path: Path) -> None:
    good = zipped({"a.txt": "text " * 1000})
    for content in (b"", b"nothing of the kind", good[:40], good[:60] + b"\xff" * 8 + good[68:]):
        with pytest.raises(InputError, match="cannot be read"):
            read(tmp_path / "x", content)


def test_links_in_a_tar_are_passed_over(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        link = tarfile.TarInfo("a.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        archive.addfile(link)
    assert read(tmp_path / "x", buffer.getvalue()) == {}


def test_unknown_compression(tmp_path: Path) -> None:
    content = bytearray(zipped({"a.txt": "1"}))
    at = content.index(zipfile.stringCentralDir)
    content[at + 10 : at + 12] = (99).to_bytes(2, "little")
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path / "x", bytes(content))


def test_text_is_utf8_or_windows() -> None:
    assert decoded("é".encode()) == "é" == decoded("é".encode("cp1252"))
