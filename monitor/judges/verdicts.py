"""What a judge wrote -> one verdict for each turn that was asked about. Pure; never raises.

| what was written | what it is |
|---|---|
| one clear answer under the turn's index | `yes` or `no` |
| nothing, two answers, an unclear or impossible one | `unscored`, each with a reason of its own |
| answers under indexes that were not asked about | ignored |
| all answers under indexes moved by the same distance, or counted through from 0 or 1 | every turn `unscored` |

Answers are compared as whole words: "irrelevant" is never found to be "relevant".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

from connectors.inputs import Verdict
from monitor.judges.reply_json import CLASH, MAX_REPLY, Trouble, find_json
from monitor.judges.sentences import one_sentence

YES: Final = {"yes", "true", "relevant"}
NO: Final = {"no", "false", "irrelevant", "not relevant"}

TROUBLE: Final[dict[Trouble, str]] = {
    "empty": "the judge's answer is empty",
    "cut": "the judge's answer is cut off",
    "broken": "the judge's answer is broken JSON",
    "no_json": "the judge's answer holds no JSON",
    "too_long": f"the judge's answer is longer than {MAX_REPLY} characters",
}


class _Answer(NamedTuple):
    """One entry of the reply. `turn`: its index, or None where it has none. `unclear`: why there is no verdict."""

    turn: int | None
    verdict: Literal["yes", "no"] | None
    reason: str | None
    unclear: str | None = None


def read_verdicts(text: str, asked: Sequence[int], include_reason: bool = True) -> tuple[Verdict, ...]:
    """A verdict for each turn index of `asked`, in that order, out of a language model's reply."""
    found = find_json(text)
    answers = [answer for value in found.values for answer in _answers(value)]
    if not answers and found.trouble is not None:
        return tuple(Verdict(index, "unscored", TROUBLE[found.trouble]) for index in asked)
    if len(answers) == len(asked) == 1 and answers[0].turn is None:
        answers = [answers[0]._replace(turn=asked[0])]
    if _moved([answer.turn for answer in answers if answer.turn is not None], asked):
        reason = "the judge's answers are not about the turns that it was asked about"
        return tuple(Verdict(index, "unscored", reason) for index in asked)
    verdicts = (_verdict(index, [answer for answer in answers if answer.turn == index]) for index in asked)
    return tuple(verdicts if include_reason else (_bare(verdict) for verdict in verdicts))


def nothing_in(text: str) -> str | None:
    """Why a reply holds not one entry on a turn, clear or unclear; None where it holds some."""
    found = find_json(text)
    entries = (entry for value in found.values for entry in _entries(value, "verdicts"))
    if any(entry.keys() & {"index", *_FIELDS} for entry in entries):
        return None
    return TROUBLE[found.trouble] if found.trouble else "the judge's answer holds no verdict"


def read_reasons(text: str, asked: Sequence[int]) -> dict[int, str]:
    """The reason for each turn index of `asked` that the reply gives exactly one for."""
    reasons: dict[int, str] = {}
    doubled: set[int] = set()
    for entry in (entry for value in find_json(text).values for entry in _entries(value, "reasons")):
        index, reason = _index(entry.get("index")), one_sentence(entry.get("reason"))
        if index is None and len(asked) == 1:
            index = asked[0]
        if index in asked and index is not None and reason:
            doubled |= {index} if index in reasons else set()
            reasons[index] = reason
    return {index: reason for index, reason in reasons.items() if index not in doubled}


def settled(verdicts: Iterable[Verdict], asked: Iterable[int]) -> dict[int, Verdict]:
    """What any judge gave, held to the rules: for each index that was asked about and got anything, one verdict."""
    given: dict[int, list[Verdict]] = {index: [] for index in asked}
    for verdict in verdicts:
        if verdict.index in given:
            given[verdict.index].append(verdict)
    return {
        index: ones[0] if len(ones) == 1 else Verdict(index, "unscored", _doubled({one.verdict for one in ones}))
        for index, ones in given.items()
        if ones
    }


