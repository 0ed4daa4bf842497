"""deploy/asyncapi.json is what the program says of itself, and every event keeps to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from monitor.core import events
from monitor.core.encode import encode
from monitor.core.events import Event, Turn
from monitor.sinks.mqtt.asyncapi import document
from monitor.sinks.mqtt.message import Message
from monitor.sinks.mqtt.monitor_state import MonitorState
from monitor.sinks.mqtt.open_alerts import OpenAlerts
from monitor.sinks.mqtt.outbox import KEPT, Outbox
from monitor.sinks.mqtt.schemas import EVENT_TYPES, event_schema
from monitor.sinks.spool import Spool
from tests.sinks.mqtt.listening import cleared, ended, notice, raised, started

ROOT = Path(__file__).resolve().parents[3]
DOCUMENT = document()
TURN = Turn(index=1, role="user", start_ms=1000)
WHOLE_TURN = Turn(
    index=1,
    role="assistant",
    start_ms=1000,
    duration_ms=500,
    ended_by="stall",
    backchannel=True,
    interrupted=True,
    text="yes",
    after_stall=True,
    sure=0.98,
)
STATE = events.TurnTaking(None, 0)
RELEVANCY = events.Relevancy(0.5, 1, 2, 3, 4)
UNKNOWN = events.Relevancy(None, None, 0, 0, 0)
AT: dict[str, Any] = {"call": "c", "seq": 0, "at_ms": 1, "known_at_ms": 2}
TRANSITION = events.Transition(from_turn=1, to_turn=2, kind="user_barge_in", gap_ms=-120, score=0.5, final=True)
SURE = msgspec.structs.replace(TRANSITION, sure=0.95)

SAMPLES: list[Event] = [
    started(),
    msgspec.structs.replace(
        started(),
        started_at="2026-01-01T00:00:00Z",
        agent_id=None,
        labels={"a": "b"},
        playout="heard",
        tracks={"x": {}},
    ),
    events.TurnStarted(**AT, turn=TURN),
    events.TurnUpdated(**AT, turn=WHOLE_TURN),
    events.TurnEnded(**AT, turn=TURN),
    events.TurnEnded(**AT, turn=WHOLE_TURN),
    events.TurnText(**AT, turn=TURN, text="hello", reason="correction"),
    events.TransitionScored(**AT, transition=TRANSITION, turn_taking=STATE),
    events.TransitionScored(**AT, transition=SURE, turn_taking=STATE),
    events.TransitionWithdrawn(**AT, from_turn=1, to_turn=2, reason="backchannel", turn_taking=STATE),
    events.RelevancyJudged(
        **AT, turn=TURN, verdict="no", reason="r", window=(0, 1), batch=1, judge="j", relevancy=RELEVANCY
    ),
    events.RelevancyJudged(
        **AT, turn=TURN, verdict="unscored", reason=None, window=(), batch=None, judge=None, relevancy=UNKNOWN
    ),
    events.RelevancyScored(
        **AT, turns=(1,), score=0.1, confidence=0.2, reason="r", batch=1, judge="j", relevancy=RELEVANCY
    ),
    events.RelevancyScored(
        **AT, turns=(), score=None, confidence=None, reason=None, batch=1, judge=None, relevancy=UNKNOWN
    ),
    raised(1),
    cleared(2),
    events.AlertRaised(
        **AT,
        alert=msgspec.structs.replace(raised(1).alert, value=None, threshold=None, because=(), suppressed=3),  # type: ignore[attr-defined]
    ),
    notice(1),
    msgspec.structs.replace(notice(1), track="caller"),  # type: ignore[call-overload]
    ended(3),
]


def valid(payload: bytes, place: str) -> None:
    schema = {"$ref": f"#/components/{place}", "components": DOCUMENT["components"]}
    jsonschema.Draft202012Validator(schema).validate(json.loads(payload))


def unknown_keys(told: Any, schema: dict[str, Any]) -> set[str]:
    if not isinstance(told, dict) or "properties" not in schema:
        return set()
    own = set(told) - set(schema["properties"])
    return own.union(*(unknown_keys(told[key], schema["properties"][key]) for key in set(told) - own))


def test_the_document_in_deploy_is_the_one_that_is_generated() -> None:
    kept = json.loads((ROOT / "deploy" / "asyncapi.json").read_text("utf-8"))
    assert kept == DOCUMENT, "python -m monitor.sinks.mqtt.asyncapi > deploy/asyncapi.json"


def test_every_type_has_a_sample_and_a_channel() -> None:
    assert {type(sample) for sample in SAMPLES} == set(EVENT_TYPES)
    assert set(DOCUMENT["channels"]) == {kind.type for kind in EVENT_TYPES} | {"alert.open", "monitor"}


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.type)
def test_an_event_keeps_to_its_schema(sample: Event) -> None:
    valid(encode(sample), f"schemas/{sample.type}")
    assert unknown_keys(json.loads(encode(sample)), DOCUMENT["components"]["schemas"][sample.type]) == set()


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.type)
def test_the_schema_refuses_what_is_wrong(sample: Event) -> None:
    told = json.loads(encode(sample))
    for key in told:
        without = {name: value for name, value in told.items() if name != key}
        if key in DOCUMENT["components"]["schemas"][sample.type]["required"]:
            with pytest.raises(jsonschema.ValidationError):
                valid(json.dumps(without).encode(), f"schemas/{sample.type}")
        with pytest.raises(jsonschema.ValidationError):
            valid(json.dumps(told | {key: [{}]}).encode(), f"schemas/{sample.type}")


def test_an_event_of_a_new_kind_is_described_or_refused() -> None:
    class Odd(Event, frozen=True, kw_only=True):
        odd: set[int]

    with pytest.raises(TypeError, match=r"Odd\.odd: no schema is known"):
        event_schema(Odd)


def test_the_references_lead_somewhere_and_the_schemas_are_schemas() -> None:
    def follow(part: Any) -> None:
        if isinstance(part, dict):
            if "$ref" in part:
                place: Any = DOCUMENT
                for name in part["$ref"].removeprefix("#/").split("/"):
                    place = place[name]
            for inner in part.values():
                follow(inner)

    follow(DOCUMENT)
    for schema in DOCUMENT["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_what_is_sent_is_as_the_document_says(tmp_path: Path) -> None:
    outbox = Outbox(Spool(None), "berlin", "m1")
    alerts = OpenAlerts(Spool(None), "berlin", "m1", 3600)
    state = MonitorState("berlin", "m1", 3600)
    sent: list[tuple[str, Message]] = []
    for number, sample in enumerate(SAMPLES):
        sample = msgspec.structs.replace(sample, seq=number)  # type: ignore[type-var]
        (outbox.keep if isinstance(sample, KEPT) else outbox.pass_on)(sample)
        outgoing = outbox.next(0)
        assert outgoing is not None
        outbox.passed() if outgoing.number is None else outbox.spool.done(outgoing.number)
        sent.append((sample.type, outgoing.message))
    alerts.follow(raised(1))
    opened = alerts.next()
    assert opened is not None
    sent.append(("alert.open", opened))
    sent += [("monitor", told) for told in (state.online(), state.will(), state.stopped())]
    for name, message in sent:
        address = DOCUMENT["channels"][name]["address"].split("/")
        assert len(address) == len(message.topic.split("/"))
        assert all(a == b or a[0] == "{" for a, b in zip(address, message.topic.split("/"), strict=True))
        binding = DOCUMENT["operations"][f"send.{name}"]["bindings"]["mqtt"]
        assert (binding["qos"], binding["retain"]) == (message.qos, message.retain)
        described = DOCUMENT["components"]["messages"][name]
        if "headers" in described:
            jsonschema.validate(dict(message.user), described["headers"])
            assert set(dict(message.user)) <= set(described["headers"]["properties"])
        valid(message.payload, "schemas/" + described["payload"]["$ref"].rsplit("/", 1)[1])
