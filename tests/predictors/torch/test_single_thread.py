"""Networks on one thread each, however many train at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (make test EXTRAS=all)")


@pytest.fixture(autouse=True)
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_the_setting_comes_back_also_after_an_error() -> None:
    from seqtruth.predictors.torch.network import single_thread

    with single_thread(), single_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
    with pytest.raises(ZeroDivisionError), single_thread():
        _ = 1 / 0
    assert torch.get_num_threads() == 2


def test_a_thread_that_comes_second_is_alone_too() -> None:
    """A thread that has computed before keeps a number of its own, whatever others set."""
    from seqtruth.predictors.torch.network import single_thread

    inside, met = Event(), Barrier(2)

    def first() -> int:
        met.wait()
        with single_thread():
            inside.set()
            met.wait()
        return torch.get_num_threads()

    def second() -> list[int]:
        torch.ones(300_000).add(1)
        counts = [torch.get_num_threads()]
        met.wait()
        inside.wait()
        with single_thread():
            counts.append(torch.get_num_threads())
            met.wait()
        return counts

    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(first), pool.submit(second)]
        assert jobs[1].result(timeout=60) == [2, 1]
        jobs[0].result(timeout=60)


def test_the_last_to_leave_restores_it() -> None:
    from seqtruth.predictors.torch.network import single_thread

    met = Barrier(4)

    def work() -> None:
        with single_thread():
            met.wait()
            assert torch.get_num_threads() == 1

    with ThreadPoolExecutor(4) as pool:
        for job in [pool.submit(work) for _ in range(4)]:
            job.result(timeout=60)
    with ThreadPoolExecutor(1) as pool:  # a new thread takes the process's setting
        assert pool.submit(torch.get_num_threads).result() == 2
