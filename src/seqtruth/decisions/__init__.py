"""What people decide by: what to accept, what to label next, whom to trust, and why."""

from __future__ import annotations

from seqtruth.decisions.annotators import AnnotatorReport, annotators
from seqtruth.decisions.costs import Costs, Price
from seqtruth.decisions.explain import Explanation, explain
from seqtruth.decisions.next_labels import Plan, Suggestion, next_labels
from seqtruth.decisions.queue import Item, queue, sample, write_queue
from seqtruth.decisions.triage import Triage, triage
from seqtruth.decisions.update import check_updatable, update

__all__ = [
    "AnnotatorReport",
    "Costs",
    "Explanation",
    "Item",
    "Plan",
    "Price",
    "Suggestion",
    "Triage",
    "annotators",
    "check_updatable",
    "explain",
    "next_labels",
    "queue",
    "sample",
    "triage",
    "update",
    "write_queue",
]
