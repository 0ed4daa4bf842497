"""The door of a call: ordered, bounded, and honest about what it lost."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from connectors.inputs import Audio, CallEnded, CallStarted, Cut, Elapsed, Input, Notice, Stall, Text, TrackFormat
from monitor.runtime.inbox import Bounds, Inbox, duration_ms
from tests.runtime.stand_ins import STARTED, audio

SMALL = Bounds(inputs=10, pcm_bytes=10**6, reserve=5)


async def test_inputs_come_out_in_the_order_they_went_in() -> None:
    inbox = Inbox()
    given = [STARTED, audio("caller", 0), audio("agent", 0), Elapsed(20), CallEnded(20, "hangup")]
    assert inbox.put(*given)
    assert await inbox.take() == given
    assert await inbox.take() == []


async def test_nothing_is_taken_in_behind_the_end_of_the_call() -> None:
    inbox = Inbox()
    inbox.put(STARTED, CallEnded(0, "hangup"), audio("caller", 0))
    assert len(await inbox.take()) == 2


async def test_audio_that_finds_no_room_becomes_a_stall_and_one_notice_a_track() -> None:
    inbox = Inbox(SMALL)
    inbox.put(STARTED)
    kept = [inbox.put(audio(track, at)) for at in range(0, 400, 20) for track in ("caller", "agent")]
    assert kept == [True] * 9 + [False] * 31
    await inbox.take()
    assert inbox.put(audio("agent", 400))
    told = await inbox.take()
    assert told == [
        Stall("agent", 80, 400),
        Notice(400, "overload", told[1].message, "agent", 16),
        Stall("caller", 100, 400),
        Notice(400, "overload", told[3].message, "caller", 15),
        audio("agent", 400),
    ]
    assert inbox.dropped == 31


async def test_lost_deliveries_are_a_stall_of_as_much_audio_as_they_held() -> None:
    inbox = Inbox(SMALL)
    inbox.put(CallStarted("call", "test", tracks={"agent": TrackFormat(timing="delivered")}))
    inbox.put(*[audio("agent", 20 * i) for i in range(8)], Elapsed(160))
    inbox.put(*[audio("agent", 200 + i, 1000) for i in range(8)])  # 8 s in a burst
    inbox.put(Elapsed(240))
    before = await inbox.take()
    assert before[-1] == Elapsed(160), "the clock must not pass what is lost before that is told"
    inbox.put(audio("agent", 300))
    assert (await inbox.take())[0] == Stall("agent", 200, 8200)


async def test_what_the_wire_lost_during_an_overload_goes_into_its_stall() -> None:
    inbox = Inbox(SMALL)
    inbox.put(*[audio("caller", 20 * i) for i in range(10)], audio("caller", 200))
    assert inbox.put(Stall("caller", 220, 260), Notice(260, "lost", "2 packets", "caller", 2))
    inbox.put(audio("caller", 260))
    assert [type(one) for one in await inbox.take()] == [*[Audio] * 10, Notice]
    inbox.put(audio("caller", 280))
    told = await inbox.take()
    assert told[0] == Stall("caller", 200, 280), "told before it, the lost packets would make silence of what is ahead"
    assert told[1] == Notice(280, "overload", told[1].message, "caller", 2)


async def test_an_overload_ends_only_once_half_of_the_inbox_is_free() -> None:
    inbox = Inbox(SMALL)
    inbox.put(*[audio("caller", 20 * i) for i in range(11)])
    first = await inbox.take()
    assert len(first) == 10
    inbox.put(*[audio("caller", 220 + 20 * i) for i in range(30)])
    overloads = [one for one in await inbox.take() if isinstance(one, Notice)]
    assert len(overloads) == 1


async def test_the_bound_on_bytes_holds_whatever_the_size_of_a_piece() -> None:
    inbox = Inbox(Bounds(inputs=1000, pcm_bytes=100_000, reserve=5))
    inbox.put(*[audio("agent", 1000 * i, 1000) for i in range(60)])
    waiting = await inbox.take()
    assert sum(len(one.pcm) for one in waiting if isinstance(one, Audio)) <= 100_000 + 16_000


async def test_words_and_cuts_outlast_an_overload_until_the_reserve_is_used_up() -> None:
    inbox = Inbox(SMALL)
    inbox.put(*[audio("agent", 20 * i) for i in range(12)])
    words = [Text("agent", 240, str(i), "response") for i in range(8)]
    assert [inbox.put(word) for word in words] == [True] * 5 + [False] * 3
    assert inbox.put(CallEnded(300, "hangup")) is True
    *waiting, cut_off, lost, ended = await inbox.take()
    assert [one for one in waiting if isinstance(one, Text)] == words[:5]
    assert cut_off == Notice(300, "overload", cut_off.message, "agent", 2)
    assert lost == Notice(300, "overload", lost.message, None, 3)
    assert ended == CallEnded(300, "hangup")


async def test_a_clock_that_ticks_while_nobody_listens_takes_no_room() -> None:
    inbox = Inbox(SMALL)
    inbox.put(*[Elapsed(50 * i) for i in range(10_000)])
    assert await inbox.take() == [Elapsed(499_950)]


async def test_a_source_that_can_wait_waits_and_loses_nothing() -> None:
    inbox = Inbox(SMALL)
    pieces = [audio("caller", 20 * i) for i in range(200)]

    async def give() -> None:
        for piece in pieces:
            await inbox.offer(piece)
        inbox.close()

    giving = asyncio.create_task(give())
    heard: list[Input] = []
    while batch := await inbox.take():
        assert len(batch) <= SMALL.inputs
        heard += batch
    await giving
    assert heard == pieces
    assert inbox.dropped == 0


async def test_closing_lets_go_of_whoever_waits() -> None:
    inbox = Inbox(Bounds(inputs=1, pcm_bytes=10**6, reserve=0))
    await inbox.offer(audio("caller", 0))
    waiting = asyncio.create_task(inbox.offer(audio("caller", 20)))
    await asyncio.sleep(0)
    inbox.close("stopped")
    inbox.close("failed")
    await waiting
    assert inbox.cause == "stopped"
    assert len(await inbox.take()) == 1


@given(st.lists(st.tuples(st.sampled_from(["audio", "lost", "cut", "tick", "take"]), st.integers(1, 40)), max_size=60))
def test_what_was_heard_and_what_was_lost_make_the_whole(script: list[tuple[str, int]]) -> None:
    async def run() -> None:
        inbox = Inbox(Bounds(inputs=6, pcm_bytes=4000, reserve=3))
        out: list[Input] = []
        at = given_pieces = given_cuts = 0
        for what, size in script:
            if what == "audio":
                inbox.put(audio("caller", at, size))
                at += size
                given_pieces += 1
            elif what == "lost":  # on the wire: the connector says so
                inbox.put(Stall("caller", at, at + size))
                at += size
            elif what == "cut":
                inbox.put(Cut("agent", at, given_cuts))
                given_cuts += 1
            elif what == "tick":
                inbox.put(Elapsed(at))
            elif len(inbox):
                out += await inbox.take()
            assert len(inbox) <= 6 + 3 + 4
        inbox.put(CallEnded(at, "hangup"))
        out += await inbox.take()
        lost = {one.track: one.count for one in out if isinstance(one, Notice)}
        totals = {
            track: sum(one.count for one in out if isinstance(one, Notice) and one.track == track) for track in lost
        }
        assert sum(isinstance(one, Audio) for one in out) + totals.get("caller", 0) == given_pieces
        assert sum(isinstance(one, Cut) for one in out) + totals.get(None, 0) == given_cuts
        spans = sorted(
            (one.at, one.until if isinstance(one, Stall) else one.at + duration_ms(one))
            for one in out
            if isinstance(one, Stall | Audio)
        )
        assert [start for start, _ in spans] == [0, *[end for _, end in spans[:-1]]][: len(spans)]

    asyncio.run(run())
