"""The rules of the CoNLL evaluation script, restated plainly on strings.

The main loop is that of ``conlleval.pl`` (Tjong Kim Sang, 2000-2004): it walks both columns at once
and never builds a list of spans. E and S follow the usual extension of the script to BIOES.
"""

from __future__ import annotations

from collections import Counter

CANONICAL = {"L": "E", "U": "S"}


def split(tag: str) -> tuple[str, str]:
    if tag == "O":
        return "O", ""
    prefix, _, kind = tag.partition("-")
    return CANONICAL.get(prefix, prefix), kind


def end_of_chunk(prev: str, tag: str, prev_type: str, kind: str) -> bool:
    end = prev in ("E", "S")
    end |= (prev, tag) in {("B", "B"), ("B", "S"), ("B", "O"), ("I", "B"), ("I", "S"), ("I", "O")}
    return end or (prev != "O" and prev_type != kind)


def start_of_chunk(prev: str, tag: str, prev_type: str, kind: str) -> bool:
    start = tag in ("B", "S")
    start |= (prev, tag) in {("E", "E"), ("E", "I"), ("S", "E"), ("S", "I"), ("O", "E"), ("O", "I")}
    return start or (tag != "O" and prev_type != kind)


def counts(gold: list[list[str]], guessed: list[list[str]]) -> dict[str, tuple[int, int, int]]:
    """Correct, guessed and gold chunks of each type."""
    correct_chunks: Counter[str] = Counter()
    found_gold: Counter[str] = Counter()
    found_guessed: Counter[str] = Counter()
    in_correct = False
    last_g, last_g_type, last_p, last_p_type = "O", "", "O", ""
    lines: list[tuple[str, str]] = []
    for gold_sentence, guessed_sentence in zip(gold, guessed, strict=True):
        lines += zip(gold_sentence, guessed_sentence, strict=True)
        lines.append(("O", "O"))  # sentence breaks count as out of chunk
    for gold_tag, guessed_tag in lines:
        g, g_type = split(gold_tag)
        p, p_type = split(guessed_tag)
        gold_ends = end_of_chunk(last_g, g, last_g_type, g_type)
        guessed_ends = end_of_chunk(last_p, p, last_p_type, p_type)
        if in_correct:
            if gold_ends and guessed_ends and last_p_type == last_g_type:
                in_correct = False
                correct_chunks[last_g_type] += 1
            elif gold_ends != guessed_ends or p_type != g_type:
                in_correct = False
        gold_starts = start_of_chunk(last_g, g, last_g_type, g_type)
        guessed_starts = start_of_chunk(last_p, p, last_p_type, p_type)
        if gold_starts and guessed_starts and p_type == g_type:
            in_correct = True
        found_gold[g_type] += gold_starts
        found_guessed[p_type] += guessed_starts
        last_g, last_g_type, last_p, last_p_type = g, g_type, p, p_type
    types = {name for name in found_gold | found_guessed if name}
    return {t: (correct_chunks[t], found_guessed[t], found_gold[t]) for t in sorted(types)}


def chunks(tags: list[str]) -> list[tuple[int, int, str]]:
    """(start, end, type) of each chunk of one sentence."""
    found, start = [], -1
    prev, prev_type = "O", ""
    for i, tag in enumerate([*tags, "O"]):
        this, kind = split(tag)
        if start >= 0 and end_of_chunk(prev, this, prev_type, kind):
            found.append((start, i, prev_type))
            start = -1
        if start_of_chunk(prev, this, prev_type, kind):
            start = i
        prev, prev_type = this, kind
    return found
