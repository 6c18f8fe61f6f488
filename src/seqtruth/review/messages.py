"""What the API takes: checked shapes, from which its OpenAPI description is made."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

#: Numbers of sentences and tokens; a database's integer holds them.
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
#: Texts that every database can keep: no NUL.
_KEEPABLE = r"^[^\x00]*$"
Text = Annotated[str, StringConstraints(max_length=4000, pattern=_KEEPABLE)]
Word = Annotated[str, StringConstraints(max_length=200, pattern=_KEEPABLE)]
Batch = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{8,64}$")]
Name = Annotated[str, StringConstraints(pattern=r"^[sfp]-[0-9]{1,12}$")]


class Message(BaseModel):
    """What all have in common: nothing unknown is accepted."""

    model_config = ConfigDict(extra="forbid")


class Filters(Message):
    """Which questions are wanted; see :class:`~seqtruth.review.wanted.Wanted`."""

    type: Word | None = None
    annotator: Word | None = None
    document: Word | None = None
    search: Word | None = None
    above: Annotated[float, Field(ge=0, le=1)] | None = None
    below: Annotated[float, Field(ge=0, le=1)] | None = None
    kind: Literal["sentence", "form", "pair"] | None = None


class Listing(Filters):
    """Which questions are wanted, and how many of them."""

    limit: Annotated[int, Field(ge=1, le=200)] = 30


class Sentences(Listing):
    """Which sentences are wanted: all that fit, or only those about which something was decided."""

    decided: bool = False


class Item(Message):
    """What is decided about one sentence, made on its ``version``.

    ``settled`` are ranges of tokens; left out, the whole sentence is settled. ``spans`` are first token, the
    one behind the last, and type.
    """

    sentence: Count
    version: Count
    spans: Annotated[list[tuple[Count, Count, Word]], Field(max_length=5000)]
    settled: Annotated[list[tuple[Count, Count]], Field(max_length=5000)] | None = None


class Decide(Message):
    """A decision. ``batch`` is its own name, chosen by the sender: sent twice, it is written once."""

    batch: Batch
    question: Name
    items: Annotated[list[Item], Field(min_length=1, max_length=1000)]
    comment: Text = ""
    left_out: Annotated[list[Count], Field(max_length=1000)] = []
    final: bool = False


class Aside(Message):
    """Sentences passed over, or said something about."""

    batch: Batch
    question: Name
    sentences: Annotated[list[Count], Field(min_length=1, max_length=1000)]
    comment: Text = ""


class Undo(Message):
    """Take back a batch: the last one, or the one named."""

    batch: Batch
    undoes: Batch | None = None


class Learn(Message):
    """How to learn: an update, or (``refit``) everything anew, predictor included."""

    refit: bool = False


class SignIn(Message):
    """Name and password."""

    name: Word
    password: Word


class NewUser(SignIn):
    """A user to add, or to give a new password and role."""

    role: Literal["reviewer", "lead"] = "reviewer"
