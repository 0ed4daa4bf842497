"""WebVTT: what is said in which voice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.webvtt import Cue, is_webvtt, read_webvtt


def cues(*lines: str) -> list[Cue]:
    found, unread = read_webvtt("\n".join(("WEBVTT", "", *lines)))
    assert unread == 0
    return found


def test_a_cue_has_a_voice_times_and_words() -> None:
    assert cues("00:01.500 --> 00:03.250", "<v user>Hello there") == [Cue("user", 1500, 3250, "Hello there")]


def test_hours_names_of_cues_settings_and_several_lines() -> None:
    lines = ("intro", "01:00:01.500 --> 101:00:03.250 align:start position:0%", "<v assistant>Hello", "there")
    assert cues(*lines) == [Cue("assistant", 3_601_500, 363_603_250, "Hello there")]


def test_two_voices_in_one_cue_are_two_sets_of_words() -> None:
    found = cues("00:01.000 --> 00:02.000", "<v user>One</v> <v.loud.clear  Agent Smith >two", "<v user>three")
    assert [(cue.voice, cue.text) for cue in found] == [("user", "One"), ("Agent Smith", "two"), ("user", "three")]


def test_words_outside_of_any_voice_are_nobodys() -> None:
    found = cues("00:01.000 --> 00:02.000", "before <v user>inside</v> behind")
    assert [(cue.voice, cue.text) for cue in found] == [(None, "before"), ("user", "inside"), (None, "behind")]


def test_other_tags_go_and_escaped_signs_come_back() -> None:
    (cue,) = cues("00:01.000 --> 00:02.000", "<v user><i>a</i> &lt;b&gt; &amp;&nbsp;<00:01.500><c.x>3 < 4</c> <3")
    assert cue.text == "a <b> & 3 < 4 <3"


def test_notes_styles_and_regions_are_no_cues() -> None:
    found = cues(
        "NOTE",
        "a remark",
        "",
        "STYLE",
        "::cue { color: red }",
        "",
        "REGION",
        "id:x",
        "",
        "NOTE of a cue",
        "00:01.000 --> 00:02.000",
        "<v user>said",
    )
    assert [cue.text for cue in found] == ["said"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_as_they_do_on_any_system(end: str) -> None:
    text = end.join(("WEBVTT - a title", "Kind: captions", "", "00:01.000 --> 00:02.000", "<v user>Hello", ""))
    assert read_webvtt(text) == ([Cue("user", 1000, 2000, "Hello")], 0)


def test_a_cue_that_ends_before_it_begins_has_no_end() -> None:
    assert cues("00:03.000 --> 00:02.000", "<v user>Hello") == [Cue("user", 3000, None, "Hello")]


@pytest.mark.parametrize(
    "times", ["00:01 --> 00:02", "-00:01.000 --> 00:02.000", "00:61.000 --> 00:62.000", "no times"]
)
def test_times_that_cannot_be_read_are_counted(times: str) -> None:
    text = f"WEBVTT\n\n{times}\n<v user>lost\n\n00:03.000 --> 00:04.000\n<v user>kept"
    assert read_webvtt(text) == ([Cue("user", 3000, 4000, "kept")], 1)


@pytest.mark.parametrize("text", ["WEBVTT", "WEBVTT \n", "WEBVTT\ttitle"])
def test_the_first_word_makes_it_webvtt(text: str) -> None:
    assert is_webvtt(text)
    assert read_webvtt(text) == ([], 0)


@given(st.text(alphabet=st.sampled_from("<>/v .:->&;user\n0123456789NOTE")))
def test_nothing_in_the_text_is_fatal(text: str) -> None:
    found, unread = read_webvtt(f"WEBVTT\n\n{text}")
    assert unread >= 0
    assert all(cue.start >= 0 and (cue.end is None or cue.end >= cue.start) for cue in found)
