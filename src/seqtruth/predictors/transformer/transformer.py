"""A pretrained transformer that takes weights and soft labels and can go on learning."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from seqtruth.archive import Arrays
from seqtruth.data.corpus import Corpus
from seqtruth.data.scheme import Scheme
from seqtruth.errors import DataError, ParameterError
from seqtruth.kernels.arrays import F32, F64, I64
from seqtruth.kernels.chain import Chain
from seqtruth.predictors.base import Targets, Tokens, as_corpus, own_order
from seqtruth.predictors.torch.lesson import OUTPUTS, Lesson, chain_of, probabilities
from seqtruth.predictors.torch.lexicon import Schedule

if TYPE_CHECKING:
    from torch import Tensor

    from seqtruth.predictors.transformer.body import Body

CHOICES = {
    "output": OUTPUTS,
    "case": ("auto", "on", "off"),
    "precision": ("auto", "float32", "bf16"),
}


@dataclass
class Transformer:
    """Any Hugging Face encoder, fine-tuned, a CRF on top (needs transformers and torch).

    h = transformer(pieces of the words + case of their words),   s_i = W h_first(i),
    p(y | x) ∝ exp( a[y_1] + Σ_i s_i[y_i] + Σ_i A[y_i, y_{i+1}] + b[y_n] )

    first(i) is the first piece of word i. Training minimises Σ_s weight_s · E_{y~target}[-log p(y |
    x_s)] by Adam on a one-cycle schedule, the transformer at a lower rate than what is new. Soft
    targets and missing tags are treated as in :class:`~seqtruth.predictors.BiLSTM`. Sentences longer
    than the model reads at once are read in windows that overlap by half, each word in the one where
    it has the most context. Calling :meth:`fit` again goes on from the present parameters, at half
    the rates.

    Parameters
    ----------
    checkpoint : folder of a checkpoint, or its name on the hub. Only fast tokenizers and safetensors
        weights are opened; code and pickles in a checkpoint are refused.
    output : ``"crf"``, or ``"softmax"``: every token for itself, p(y_i | x) ∝ exp s_i[y_i].
    epochs, further_epochs : passes over the data in the first and in later calls of ``fit`` (a
        pass over few sentences is repeated until it has made 40 steps).
    learning_rate, head_rate : peaks of the schedule, for the transformer and for what is new: label
        scores, chain and case vectors.
    dropout : share of the last states left out while training; inside, the checkpoint's own.
    batch_size : sentences of about one length read together.
    case : whether how a word is written (Title, UPPER, …) is added to the vectors of its pieces:
        ``"on"``, ``"off"``, or ``"auto"``: where the tokenizer takes A and a for the same.
    device : ``"auto"`` (a GPU where there is one) or what torch calls it: ``"cpu"``, ``"cuda:1"``.
    precision : ``"float32"``, ``"bf16"``, or ``"auto"``: bf16 where the hardware multiplies it
        itself. Without such hardware it is two to four times slower than float32.
    threads : of the CPU. Two make even a small model (MiniLM) 1.9 times as fast; with one, the bytes for
        a seed do not depend on the number of cores, and the other cores are left to other work.
    seed : initial values, batches, dropout.

    Notes
    -----
    *Differs from the paper.* AggSLC names BERT as its model, not which one nor what is on top of it; the
    chain is our choice, and ``output="softmax"`` does without.

    References
    ----------
    Devlin et al. (2019), BERT: pre-training of deep bidirectional transformers for language
    understanding, NAACL. doi:10.18653/v1/N19-1423
    """

    name: ClassVar[str] = "transformer"
    extra: ClassVar[str] = "transformers"

    checkpoint: str = "bert-base-cased"
    output: str = "crf"
    epochs: int = 4
    further_epochs: int = 2
    learning_rate: float = 5e-5
    head_rate: float = 2e-3
    dropout: float = 0.1
    batch_size: int = 16
    case: str = "auto"
    device: str = "auto"
    precision: str = "auto"
    threads: int = 1
    seed: int = 0
    scheme: Scheme | None = field(default=None, init=False, repr=False)
    _body: Body | None = field(default=None, init=False, repr=False)
    _fits: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        self.checkpoint = str(self.checkpoint)
        for setting, known in CHOICES.items():
            value = getattr(self, setting)
            if value not in known:
                raise ParameterError(
                    f"{setting} must be one of {', '.join(known)}", got=repr(value)
                )
        for setting in (
            "epochs", "further_epochs", "learning_rate", "head_rate", "batch_size", "threads",
        ):  # fmt: skip
            if not getattr(self, setting) > 0:
                raise ParameterError(f"{setting} must be positive", got=str(getattr(self, setting)))
        if not 0 <= self.dropout < 1:
            raise ParameterError("dropout must be in [0, 1)", got=str(self.dropout))

    def clone(self) -> Transformer:
        return replace(self)

    def fit(
        self,
        tokens: Tokens,
        tags: Targets,
        *,
        scheme: Scheme | None = None,
        weights: F64 | None = None,
    ) -> Self:
        lesson = Lesson.of(tokens, tags, scheme, weights)
        body = self._prepare(lesson.scheme)
        import torch

        from seqtruth.predictors.torch.training import Trainer

        epochs, part = (self.further_epochs, 0.5) if self._fits else (self.epochs, 1.0)
        own = {n: p for n, p in body.own.items() if n != "chain" or self.output == "crf"}
        trainer = Trainer(
            [(body.pretrained, part * self.learning_rate), (own, part * self.head_rate)]
        )
        coded = body.reader.encode(lesson.corpus)
        schedule = Schedule(np.where(lesson.used, coded.lengths, 0), self.batch_size)
        share = lesson.share(schedule)

        def loss_of(places: I64) -> Tensor:
            torch.set_num_threads(self.threads)  # the trainer sets one, and puts things back after
            batch = body.batch(coded, places)
            scores = body.scores(batch, self.dropout)
            return share * lesson.loss(self.output, body.chain, batch, scores)

        body.model.train()
        steps = schedule.in_epoch
        for epoch in range(epochs):
            rng = np.random.default_rng([self.seed, self._fits, epoch])
            with torch.random.fork_rng(devices=[body.device] if body.device.type == "cuda" else []):
                torch.manual_seed(int(rng.integers(2**62)))  # for dropout inside the transformer
                trainer.epoch(schedule.epoch(rng), loss_of, epoch * steps, epochs * steps)
        self._fits += 1
        return self

    def _prepare(self, scheme: Scheme) -> Body:
        """The network, loaded where this is the first training."""
        if self.scheme is not None and scheme != self.scheme:
            raise DataError("further training must keep the labels of the first")
        if self._body is None:
            from seqtruth.predictors.transformer.checkpoint import load

            model, reader = load(self.checkpoint)
            from seqtruth.predictors.transformer.body import Body

            case = reader.lowers if self.case == "auto" else self.case == "on"
            body = Body(model, reader, len(scheme.labels), case=case)
            body.initialise(np.random.default_rng([self.seed, self._fits]))
            body.move(self.device, self.precision)
            self._body = body
        self.scheme = scheme
        return self._body

    def predict_proba(self, tokens: Tokens) -> F32:
        corpus = as_corpus(tokens)
        scores = self._scores(corpus)
        assert self._body is not None
        return probabilities(self.output, self._body.chain, scores, corpus.token_offsets)

    def potentials(self, tokens: Tokens) -> tuple[F32, Chain]:
        """Label scores float32[T, L] and the label chain: all that p(y | x) is made of."""
        scores = self._scores(as_corpus(tokens))
        assert self._body is not None
        return scores, chain_of(self.output, self._body.chain)

    def _scores(self, corpus: Corpus) -> F32:
        if self._body is None:
            raise DataError("the predictor has not been trained", fix="call fit first")
        order, flat = own_order(corpus)
        found = self._body.scores_of(self._body.reader.encode(corpus.take(order)), self.threads)
        scores = np.empty_like(found)
        scores[flat] = found
        return scores

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Settings and parameters for :mod:`seqtruth.archive`; the checkpoint is not needed again."""
        meta: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        if self.device != "cpu":
            meta["device"] = "auto"  # another machine has other devices
        if self._body is None:
            return meta, {}
        reading, arrays = self._body.state()
        meta |= {"fits": self._fits, "reading": reading, "uses_case": self._body.uses_case}
        return meta, arrays

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: Arrays, scheme: Scheme) -> Self:
        made = cls(**{f.name: meta[f.name] for f in fields(cls) if f.init})
        if "config" in arrays:
            from seqtruth.predictors.transformer.body import Body

            made.scheme, made._fits = scheme, int(meta["fits"])
            case = bool(meta["uses_case"])
            made._body = Body.from_state(meta["reading"], arrays, len(scheme.labels), case=case)
            made._body.move(made.device, made.precision)
        return made
