"""What the settings' classes say of their keys, in a form that a file or a help page can use.

A docstring explains its keys in this way, and a string right under a field goes before it:

    Sentences about the whole section.

    What these are about. `open_ms`: so long until a stretch is open. `close_ms` (counted anew after speech): so long
    without voice closes it. `low`, `high`: the edges.

An explanation goes on to the next key or to the end of its paragraph. What stands in a paragraph before its first key
is the lead of that key; in the first paragraph, and in those without a key, it is about the whole section. A section
may explain the keys of its groups, too: where a group does not do so itself, that counts.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from itertools import zip_longest
from typing import Any, NamedTuple, get_type_hints

from monitor.config import group_of

_ITEM = r"`\w+`(?: \([^()]*\))?"
_KEYS = re.compile(rf"({_ITEM}(?:(?:, and|,| and) {_ITEM})*):(?=\s|$)")
_OF_CALLERS = re.compile(r"(?:^|(?<=\. ))Raises [^.]*\.\s*")
"""A sentence for programmers; nobody who writes a file needs it."""


class Explained(NamedTuple):
    """`about`: the section. `keys`: what each key means. `leads`: what to say before a key, of it and the next ones."""

    about: str
    keys: dict[str, str]
    leads: dict[str, str]


def explained(kind: type[Any]) -> Explained:
    """What a settings' class says of itself. A key that it does not explain is missing from `keys`."""
    known = set(get_type_hints(kind))
    for group in filter(None, map(group_of, get_type_hints(kind).values())):
        known |= set(get_type_hints(group))
    about: list[str] = []
    found = Explained("", {}, {})
    for number, paragraph in enumerate(_paragraphs(kind)):
        heads = [head for head in _KEYS.finditer(paragraph) if known.issuperset(_names(head[1]))]
        lead = paragraph[: heads[0].start()].strip() if heads else paragraph
        if number == 0 or not heads:
            about.append(_sentence(lead))
        elif lead:
            found.leads[_names(heads[0][1])[0]] = _sentence(lead)
        for head, after in zip_longest(heads, heads[1:]):
            for name, remark in re.findall(r"`(\w+)`(?: \(([^()]*)\))?", head[1]):
                text = paragraph[head.end() : after.start() if after else None]
                found.keys[name] = _sentence(f"{remark}; {text.strip()}" if remark else text)
    found.keys.update(_under_fields(kind))
    return found._replace(about=" ".join(part for part in about if part))


def _paragraphs(kind: type[Any]) -> list[str]:
    text = inspect.cleandoc(kind.__doc__ or "")
    text = re.sub(r"^`\[[\w.]+\]`:\s*(\w)", lambda found: found[1].upper(), text)
    joined = (" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text))
    return [_OF_CALLERS.sub("", paragraph).strip() for paragraph in joined]


def _names(head: str) -> list[str]:
    return re.findall(r"`(\w+)`", re.sub(r"\([^()]*\)", "", head))


def _sentence(text: str) -> str:
    """As it may stand alone: it begins with a capital, unless with a word in backticks, and ends with a full stop."""
    text = text.strip().rstrip(";,. ")
    text = re.sub(r"\bNone\b", "null", text)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _under_fields(kind: type[Any]) -> dict[str, str]:
    """The strings that stand right under fields."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    told = {}
    for field, after in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(after, ast.Expr):
            text = getattr(after.value, "value", None)
            if isinstance(text, str):
                told[field.target.id] = _sentence(" ".join(text.split()))
    return told
