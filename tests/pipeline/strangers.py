"""What strangers send: any messages of either protocol; and a service that must be as good as before afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from hypothesis import strategies as st

from connectors.protocols import twilio
from connectors.simulator.twilio import TwilioCarrier
from monitor.core import events
from tests.builders import sound, speech
from tests.pipeline.serving import Serving, serving

WILD: Any = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False)
    | st.text(max_size=30)
    | st.sampled_from(
        ["", "0", "-1", "inbound", "outbound", "////", "AA==", "99999999999999999999", "\x1b[31m", "\ud83d"]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=5,
)


@pytest.fixture(scope="module", autouse=True)
def quiet() -> Iterator[None]:
    """Refusals are logged by the hundred here; errors still show."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def _json(value: Any) -> str:
    return json.dumps(value)


def twilio_message(kind: str) -> Any:
    body = st.dictionaries(
        st.sampled_from(["track", "chunk", "timestamp", "payload", "streamSid", "callSid", "mediaFormat", "tracks"]),
        WILD,
    )
    return st.fixed_dictionaries({"event": st.just(kind)}, optional={kind: body | WILD, "sequenceNumber": WILD}).map(
        _json
    )


TWILIO = st.one_of(
    *(twilio_message(kind) for kind in ("media", "start", "stop", "mark", "dtmf", "connected", "news")),
    st.builds(
        twilio.media,
        st.just("MZ1"),
        st.sampled_from(["inbound", "outbound", "both"]),
        st.binary(max_size=400),
        sequence=st.integers(-5, 99),
        chunk=st.integers(-5, 99),
        timestamp=st.integers(-100, 10**7),
    ),
    st.text(max_size=60),
    st.binary(max_size=60),
    st.builds(lambda cut: twilio.start("MZ1", "CA1")[:cut], st.integers(0, 200)),
)

ELEVENLABS_PARTS = [
    *("audio_event", "interruption_event", "ping_event", "error_event", "event_id", "user_audio_chunk", "source_info"),
    *("conversation_initiation_metadata_event", "conversation_config_override", "user_transcription_event"),
    *("agent_response_event", "agent_response_correction_event"),
]
ELEVENLABS_FIELDS = [
    *("audio_base_64", "event_id", "conversation_id", "agent_output_audio_format", "user_input_audio_format", "code"),
    *("user_transcript", "agent_response", "corrected_agent_response", "ping_ms", "message", "source", "text_only"),
]
ELEVENLABS_TYPES = [
    *("audio", "conversation_initiation_metadata", "interruption", "ping", "pong", "user_transcript", "error", "news"),
    *("agent_response", "agent_response_correction", "conversation_initiation_client_data"),
]
_PART = st.dictionaries(st.sampled_from(ELEVENLABS_FIELDS), WILD, max_size=3)
ELEVENLABS: Any = st.one_of(
    st.fixed_dictionaries(
        {"type": st.sampled_from(ELEVENLABS_TYPES)}, optional=dict.fromkeys(ELEVENLABS_PARTS, _PART | WILD)
    ).map(_json),
    st.fixed_dictionaries({"user_audio_chunk": st.sampled_from(["", "AAAA", "////"]) | WILD}).map(_json),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    st.binary(max_size=60),
    st.builds(
        lambda n: ('{"type":"audio","audio_event":{"audio_base_64":"' + "A" * 40 + '"}}')[:n], st.integers(0, 90)
    ),
)


async def hold_a_call(here: Serving) -> None:
    """An ordinary call goes through, and its two turns are told."""
    pcm = sound([speech("caller", 400, 1000), speech("agent", 1400, 2000)], 3000)
    placed = await TwilioCarrier(here.url(), speed=None).call(pcm["caller"], pcm["agent"])
    await here.until(lambda: placed.call_sid in here.told and live_call(here, placed.call_sid))
    told = here.told[placed.call_sid]
    assert [event.turn.role for event in told if isinstance(event, events.TurnEnded)] == ["user", "assistant"]


def live_call(here: Serving, call: str) -> bool:
    return isinstance(here.told[call][-1], events.CallEnded)


@contextlib.asynccontextmanager
async def unharmed(*assignments: str) -> AsyncIterator[Serving]:
    """A service that holds an ordinary call at the end, whatever came before."""
    async with serving("twilio.reconnect_grace_ms=0", *assignments) as here:
        tasks = len(asyncio.all_tasks())
        yield here
        await hold_a_call(here)
        await here.until(lambda: not here.service.calls)
        assert here.service.gauges.calls_failed == 0
        await here.until(lambda: len(asyncio.all_tasks()) <= tasks + 1)
