"""The command line: parse, call, print.

Exit codes: 0 done; 1 a fault of ours (please report it); 2 bad input or usage, nothing written;
130 interrupted (finished rounds are kept where ``--checkpoint`` was given).
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import TextIO

from seqtruth.errors import SeqTruthError, SeqTruthWarning


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns the exit code (and leaves with it when run as a program)."""
    from seqtruth.cli.app import app

    warnings.simplefilter("always", SeqTruthWarning)
    warnings.showwarning = _show_warning
    try:
        app(args=arguments, standalone_mode=False)
        code = 0
    except SeqTruthError as error:
        print(f"error: {error}", file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        code = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    except Exception as error:
        code = _usage(error)
    if arguments is None:
        sys.exit(code)
    return code


def _usage(error: Exception) -> int:
    """Exit code of the parser's own errors; anything else is ours and is raised."""
    show = getattr(error, "show", None)
    if show is not None:
        show()
        return 2
    if type(error).__name__ == "Abort":
        print("interrupted", file=sys.stderr)
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
        print(f"warning: {message}", file=sys.stderr)
