"""Who annotates: rates of errors in small frozen records, and recipes that name them in words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType

from seqtruth.errors import ParameterError


@dataclass(frozen=True, kw_only=True)
class Annotator:
    """One simulated annotator.

    Parameters
    ----------
    name : unique in a cast.
    miss : share of true spans that they do not mark.
    boundary : share of the marked ones whose first or last token is wrong by one token.
    confuse : share of the marked ones that get another type (plain tags: share of tokens).
    swaps : pairs (true type, type they take it for); types not named here are confused with any
        other.
    invent : chance that a capitalised word outside all spans is marked (a twentieth of it for any
        other token).
    copies : annotator whose labels they hand in as their own, wherever that one labelled the sentence;
        elsewhere they work at the rates above.
    spam : marks at random, without reading; the rates above then mean nothing.
    coverage : share of documents they label; with ``per_sentence``, their chance against the others'.
    """

    name: str
    miss: float = 0.0
    boundary: float = 0.0
    confuse: float = 0.0
    swaps: tuple[tuple[str, str], ...] = ()
    invent: float = 0.0
    copies: str | None = None
    spam: bool = False
    coverage: float = 1.0

    def __post_init__(self) -> None:
        for rate in _RATES:
            value = getattr(self, rate)
            if not 0 <= value <= 1 or (rate == "coverage" and value == 0):
                raise ParameterError(
                    f"{rate} of annotator {self.name!r} must be a share from 0 to 1", got=str(value)
                )


_RATES = ("miss", "boundary", "confuse", "invent", "coverage")

#: The characters a recipe can name.
VICES = MappingProxyType(
    {
        "careful": Annotator(name="careful", miss=0.08, boundary=0.04, confuse=0.03, invent=0.03),
        "sloppy": Annotator(name="sloppy", miss=0.25, boundary=0.2, confuse=0.15, invent=0.1),
        "misser": Annotator(name="misser", miss=0.6, boundary=0.05, confuse=0.04, invent=0.01),
        "boundary": Annotator(name="boundary", miss=0.12, boundary=0.6, confuse=0.04, invent=0.03),
        "confuser": Annotator(name="confuser", miss=0.12, boundary=0.05, confuse=0.5, invent=0.03),
        "inventor": Annotator(name="inventor", miss=0.1, boundary=0.08, confuse=0.06, invent=0.5),
        "copier": Annotator(name="copier", miss=0.5, boundary=0.2, confuse=0.1, invent=0.05),
        "silent": Annotator(name="silent", miss=1.0),
        "spammer": Annotator(name="spammer", spam=True),
    }
)
#: The cast where none is given.
DEFAULT_CAST = "careful:2,misser,boundary,confuser,inventor,copier/copies=misser,spammer"


def parse(recipe: str) -> tuple[Annotator, ...]:
    """A cast from words: ``vice[:count][/setting=value]...``, separated by commas.

    The vices are ``careful``, ``sloppy``, ``misser``, ``boundary``, ``confuser``, ``inventor``,
    ``copier``, ``silent`` and ``spammer``. Annotators are called after their vice, numbered where
    there are several. Settings are those of :class:`Annotator`; a copier copies the last annotator
    named before them who is no copier, unless ``copies`` says whom.

    Examples
    --------
    >>> [someone.name for someone in parse("careful:2,misser/miss=0.7,copier")]
    ['careful-1', 'careful-2', 'misser', 'copier']
    >>> parse("careful:2,misser/miss=0.7,copier")[3].copies
    'misser'
    """
    wanted: list[tuple[str, Annotator]] = []
    for item in recipe.split(","):
        head, *settings = [part.strip() for part in item.split("/")]
        vice, _, count = head.partition(":")
        if vice not in VICES:
            raise ParameterError(
                f"a recipe is made of {', '.join(VICES)}", got=repr(vice),
                fix=f"write for example {DEFAULT_CAST}",
            )  # fmt: skip
        if count and (not count.isdecimal() or not 1 <= int(count) <= 10_000):
            raise ParameterError("a count follows the colon, as in careful:3", got=repr(head))
        one = VICES[vice]
        for setting in settings:
            one = _with_setting(one, setting)
        wanted += [(vice, one)] * int(count or 1)
    totals = {vice: sum(other == vice for other, _ in wanted) for vice, _ in wanted}
    numbers = dict.fromkeys(totals, 0)
    cast: list[Annotator] = []
    honest = None
    for vice, one in wanted:
        numbers[vice] += 1
        name = vice if totals[vice] == 1 else f"{vice}-{numbers[vice]}"
        if vice != "copier":
            honest = name
        elif one.copies is None:
            one = replace(one, copies=honest)
            if honest is None:
                raise ParameterError(
                    "a copier needs somebody to copy", got=repr(recipe),
                    fix="name them after the others, or write copier/copies=NAME",
                )  # fmt: skip
        cast.append(replace(one, name=name))
    return tuple(cast)


def _with_setting(one: Annotator, setting: str) -> Annotator:
    key, _, value = setting.partition("=")
    if key == "copies" and value:
        return replace(one, copies=value)
    if key not in _RATES:
        known = ", ".join([*_RATES, "copies"])
        raise ParameterError(f"settings in a recipe are {known}", got=repr(setting))
    try:
        rate = float(value)
    except ValueError:
        raise ParameterError(f"{key} must be a number", got=repr(value)) from None
    return replace(one, **{key: rate})  # type: ignore[arg-type]
