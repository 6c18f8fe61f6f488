"""Adam on a one-cycle schedule, with a state of plain arrays, in torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TypeVar

from seqtruth.archive import Arrays, under, within
from seqtruth.errors import MissingExtraError
from seqtruth.predictors.torch.network import single_thread
from seqtruth.stopping import check_stop

try:
    import torch
    from torch import Tensor
except ImportError as error:
    raise MissingExtraError("torch", "torch", "a neural tagger") from error

T = TypeVar("T")
#: Share of the steps in which the rate rises, and the rates at the ends as parts of the peak.
RISE, FIRST, LAST = 0.25, 0.1, 0.01
CLIP = 5.0


def one_cycle(at: float) -> float:
    """Learning rate, as a part of its peak, at this share of all steps.

    Rises along a cosine, then falls along one (Smith 2018, arXiv:1803.09820).

    >>> [round(one_cycle(at), 2) for at in (0.0, 0.25, 1.0)]
    [0.1, 1.0, 0.01]
    """
    if at < RISE:
        low, part = FIRST, at / RISE
    else:
        low, part = LAST, (1.0 - at) / (1.0 - RISE)
    return low + (1.0 - low) * 0.5 * (1.0 - math.cos(math.pi * part))


class Trainer:
    """Minimises a loss over batches; goes on where :meth:`arrays` left off.

    Parameters
    ----------
    groups : parameters by name, and the peak of their learning rate.
    """

    def __init__(self, groups: list[tuple[dict[str, Tensor], float]]) -> None:
        self.parameters = {name: p for part, _ in groups for name, p in part.items()}
        self.peaks = [peak for _, peak in groups]
        self.adam = torch.optim.Adam(
            [{"params": list(part.values()), "lr": peak} for part, peak in groups], fused=True
        )

    def epoch(
        self, jobs: Iterable[T], loss_of: Callable[[T], Tensor], first: int, total: int
    ) -> float:
        """One pass; its first step is number ``first`` of ``total``. Returns the sum of the losses."""
        sum_ = 0.0
        with single_thread():
            for n, job in enumerate(jobs):
                check_stop()
                rate = one_cycle(min((first + n) / max(total, 1), 1.0))
                for group, peak in zip(self.adam.param_groups, self.peaks, strict=True):
                    group["lr"] = peak * rate
                self.adam.zero_grad()
                loss = loss_of(job)
                torch.autograd.backward([loss])
                torch.nn.utils.clip_grad_norm_(list(self.parameters.values()), CLIP)
                self.adam.step()
                sum_ += float(loss.detach())
        return sum_

    def arrays(self) -> Arrays:
        """Moments and step counts of every parameter that has had a gradient."""
        out: Arrays = {}
        for name, parameter in self.parameters.items():
            state = self.adam.state.get(parameter, {})
            parts = {key: value.numpy().copy() for key, value in state.items()}
            out |= under(parts, name)
        return out

    def restore(self, arrays: Arrays) -> None:
        """Inverse of :meth:`arrays`."""
        for name, parameter in self.parameters.items():
            parts = within(arrays, name)
            if parts:
                self.adam.state[parameter] = {
                    key: torch.from_numpy(value.copy()) for key, value in parts.items()
                }
