"""The JSON Schema of each event's line, from the event types and `encode` themselves.

An event is made whose every value is a mark that stands nowhere else, and is encoded: what comes out where says under
which key each field goes, and whether as it is or in seconds. Encoded once more with nothing that may be missing, it
says which keys are always there. So a field that is added to the events or to `encode` is in the schema by itself.
"""

from __future__ import annotations

import types
from itertools import count
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from monitor.core import events
from monitor.core.encode import event_to_dict
from monitor.core.events import Event

Schema = dict[str, Any]

EVENT_TYPES: tuple[type[Event], ...] = tuple(
    kind for kind in vars(events).values() if isinstance(kind, type) and issubclass(kind, Event) and kind is not Event
)


def event_schema(kind: type[Event]) -> Schema:
    """The schema of the line of such an event."""
    marks = _Marks()
    full = event_to_dict(marks.made(kind, whole=True))
    least = event_to_dict(marks.made(kind, whole=False))
    schema = marks.described(full, least)
    return ({"description": " ".join(kind.__doc__.split())} if kind.__doc__ else {}) | schema


class _Marks:
    """Values that stand nowhere else, and what type each stands for."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._schemas: dict[Any, Schema] = {}

    def made(self, kind: type[msgspec.Struct], *, whole: bool) -> Any:
        """A struct of marks. Not `whole`: without what has a default or may be None."""
        hints = get_type_hints(kind)
        fields = {field.name: field for field in msgspec.structs.fields(kind)}
        values = {}
        for name, field in fields.items():
            if whole or field.required:
                values[name] = self._value(hints[name], whole=whole, where=f"{kind.__name__}.{name}")
        return kind(**values)

    def described(self, value: Any, least: Any) -> Schema:
        """The schema of an encoded value; `least`: the same place where everything that can be missing is."""
        if isinstance(value, bool):
            return {"type": "boolean"}
        if isinstance(value, dict) and not self._is_mark(value):
            there = least if isinstance(least, dict) else {}
            return {
                "type": "object",
                "properties": {key: self.described(one, there.get(key)) for key, one in value.items()},
                "required": [key for key in value if key in there],
            }
        if isinstance(value, dict):
            return self._schemas[next(iter(value))]
        if isinstance(value, list | tuple):
            return {"type": "array", "items": self.described(value[0], value[0])}
        if isinstance(value, float) and value not in self._schemas:
            schema = self._schemas[round(value * 1000)]
            return schema | {"type": _with_null("number", schema), "description": "seconds"}
        return self._schemas.get(value, {"const": value})

    def _is_mark(self, value: dict[str, Any]) -> bool:
        return len(value) == 1 and next(iter(value)) in self._schemas

    def _value(self, wanted: Any, *, whole: bool, where: str) -> Any:
        origin, inner = get_origin(wanted), get_args(wanted)
        null = False
        if origin in (Union, types.UnionType):
            if not whole:
                return None
            (wanted,) = (one for one in inner if one is not types.NoneType)
            origin, inner, null = get_origin(wanted), get_args(wanted), True
        if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct):
            return self.made(wanted, whole=whole)
        number = next(self._numbers)
        if wanted is bool:
            return True
        if wanted is int:
            return self._mark(1_000_003 * number, "integer", null)
        if wanted is float:
            return self._mark(number + 0.123456789, "number", null)
        if wanted is str:
            return self._mark(f"<text {number}>", "string", null)
        if origin is Literal:
            mark = self._mark(f"<word {number}>", "string", null)
            self._schemas[mark]["enum"] = [*inner, None] if null else list(inner)
            return mark
        if origin is tuple and inner[1:] == (...,):
            return (self._value(inner[0], whole=whole, where=where),)
        if origin is dict and inner[0] is str:
            key = self._mark(f"<key {number}>", "object", null)
            if inner[1] is str:
                self._schemas[key]["additionalProperties"] = {"type": "string"}
            return {key: "<any>"}
        raise TypeError(f"{where}: no schema is known for {wanted}: teach it to monitor/sinks/mqtt/schemas.py")

    def _mark(self, mark: Any, kind: str, null: bool) -> Any:
        self._schemas[mark] = {"type": [kind, "null"] if null else kind}
        return mark


def _with_null(kind: str, schema: Schema) -> str | list[str]:
    return [kind, "null"] if isinstance(schema["type"], list) else kind
