"""What a number stands for: a mutated input or a crafted archive, and what is done with it.

``inputs``: number n is a file of format n mod (number of formats), mutated with the generator of seed n.
``archives``: number n is a saved result, tagger or checkpoint, mutated likewise. Nothing else matters, so a
number names a finding.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from tempfile import mkdtemp

from seqtruth import io
from seqtruth.cli import describe
from seqtruth.data.crowd import Crowd
from seqtruth.errors import SeqTruthError, SeqTruthWarning
from seqtruth.history import Step
from seqtruth.methods import Accord, AggSLC, MajorityVote
from seqtruth.predictors import CRF
from tests.attack import archives, mutators
from tests.attack.opening import checkpointed, crowd, opened
from tests.attack.specimens import Specimen, specimens

CHECKPOINT = "checkpoint.seqtruth"


def input_of(number: int) -> Specimen:
    """A mutated file: one of a folder's files is changed, sometimes lost."""
    draw = Random(f"input {number}")
    formats = list(specimens())
    whole = draw.choice(specimens()[formats[number % len(formats)]])
    name = draw.choice(list(whole.files))
    files = dict(whole.files)
    if whole.folder and draw.random() < 0.05:
        del files[name]
    else:
        files[name] = mutators.mutated(files[name], draw)
    return whole._replace(files=files)


def read_input(specimen: Specimen, place: Path, deep: bool) -> str:
    """Read it as what it looks like, and as what it was; ``read`` or ``refused``."""
    path, said = specimen.put(place), "refused"
    for format in (None, specimen.format):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", SeqTruthWarning)
                found = io.read(path, format)
            said = "read"
        except SeqTruthError as error:
            if str(place) not in str(error):
                raise AssertionError(f"the message does not name the file: {error}") from error
            continue
        if deep:
            use(found, place)
    return said


def use(found: Crowd, place: Path) -> None:
    """What users do with what they have read."""
    found.digest()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = MajorityVote().fit(found)
            str(result), result.spans()
            io.write(result, place / "out.conll")
            io.write(found, place / "out.jsonl")
            io.read(place / "out.jsonl")
        except SeqTruthError:
            return


@cache
def saved() -> dict[str, archives.Members]:
    """One saved file of every kind: results, taggers, and checkpoints of every family of methods."""
    place = Path(mkdtemp(prefix="seqtruth-attack-"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = AggSLC(predictor=CRF(max_iter=5), max_iter=2).fit(crowd())
        assert result.tagger is not None
        result.save(place / "result", crowd=True)
        result.tagger.save(place / "tagger")
        # a result that keeps its model, and can go on from it
        Accord(predictor=None).fit(crowd()).save(place / "fitted", crowd=True)
        kinds = ("result", "tagger", "fitted")
        found = {kind: archives.members(place / kind) for kind in kinds}
        for kind, method in checkpointed().items():
            kept: list[archives.Members] = []

            def keep(_: Step, kept: list[archives.Members] = kept) -> None:
                kept.append(archives.members(place / CHECKPOINT))

            method.fit(crowd(), checkpoint=place, progress=keep)
            found[kind] = kept[0]
    shutil.rmtree(place)
    return found


def archive_of(number: int) -> tuple[str, Callable[[Path], Path]]:
    """A crafted archive: its kind, and what writes it into a folder."""
    draw = Random(f"archive {number}")
    kinds = list(saved())
    # results and taggers are opened in a moment and are what people send each other: every second one
    kind = kinds[number // 2 % 3] if number % 2 else kinds[number // 2 % len(kinds)]
    content = archives.mutated(saved()[kind], draw)
    damage = draw.random() < 0.15

    def put(place: Path) -> Path:
        path = archives.pack(content, place / CHECKPOINT)
        if damage:
            path.write_bytes(mutators.mutated(path.read_bytes(), draw))
        return path

    return kind, put


def read_archive(number: int, place: Path) -> str:
    """Open it, use it, and describe it as ``info`` does."""
    kind, put = archive_of(number)
    path, said = put(place), "refused"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for look in (lambda: describe.saved(path), lambda: opened(kind, path)):
            try:
                look()
                said = "read"
            except SeqTruthError as error:
                if str(place) not in str(error):
                    raise AssertionError(f"the message does not name the file: {error}") from error
    return said


def run(kind: str, number: int, place: Path) -> str:
    """Do one job in an empty folder."""
    if kind == "inputs":
        return read_input(input_of(number), place, deep=number % 8 == 0)
    return read_archive(number, place)
