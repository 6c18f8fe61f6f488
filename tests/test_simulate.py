"""Simulated annotators: legal, reproducible, independent of order, and as bad as they are said to be."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.spans import extract
from seqtruth.errors import ParameterError
from seqtruth.metrics import annotator_scores
from seqtruth.simulation import DEFAULT_CAST, VICES, Annotator, parse, simulate
from strategies import crowds, spelled

TYPES = ("LOC", "ORG", "PER")
shares = st.sampled_from([0.0, 0.3, 1.0])
people = st.builds(
    Annotator,
    name=st.just("x"),
    miss=shares,
    boundary=shares,
    confuse=shares,
    invent=shares,
    spam=st.booleans(),
    coverage=st.sampled_from([0.3, 1.0]),
)


@st.composite
def casts(draw) -> tuple[Annotator, ...]:
    """One to four annotators, the later of whom may copy earlier ones."""
    cast: list[Annotator] = []
    for i, one in enumerate(draw(st.lists(people, min_size=1, max_size=4))):
        source = draw(st.sampled_from([None, *(other.name for other in cast)]))
        cast.append(replace(one, name=f"a{i}", copies=source))
    return tuple(draw(st.permutations(cast)))


golds = crowds(max_workers=1)


def a_gold(n: int = 3000, seed: int = 1, plain: bool = False) -> Crowd:
    """Sentences of twelve tokens with three spans each of one to three tokens."""
    rng = np.random.default_rng(seed)
    tokens = [["Word" if rng.random() < 0.3 else "word" for _ in range(12)] for _ in range(n)]
    tags = []
    for _ in range(n):
        row = ["O"] * 12
        for first in (0, 4, 8):
            kind = TYPES[rng.integers(3)]
            for k in range(rng.integers(1, 4)):
                row[first + k] = f"{'I' if k else 'B'}-{kind}"
        tags.append([tag.partition("-")[2] or "O" for tag in row] if plain else row)
    return Crowd.of({"gold": tags}, tokens, "plain" if plain else "iob2")


@given(golds, casts(), st.integers(0, 3), st.sampled_from([0.0, 0.5, 1.0]))
@settings(deadline=None)
def test_every_row_is_legal_and_on_sentences_with_gold(gold, cast, seed, difficulty):
    crowd = simulate(gold, cast, seed=seed, difficulty=difficulty)
    scheme = crowd.scheme
    assert scheme == gold.scheme
    assert crowd.annotators == tuple(one.name for one in cast)
    has_gold = {s for (s, _), tags in spelled(gold).items() if not tags or set(tags) != {None}}
    for (sentence, _), tags in spelled(crowd).items():
        assert sentence in has_gold or not tags
        numbers = [scheme.index(tag) for tag in tags if tag is not None]
        if scheme.kind == "plain" or not tags:
            continue
        assert None not in tags
        assert scheme.start[numbers[0]] and scheme.end[numbers[-1]]
        assert all(scheme.allowed[a, b] for a, b in itertools.pairwise(numbers))


@given(golds, casts(), st.integers(0, 3))
@settings(deadline=None)
def test_the_same_seed_gives_the_same_bytes(gold, cast, seed):
    assert simulate(gold, cast, seed=seed).digest() == simulate(gold, cast, seed=seed).digest()


@given(golds, casts(), st.data())
@settings(deadline=None)
def test_order_and_company_do_not_matter(gold, cast, data):
    whole = spelled(simulate(gold, cast, seed=7))
    chosen = data.draw(st.permutations(range(gold.n_sentences)))
    chosen = chosen[: data.draw(st.integers(1, gold.n_sentences))]
    mixed = data.draw(st.permutations(cast))
    part = simulate(gold[np.array(chosen)], mixed, seed=7)
    kept = set(part.corpus.sentence_ids.to_pylist())
    assert spelled(part) == {key: tags for key, tags in whole.items() if key[0] in kept}


@given(golds, casts())
@settings(deadline=None)
def test_a_copier_hands_in_what_his_source_wrote(gold, cast):
    said = spelled(simulate(gold, cast, seed=3))
    for one in cast:
        for (sentence, name), tags in said.items():
            if name == one.name and (sentence, one.copies) in said:
                assert tags == said[sentence, one.copies]


@given(golds)
@settings(deadline=None)
def test_a_faultless_annotator_writes_the_gold(gold):
    crowd = simulate(gold, [Annotator(name="saint")])
    truth, mine = gold.labelling(), crowd.labelling()
    for a, b in zip(
        extract(truth.tags, gold.corpus.token_offsets, gold.scheme),
        extract(mine.tags, gold.corpus.token_offsets, gold.scheme),
        strict=True,
    ):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("difficulty", [0.0, 0.6])
@pytest.mark.parametrize("rate", ["miss", "boundary", "confuse"])
def test_rates_are_what_they_are_said_to_be(rate, difficulty):
    gold = a_gold()
    crowd = simulate(gold, [Annotator(name="x", **{rate: 0.3})], difficulty=difficulty)
    scores = annotator_scores(crowd, gold)
    assert scores.recall[0] == pytest.approx(0.7, abs=0.02)
    assert scores.precision[0] == pytest.approx(1.0 if rate == "miss" else 0.7, abs=0.02)


def test_a_capitalised_word_tempts_the_inventor():
    gold = a_gold()
    crowd = simulate(gold, [Annotator(name="x", invent=0.4)])
    marked = crowd.tags != crowd.scheme.outside
    outside = gold.tags == gold.scheme.outside
    capital = np.array([word == "Word" for word in gold.corpus.tokens.to_pylist()])
    assert 0.35 < marked[outside & capital].mean() < 0.5
    # one word in twenty of the others, and the second half of spans that began before them
    assert marked[outside & ~capital].mean() < 0.15


def test_confusion_follows_the_swaps():
    gold = a_gold(300)
    one = Annotator(
        name="x", confuse=1.0, swaps=(("ORG", "LOC"), ("LOC", "ORG"), ("PER", "nobody"))
    )
    crowd = simulate(gold, [one])
    true = extract(gold.tags, gold.row_offsets, gold.scheme).type
    taken = extract(crowd.tags, crowd.row_offsets, crowd.scheme).type
    pairs = set(zip([TYPES[t] for t in true], [TYPES[t] for t in taken], strict=True))
    assert pairs == {("ORG", "LOC"), ("LOC", "ORG"), ("PER", "LOC"), ("PER", "ORG")}


def test_hard_places_are_hard_for_everybody():
    gold = a_gold(1000)
    twins = [Annotator(name="a", miss=0.5), Annotator(name="b", miss=0.5)]

    def together(difficulty: float) -> float:
        crowd = simulate(gold, twins, difficulty=difficulty)
        a, b = (crowd.labelling(w).tags == crowd.scheme.outside for w in (0, 1))
        return float((a == b).mean())

    assert together(0.0) < together(0.5) < together(1.0) == 1.0


def test_plain_tags_are_confused():
    gold = a_gold(800, plain=True)
    crowd = simulate(gold, "careful/confuse=0.3/miss=0.9,spammer")
    same = [(crowd.labelling(w).tags == gold.labelling().tags).mean() for w in (0, 1)]
    assert same[0] == pytest.approx(0.7, abs=0.02)
    assert same[1] == pytest.approx(1 / 4, abs=0.03)


@given(st.integers(1, 8), st.integers(0, 3))
@settings(deadline=None, max_examples=20)
def test_so_many_annotators_label_each_document(n, seed):
    corpus = Corpus.of([["Ann"]] * 40, documents=[f"d{i // 4}" for i in range(40)])
    gold = Crowd.build(corpus, ["O", "B-PER"], ["gold"], range(40), [0] * 40, [0, 1] * 20, "iob2")
    crowd = simulate(gold, seed=seed, per_sentence=n)
    seen = np.zeros((40, crowd.n_annotators), bool)
    seen[crowd.row_sentence, crowd.row_annotator] = True
    assert (seen.sum(axis=1) == n).all()
    assert all((seen[i] == seen[i - i % 4]).all() for i in range(40))


def test_coverage_is_a_share_of_documents_or_a_chance():
    gold = a_gold(2000)
    cast = [Annotator(name="busy", coverage=0.2), *(Annotator(name=f"free-{i}") for i in range(3))]
    alone = simulate(gold, cast)
    assert alone.annotator_sentences[0] == pytest.approx(400, abs=60)
    assert (alone.annotator_sentences[1:] == 2000).all()
    drawn = simulate(gold, cast, per_sentence=2).annotator_sentences
    assert drawn[0] < drawn[1:].min() / 2


def test_a_recipe_in_words():
    cast = parse("careful:2, misser/miss=0.7/coverage=0.5,copier:2,spammer,copier/copies=careful-2")
    assert [one.name for one in cast] == [
        "careful-1", "careful-2", "misser", "copier-1", "copier-2", "spammer", "copier-3",
    ]  # fmt: skip
    assert (cast[2].miss, cast[2].coverage) == (0.7, 0.5)
    assert [cast[i].copies for i in (3, 4, 6)] == ["misser", "misser", "careful-2"]
    assert cast[0] == replace(VICES["careful"], name="careful-1")
    assert 6 <= len(parse(DEFAULT_CAST)) <= 8


@pytest.mark.parametrize(
    ("recipe", "says"),
    [
        ("clever", "a recipe is made of"),
        ("", "a recipe is made of"),
        ("careful:0", "a count follows"),
        ("careful:x", "a count follows"),
        ("careful/speed=2", "settings in a recipe"),
        ("careful/miss=much", "must be a number"),
        ("careful/miss=1.5", "share from 0 to 1"),
        ("careful/miss=nan", "share from 0 to 1"),
        ("careful/coverage=0", "share from 0 to 1"),
        ("copier,careful", "somebody to copy"),
    ],
)
def test_a_wrong_recipe_says_what_is_wrong(recipe, says):
    with pytest.raises(ParameterError, match=says):
        parse(recipe)


def test_wrong_arguments_say_what_is_wrong():
    gold = a_gold(2)
    a, b = Annotator(name="a", copies="b"), Annotator(name="b", copies="a")
    for arguments, says in [
        (([],), "at least one"),
        (([b, b],), "unique"),
        (([a, b],), "circle"),
        (([a],), "must copy one of the cast"),
        (("careful", 0), "per_sentence"),
        (("careful", 2), "per_sentence"),
    ]:
        cast, *rest = arguments
        with pytest.raises(ParameterError, match=says):
            simulate(gold, cast, per_sentence=rest[0] if rest else None)
    with pytest.raises(ParameterError, match="difficulty"):
        simulate(gold, "careful", difficulty=2.0)
