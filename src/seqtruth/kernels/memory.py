"""Memory between two large pieces of work."""

from __future__ import annotations

import pyarrow as pa

from seqtruth.kernels.native import call


def give_back() -> None:
    """Give memory that is free back to the system.

    Otherwise what one piece of work needed for a moment stays with the process, in holes too small for the
    arrays of the next.
    """
    pa.default_memory_pool().release_unused()
    call("give_back", 0)
