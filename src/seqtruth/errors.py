"""Errors and warnings: each says what is wrong, where, what was found and what to do."""

from __future__ import annotations


class SeqTruthError(Exception):
    """Base of every error SeqTruth raises on purpose.

    Parameters
    ----------
    what : the fault, as a short clause.
    where : the place, as ``file:line`` or a sentence id.
    got : what was found instead.
    fix : what the user can do.
    """

    def __init__(
        self, what: str, *, where: str | None = None, got: str | None = None, fix: str | None = None
    ) -> None:
        self.what, self.where, self.got, self.fix = what, where, got, fix
        text = f"{where}: {what}" if where else what
        if got:
            text += f"; got {got}"
        if fix:
            text += f"; {fix}"
        super().__init__(text)


class InputError(SeqTruthError):
    """A file, frame or saved result cannot be read as what it is said to be."""


class DataError(SeqTruthError):
    """Arrays handed to a constructor do not describe a crowd."""


class ParameterError(SeqTruthError, ValueError):
    """A hyper-parameter or argument is outside its range."""


class MissingExtraError(SeqTruthError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}", fix=f"pip install 'seqtruth[{extra}]'"
        )


class KernelsError(SeqTruthError, ImportError):
    """The compiled kernels are not there, or are not those of the source."""


class MissingToolError(SeqTruthError):
    """A program, model or server outside Python is not there or does not work."""


class SeqTruthWarning(UserWarning):
    """Base of every warning SeqTruth gives."""


class ConvergenceWarning(SeqTruthWarning):
    """An iterative method stopped before it converged, or its objective rose."""


class DataWarning(SeqTruthWarning):
    """The input is usable but something about it deserves a look."""


class PluginWarning(SeqTruthWarning):
    """A method, predictor or format of another package cannot be used."""
