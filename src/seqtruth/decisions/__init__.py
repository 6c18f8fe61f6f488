"""What people decide by: what to accept, what to label next, whom to trust, and why."""

from __future__ import annotations

from seqtruth.decisions.update import check_updatable, update

__all__ = ["check_updatable", "update"]
