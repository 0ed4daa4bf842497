"""Whatever comes over a media stream, the inputs are a call; and what the network does to a call changes no sample."""

from __future__ import annotations

import gc
import json
import tracemalloc
from typing import Any

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from connectors.inputs import TRACKS, Audio, CallEnded, CallStarted, Elapsed, Input, Notice, Stall
from connectors.protocols.twilio import decode
from connectors.protocols.twilio_call import CallLimits, TwilioCall
from tests.connectors.twilio.phone import CALL, Phone, Wire, code, expected, heard

WILD = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["", "0", "1", "-1", "99999999999999999999", "inbound", "outbound", "/w==", "////", "1e9"])
    | st.lists(st.integers(), max_size=3)
)
PLAUSIBLE = st.integers(0, 3000) | st.integers(0, 3000).map(str)
MEDIA = st.fixed_dictionaries(
    {},
    optional={
        "track": st.sampled_from(["inbound", "outbound"]) | WILD,
        "chunk": PLAUSIBLE | WILD,
        "timestamp": PLAUSIBLE | st.integers(0, 10**7) | WILD,
        "payload": st.sampled_from(["////", "/w==", "fn5+" * 40, ""]) | WILD,
    },
)
EVENT = st.sampled_from(["media", "media", "media", "media", "stop", "start", "mark", "dtmf", "connected"]) | WILD
MESSAGE = st.fixed_dictionaries(
    {"event": EVENT},
    optional={
        "media": MEDIA | WILD,
        "sequenceNumber": PLAUSIBLE | WILD,
        "start": WILD,
        "stop": WILD,
        "streamSid": WILD,
    },
).map(json.dumps)
STEP = (
    MESSAGE
    | st.text(max_size=30)
    | st.integers(0, 3000)  # the clock goes on so far
    | st.sampled_from(["leave", "join", "elapsed"])
)


def assert_is_a_call(inputs: list[Input]) -> None:
    """The contract of `connectors.inputs`, for a call that has ended."""
    assert isinstance(inputs[0], CallStarted)
    assert isinstance(inputs[-1], CallEnded)
    assert [type(given) for given in inputs].count(CallStarted) == 1
    assert [type(given) for given in inputs].count(CallEnded) == 1
    tracks = set(inputs[0].tracks)
    clock = 0
    for given_input in inputs[1:]:
        match given_input:
            case Audio(track=track, pcm=pcm):
                assert track in tracks
                assert len(pcm) % 2 == 0
            case Stall(track=track, at=at, until=until):
                assert track in tracks
                assert 0 <= at < until
            case Elapsed(at=at):
                assert at >= clock
                clock = at
            case Notice(count=count, message=message):
                assert count >= 1
                assert 0 < len(message) < 300
                assert message.isprintable()
    lengths = [len(heard(inputs, track)) / 8 for track in TRACKS]
    assert inputs[-1].at >= max(lengths) - 1


@settings(max_examples=300, deadline=None)
@given(st.lists(STEP, max_size=40))
@example([json.dumps({"event": "media", "media": {"track": "inbound", "timestamp": 5, "payload": "////"}})] * 3)
@example(["join", 3000, "leave", "elapsed", 3000, "elapsed"])
def test_hostile_messages_make_a_call_all_the_same(steps: list[str | int]) -> None:
    phone = Phone(CallLimits(pairing_ms=200))
    streams = [phone.join(Wire())]
    for step in steps:
        if isinstance(step, int):
            phone.clock += step
        elif step == "leave" and streams:
            phone.lose(streams.pop())
        elif step == "join" and not phone.call.full and not phone.call.ended:
            streams.append(phone.join(Wire(sid=f"MZ{len(streams)}")))
        elif step == "elapsed":
            phone.wait(50)
        elif streams:
            phone.hear(streams[-1], [step])
    phone.inputs += phone.call.stopped(phone.clock)
    assert phone.call.ended
    assert_is_a_call(phone.inputs)


