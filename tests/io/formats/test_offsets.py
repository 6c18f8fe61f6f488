"""Units of other tools: against the encodings themselves and against another implementation."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqtruth.io.formats.offsets import (
    grapheme_borders,
    graphemes_to_points,
    points_to_graphemes,
    points_to_utf16,
    utf16_to_points,
)

texts = st.text(
    st.one_of(
        st.sampled_from("ab \r\n\té́́̈กำเ가ᄀ각👨👩👧‍🏽🇩🇪🇫❤️☎️۝؀नीक्षি"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=30,
)


@given(texts)
def test_utf16_agrees_with_the_encoding(text: str) -> None:
    to_points, to_units = utf16_to_points(text), points_to_utf16(text)
    borders = [len(text[:i].encode("utf-16-le")) // 2 for i in range(len(text) + 1)]
    assert [to_units(i) for i in range(len(text) + 1)] == borders
    for unit in range(-1, borders[-1] + 2):
        assert to_points(unit) == (borders.index(unit) if unit in borders else None)
    assert to_units(-1) is None and to_units(len(text) + 1) is None


@given(texts)
def test_clusters_cover_the_text_and_convert_back(text: str) -> None:
    borders = grapheme_borders(text)
    assert borders[0] == 0 and borders[-1] == len(text) and borders == sorted(set(borders))
    to_points, to_clusters = graphemes_to_points(text), points_to_graphemes(text)
    for cluster, point in enumerate(borders):
        assert to_points(cluster) == point and to_clusters(point) == cluster
    assert to_points(len(borders)) is None and to_points(-1) is None
    assert all(to_clusters(i) is None for i in range(len(text)) if i not in borders)


@pytest.mark.parametrize(
    ("text", "clusters"),
    [
        ("", []),
        ("a\r\nb", ["a", "\r\n", "b"]),
        ("e\u0301\u0323x", ["e\u0301\u0323", "x"]),
        ("👨‍👩‍👧👍🏽❤️", ["👨‍👩‍👧", "👍🏽", "❤️"]),
        ("🇩🇪🇫🇷🇮", ["🇩🇪", "🇫🇷", "🇮"]),
        ("각가ㄱ", ["각", "가", "ㄱ"]),
        ("กำลัง", ["กำ", "ลั", "ง"]),
        ("نَحْنُ", ["نَ", "حْ", "نُ"]),
        ("\u0301a\u200b\u0301", ["\u0301", "a", "\u200b", "\u0301"]),
    ],
)
def test_clusters(text: str, clusters: list[str]) -> None:
    borders = grapheme_borders(text)
    assert [text[a:b] for a, b in pairwise(borders)] == clusters


@given(st.text(st.sampled_from("ab \r\n\té́̈กำเ가ᄀ각ᆨ👨👩👧‍🏽🇩🇪🇫❤️؀\u200b\u200c한글조"), max_size=20))
def test_clusters_agree_with_regex(text: str) -> None:
    regex = pytest.importorskip("regex")
    borders = grapheme_borders(text)
    assert [text[a:b] for a, b in pairwise(borders)] == regex.findall(r"\X", text)
