"""The command line: parse, call, print.

Exit codes: 0 done; 1 a fault of ours (please report it); 2 bad input or usage, nothing written;
130 interrupted (finished rounds are kept where ``--checkpoint`` was given).
"""

from __future__ import annotations

import errno
import io
import os
import re
import sys
import warnings
from contextlib import suppress
from typing import Any, TextIO

from seqtruth.cli.display import note
from seqtruth.errors import InputError, SeqTruthError, SeqTruthWarning


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns the exit code (and leaves with it when run as a program)."""
    _stand_in_for_closed()
    warnings.simplefilter("always", SeqTruthWarning)
    warnings.showwarning = _show_warning
    try:
        from seqtruth.cli.app import app

        _plain_help()
        stopped = app(args=arguments, standalone_mode=False)  # the parser catches Ctrl-C itself
        sys.stdout.flush()
        code = stopped if isinstance(stopped, int) else 0
    except SeqTruthError as error:
        note(f"error: {_as_options(_with_read_options(error))}")
        code = 2
    except KeyboardInterrupt:
        code = 130
    except MemoryError:
        code = _too_little_memory()
    except BrokenPipeError:
        _drop_stdout()
        code = 0
    except OSError as error:
        _drop_stdout()
        place = "" if error.filename is None else f"{error.filename}: "
        note(f"error: {place}{error.strerror or error}")
        code = 2
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
        if isinstance(stop.__context__, BrokenPipeError):  # the parser makes it an exit with 1
            _drop_stdout()
            code = 0
    except Exception as error:
        code = _too_little_memory() if _NO_MEMORY.search(str(error)) else _usage(error)
    if code == 130:
        note("interrupted")
    if isinstance(getattr(sys.stdout, "buffer", None), _Closed):
        sys.stdout = None  # as it was; leaving does not fail over it
    if arguments is None:
        sys.exit(code)
    return code


#: How libraries, the loader of libraries and the system say it where they have no MemoryError.
_NO_MEMORY = re.compile(
    r"failed to map segment|[Cc]annot allocate memory|can't start new thread|[Oo]ut of memory|bad_alloc"
)


def _too_little_memory() -> int:
    note(
        "error: not enough memory; try --engine stream, a method without a predictor, or fewer documents"
    )
    return 2


def _as_options(text: str) -> str:
    """The library's words for its arguments as those of the command line.

    >>> _as_options("cannot tell the format; give format=, one of conll, jsonl")
    'cannot tell the format; give --from, one of conll, jsonl'
    >>> _as_options("fetch it again with force=True")
    'fetch it again with --force'
    """
    names = "format|given|force|scheme|gold|checkpoint|resume|abstain|data_dir|overlap|retrain"
    own = {"format": "from", "given": "from"}
    return re.sub(
        rf"\b({names})=(?:'(\w+)'|True)?(?=[\s,;.)]|$)",
        lambda found: (
            "--"
            + own.get(found[1], found[1].replace("_", "-"))
            + (f" {found[2]}" if found[2] else "")
        ),
        text,
    )


#: Options of readers that messages name; ``--read`` hands them over.
_OF_READERS = "|".join(
    ("layer", "feature", "text_key", "text", "texts", "tokens", "labels", "id", "annotator", "spans",
     "question", "quoting", "names", "field", "columns", "answers", "annotator_column")
)  # fmt: skip


def _with_read_options(error: SeqTruthError) -> str:
    """The message, with what a reader is to be told as the command line tells it.

    >>> _with_read_options(InputError("choose", where="a.tsv", fix="choose with layer=NAME"))
    'a.tsv: choose; choose with --read layer=NAME'
    """
    text = str(error)
    if not isinstance(error, InputError) or not error.fix or not text.endswith(error.fix):
        return text
    fix = re.sub(rf"(?<![\w.(#-])({_OF_READERS})=", r"--read \1=", error.fix)
    fix = re.sub(r"""(?<![\w.(#-])overlap=["'](\w+)["']""", r"--overlap \1", fix)
    return text.removesuffix(error.fix) + fix


class _Closed(io.BufferedIOBase):
    """Standard output that was closed before we began: whoever writes to it is told."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        raise OSError(errno.EBADF, "standard output is closed")


def _stand_in_for_closed() -> None:
    """Closed standard streams: no file may be opened in their place, and errors must not need them."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(_Closed(), "utf-8", write_through=True)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115


def _drop_stdout() -> None:
    """Nobody reads on: what is still buffered goes nowhere, and leaving does not fail over it."""
    with suppress(OSError, ValueError):  # not a real file: there is nothing to drop
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _plain_help() -> None:
    """With NO_COLOR set, help and usage errors have no styles either."""
    if os.environ.get("NO_COLOR"):
        from typer import rich_utils

        rich_utils.COLOR_SYSTEM = None


def _usage(error: Exception) -> int:
    """Exit code of the parser's own errors; anything else is ours and is raised."""
    show = getattr(error, "show", None)
    if show is not None:
        show()
        return 2
    if type(error).__name__ == "Abort":
        return 130
    if type(error).__name__ == "Exit":
        return int(getattr(error, "exit_code", 0))
    raise error


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    if issubclass(category, SeqTruthWarning):
        note(f"warning: {message}")
