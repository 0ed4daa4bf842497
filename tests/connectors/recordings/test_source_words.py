"""What a source word means, and what is said of one that means nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import connectors
from connectors import CONNECTORS
from connectors.base import Connector, SourceError
from connectors.source import Source, SourceOptions, parse_channels, parse_source

SCHEMES = ("wav", "pcm", "tape")


def parsed(word: str) -> Source:
    return parse_source(word, SourceOptions(), SCHEMES)


def test_every_row_of_the_table_is_a_scheme_that_opens_something() -> None:
    for scheme in CONNECTORS:
        with pytest.raises(connectors.ConnectorError):
            connectors.open(f"{scheme}:/no/such/place")


@pytest.mark.parametrize(
    ("word", "scheme", "path"),
    [
        ("wav:call.wav", "wav", "call.wav"),
        ("WAV:Call.WAV", "wav", "Call.WAV"),
        ("pcm:-", "pcm", "-"),
        ("-", "pcm", "-"),
        ("tape:calls/a.tape", "tape", "calls/a.tape"),
        ("call.flac", "wav", "call.flac"),
        ("monday/call.MP3", "wav", "monday/call.MP3"),
        (r"C:\calls\call.wav", "wav", r"C:\calls\call.wav"),
        ("wav:what?.wav", "wav", "what?.wav"),
    ],
)
def test_words_are_taken_apart(word: str, scheme: str, path: str) -> None:
    source = parsed(word)
    assert (source.scheme, source.path) == (scheme, path)


def test_a_query_says_what_the_bytes_are() -> None:
    source = parsed(
        "pcm:a.raw?rate=16000&encoding=mulaw&channels=agent,caller&call=c%201&agent_id=x&label.a=b=c&gain=3"
    )
    assert source.path == "a.raw"
    assert source.options == SourceOptions(16000, "mulaw", ("agent", "caller"), "c 1", "x", {"a": "b=c"})
    assert source.extra == {"gain": "3"}
    with pytest.raises(SourceError, match="no option gain"):
        source.refuse_extra()


def test_a_word_goes_before_the_options_of_the_command() -> None:
    options = SourceOptions(rate=8000, labels={"team": "east", "line": "1"})
    source = parse_source("pcm:-?rate=16000&label.line=2", options, SCHEMES)
    assert source.options.rate == 16000
    assert source.options.labels == {"team": "east", "line": "2"}
    assert options.labels == {"team": "east", "line": "1"}


def test_what_exists_is_taken_by_its_whole_name(tmp_path: Path) -> None:
    for name in ("zoom:7", "what?rate=8000", "plain"):
        (tmp_path / name).write_bytes(b"x")
        assert parsed(str(tmp_path / name)).path == str(tmp_path / name)


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("zoom:7", "there is no source zoom:. Known are wav:, pcm:, tape:"),
        ("nothing", "no such file, and not a source either"),
        ("wav:", "a file name is missing"),
        ("wav:?rate=8000", "a file name is missing"),
        ("wav:a.wav?rate=fast", "rate=fast"),
        ("wav:a.wav?rate=99999999", "rate=99999999"),
        ("wav:a.wav?channels=left,right", "caller,agent or agent,caller"),
        ("wav:a.wav?channels=caller,caller", "once each"),
        ("wav:a.wav?channels=-,-", "at least one"),
    ],
)
def test_a_wrong_word_is_said_to_be_wrong(word: str, says: str) -> None:
    with pytest.raises(SourceError) as caught:
        parsed(word)
    assert says in str(caught.value)


def test_another_table_has_other_schemes() -> None:
    opened: list[Source] = []

    def opener(source: Source) -> Connector:
        opened.append(source)
        raise SourceError("enough")

    with pytest.raises(SourceError, match="enough"):
        connectors.open("can:garden?depth=2", table={"can": opener})
    assert (opened[0].path, opened[0].extra) == ("garden", {"depth": "2"})
    with pytest.raises(SourceError, match=r"Known are can:$"):
        connectors.open("pcm:-", table={"can": opener})


def test_channels_can_be_passed_over() -> None:
    assert parse_channels(" - , agent,caller") == (None, "agent", "caller")


@given(st.text(max_size=40))
def test_no_word_breaks_anything(word: str) -> None:
    try:
        source = parsed(word.replace("\0", ""))
    except SourceError:
        return
    assert source.scheme in SCHEMES