@settings(deadline=None)
@given(
    lost=st.sets(st.integers(0, 149), max_size=40),
    doubled=st.sets(st.integers(0, 149), max_size=20),
    swapped=st.sets(st.integers(0, 148).filter(lambda at: at % 2 == 0), max_size=10),
)
def test_loss_is_unknown_and_nothing_else_is_touched(lost: set[int], doubled: set[int], swapped: set[int]) -> None:
    phone, wire = Phone(), Wire(tracks=("inbound",))
    stream = phone.join(wire)
    lost = lost - {149}  # what is lost at the very end nobody can know of
    sent = [
        [text] * (2 if at in doubled else 1) if at not in lost else [] for at, text in enumerate(wire.speech(0, 3000))
    ]
    for at in swapped - lost - {other - 1 for other in lost}:
        sent[at], sent[at + 1] = sent[at + 1], sent[at]
    phone.hear(stream, [text for texts in sent for text in texts])
    phone.hear(stream, [wire.stop()])
    line = expected([(0, 3000)])
    for at in lost:
        line[at * 160 : at * 160 + 160] = 0
    assert np.array_equal(phone.heard(), line)
    assert sum(until - at for at, until in phone.stalls()) == 20 * len(lost)
    assert phone.count("gap") == len(lost)
    assert phone.count("duplicate") == len(doubled - lost)


@settings(deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(0, 9))
def test_how_the_tracks_interleave_on_the_wire_makes_no_difference(leads: list[int], held: int) -> None:
    # One track may be up to 200 ms ahead of the other, as in bursts.
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    queues = {"inbound": list(range(0, 1200, 20)), "outbound": list(range(0, 1200, 20))}
    turn = 0
    while any(queues.values()):
        lead = leads[turn % len(leads)]
        first, second = ("inbound", "outbound") if (turn + held) % 2 else ("outbound", "inbound")
        turn += 1
        floor = min(queue[0] if queue else 1200 for queue in queues.values())
        while queues[first] and queues[first][0] <= floor + lead * 20:
            phone.hear(stream, [wire.media(at := queues[first].pop(0), code(at // 20), first)])
        if queues[second]:
            phone.hear(stream, [wire.media(at := queues[second].pop(0), code(at // 20), second)])
    phone.hear(stream, [wire.stop()])
    for track in TRACKS:
        assert np.array_equal(phone.heard(track), expected([(0, 1200)]))
        assert phone.stalls(track) == []


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(1, 2000), min_size=1, max_size=30))
def test_how_audio_is_cut_into_payloads_makes_no_difference(sizes: list[int]) -> None:
    phone, wire = Phone(), Wire(tracks=("inbound",))
    stream = phone.join(wire)
    data, at = b"".join(code(number) for number in range(60)), 0
    for size in sizes * (len(data) // sum(sizes) + 1):
        if at < len(data):
            phone.hear(stream, [wire.media(at // 8, data[at : at + size])])
            at += size
    phone.hear(stream, [wire.stop()])
    assert np.array_equal(phone.heard(), expected([(0, 1200)]))
    assert phone.notices("gap") == []


def test_memory_stays_flat_whatever_comes() -> None:
    wire = Wire()
    message = decode(wire.start()).start
    assert message is not None
    call = TwilioCall(CALL, CallLimits())
    stream = call.join(message, 1, 0)
    rubbish = ["{", "x" * 70_000, '{"event":"' + "n" * 60_000 + '"}', '{"event":"media","media":{"payload":"&"}}']

    def flood(begin: int, rounds: int) -> None:
        for number in range(begin, begin + rounds):
            track = ("inbound", "outbound")[number % 2]
            body: dict[str, Any] = {"track": track, "chunk": number * 7919 % 100_003, "payload": "////" * 400}
            body["timestamp"] = number * 104_729 % 50_000
            text = json.dumps({"event": "media", "sequenceNumber": number * 31_337 % 1_000_003, "media": body})
            for given_text in (text, rubbish[number % 4]):
                call.receive(stream, given_text, number)

    flood(0, 2000)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    flood(2000, 6000)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 100_000