def _verdict(index: int, answers: list[_Answer]) -> Verdict:
    if not answers:
        return Verdict(index, "unscored", "the judge's answer leaves out this turn")
    if len(answers) > 1:
        return Verdict(index, "unscored", _doubled({answer.verdict for answer in answers}))
    answer = answers[0]
    if answer.verdict is None:
        return Verdict(index, "unscored", answer.unclear)
    return Verdict(index, answer.verdict, answer.reason if answer.verdict == "no" else None)


def _doubled(verdicts: set[Any]) -> str:
    return "the judge contradicts itself on this turn" if len(verdicts) > 1 else "the judge answers twice on this turn"


def _bare(verdict: Verdict) -> Verdict:
    return verdict if verdict.verdict == "unscored" else Verdict(verdict.index, verdict.verdict)


def _moved(given: list[int], asked: Sequence[int]) -> bool:
    """Whether the indexes of the answers are those that were asked about, moved or counted anew: then even the ones
    that look right are not. One foreign index among right ones is only itself wrong."""
    wanted = set(asked)
    foreign = next((index for index in given if index not in wanted), None)
    if foreign is None:
        return False
    counted = any(given == list(range(first, first + len(given))) for first in (0, 1)) and len(given) <= len(asked)
    distances = [foreign - index for index in wanted]
    return counted or any(all(index - distance in wanted for index in given) for distance in distances)


def _answers(value: Any) -> Iterator[_Answer]:
    for entry in _entries(value, "verdicts"):
        yield _answer(entry)


def _entries(value: Any, name: str) -> Iterator[dict[str, Any]]:
    """The entries of one JSON value: under `name`, as a bare list, by index (`{"3": "yes"}`), or a single one."""
    if isinstance(value, dict) and name in value:
        value = value[name]
    if isinstance(value, list):
        yield from (entry for entry in value if isinstance(entry, dict))
    elif isinstance(value, dict):
        by_index = {key: inner for key, inner in value.items() if _index(key) is not None}
        if not by_index:
            yield value
        for key, inner in by_index.items():
            word = name.removesuffix("s")
            yield {**inner, "index": key} if isinstance(inner, dict) else {"index": key, word: inner}


_FIELDS = ("verdict", "relevant", "score")


def _answer(entry: dict[str, Any]) -> _Answer:
    index, reason = _index(entry.get("index")), one_sentence(entry.get("reason"))
    read = [_word(entry[field]) for field in _FIELDS if field in entry]
    words = {word for word, _ in read if word is not None}
    if len(words) > 1 or any(entry[field] is CLASH for field in _FIELDS if field in entry):
        return _Answer(index, None, reason, "the judge contradicts itself on this turn")
    unclear = next((why for word, why in read if word is None), None if read else "the judge gives no verdict here")
    if unclear is not None:
        return _Answer(index, None, reason, unclear)
    return _Answer(index, words.pop(), reason)


def _word(value: Any) -> tuple[Literal["yes", "no"] | None, str | None]:
    """A single answer, or why it is none. Numbers are probabilities."""
    if isinstance(value, str):
        word = " ".join(value.casefold().strip(" \t\n.,;:!\"'*_").replace("_", " ").replace("-", " ").split())
        if word in YES:
            return "yes", None
        if word in NO:
            return "no", None
        try:
            value = float(word)
        except ValueError:
            return None, f'the judge says neither yes nor no but "{one_sentence(word, 40) or ""}"'
    if isinstance(value, bool):
        return ("yes" if value else "no"), None
    if not isinstance(value, int | float):
        return None, "the judge says neither yes nor no"
    if isinstance(value, float) and not math.isfinite(value):
        return None, "the judge gives a score that is no number"
    if not 0 <= value <= 1:
        return None, "the judge gives a score outside of 0 to 1"
    return ("yes" if value >= 0.5 else "no"), None


def _index(value: Any) -> int | None:
    if isinstance(value, str):
        digits = value.casefold().strip().removeprefix("turn").strip(" #:")
        return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
