"""Formats that hold one labelling per text: whose it is."""

from __future__ import annotations

from seqtruth.errors import ParameterError
from seqtruth.io.documents import Document, Notes, Opinion


def one_voice(document: Document, annotator: object, notes: Notes) -> Opinion | None:
    """The named annotator's opinion, or the only one; None where there is none.

    The last one counts where an annotator has several. Where nobody is named and there are several
    annotators, the error lists them.
    """
    found = [o for o in document.opinions if annotator is None or o.annotator == annotator]
    names = list(dict.fromkeys(opinion.annotator for opinion in found))
    if len(names) > 1:
        raise ParameterError(
            "the format holds one annotator's labels, and there are several",
            where=document.where or document.id,
            got=", ".join(names)[:100],
            fix="aggregate them first, or name one with annotator=",
        )
    if len(found) > 1:
        notes.left_out("earlier labelling by the same annotator", document.where or document.id)
    opinion = found[-1] if found else None
    if opinion is not None and opinion.seen is not None:
        notes.left_out("part that was not seen", document.where or document.id)
    if opinion is not None and opinion.time is not None:
        notes.left_out("time of labelling", document.where or document.id)
    return opinion
