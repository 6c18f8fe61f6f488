"""spaCy's numbers for strings: a 64-bit hash, but for the names it has numbered itself.

A ``DocBin`` holds words and labels as these numbers and, apart from them, the strings. The names
that have small numbers of their own (``PERSON`` is 380) are the same in all versions of spaCy 3;
this is their list.
"""

from __future__ import annotations

from functools import cache

_FIRST = """
    IS_ALPHA IS_ASCII IS_DIGIT IS_LOWER IS_PUNCT IS_SPACE IS_TITLE IS_UPPER LIKE_URL LIKE_NUM
    LIKE_EMAIL IS_STOP IS_OOV_DEPRECATED IS_BRACKET IS_QUOTE IS_LEFT_PUNCT IS_RIGHT_PUNCT
    IS_CURRENCY
"""
_ATTRIBUTES = """
    ID ORTH LOWER NORM SHAPE PREFIX SUFFIX LENGTH CLUSTER LEMMA POS TAG DEP ENT_IOB ENT_TYPE
    HEAD SENT_START SPACY PROB LANG ADJ ADP ADV AUX CONJ CCONJ DET INTJ NOUN NUM PART PRON
    PROPN PUNCT SCONJ SYM VERB X EOL SPACE
"""
_LABELS = """
    PERSON NORP FACILITY ORG GPE LOC PRODUCT EVENT WORK_OF_ART LANGUAGE LAW DATE TIME PERCENT
    MONEY QUANTITY ORDINAL CARDINAL acomp advcl advmod agent amod appos attr aux auxpass cc
    ccomp complm conj cop csubj csubjpass dep det dobj expl hmod hyph infmod intj iobj mark
    meta neg nmod nn npadvmod nsubj nsubjpass num number oprd obj obl parataxis partmod pcomp
    pobj poss possessive preconj prep prt punct quantmod relcl rcmod root xcomp acl ENT_KB_ID
    MORPH ENT_ID IDX _
"""
_FACTOR, _MASK = 0xC6A4A7935BD1E995, (1 << 64) - 1


@cache
def symbols() -> dict[str, int]:
    """Names with numbers of their own."""
    names = ["", *_FIRST.split(), *(f"FLAG{i}" for i in range(19, 64)), *_ATTRIBUTES.split()]
    names += [f"DEPRECATED{i:03}" for i in range(1, 277)] + _LABELS.split()
    return {name: number for number, name in enumerate(names)}


def string_number(string: str) -> int:
    """The number of a string: its own, or MurmurHash64A of its UTF-8 with the seed 1.

    >>> string_number("PERSON"), string_number("coffee")
    (380, 3197928453018144401)
    """
    number = symbols().get(string)
    return _hashed(string.encode("utf-8")) if number is None else number


def _hashed(data: bytes) -> int:
    h = 1 ^ (len(data) * _FACTOR & _MASK)
    whole = len(data) // 8 * 8
    for i in range(0, whole, 8):
        k = int.from_bytes(data[i : i + 8], "little") * _FACTOR & _MASK
        k = (k ^ k >> 47) * _FACTOR & _MASK
        h = (h ^ k) * _FACTOR & _MASK
    if whole < len(data):
        h = (h ^ int.from_bytes(data[whole:], "little")) * _FACTOR & _MASK
    h = (h ^ h >> 47) * _FACTOR & _MASK
    return h ^ h >> 47
