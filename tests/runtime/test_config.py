"""Settings from file, environment and command line: the last word counts, and a wrong word is named."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from monitor.config import Config, ConfigError, ServeSettings, known_keys, load


def toml(folder: Path, content: str) -> Path:
    path = folder / "turnwatch.toml"
    path.write_text(content, "utf-8")
    return path


def test_without_anything_the_defaults_hold() -> None:
    assert load() == Config()


def test_the_command_line_goes_before_the_environment_and_that_before_the_file(tmp_path: Path) -> None:
    file = toml(tmp_path, "[speech]\nopen_ms = 1\nclose_ms = 1\nwarmup_ms = 1\n")
    environment = {
        "TURNWATCH_SPEECH__CLOSE_MS": "2",
        "TURNWATCH_SPEECH__WARMUP_MS": "2",
        "HOME": "/",
        "TURNWATCH_TOKEN": "t",
    }
    speech = load(file, environment, ["speech.warmup_ms=3"]).speech
    assert (speech.open_ms, speech.close_ms, speech.warmup_ms) == (1, 2, 3)


@pytest.mark.parametrize(
    ("assignment", "section", "key", "value"),
    [
        ("speech.floor_dbfs=-50", "speech", "floor_dbfs", -50.0),
        ("speech.echo_gate_db=null", "speech", "echo_gate_db", None),
        ("serve.token=12", "serve", "token", "12"),
        ("serve.token= a=b ", "serve", "token", "a=b"),
        ("turn_taking.count_backchannels=true", "turn_taking", "count_backchannels", True),
    ],
)
def test_text_is_read_as_what_its_key_takes(assignment: str, section: str, key: str, value: object) -> None:
    assert getattr(getattr(load(assignments=[assignment]), section), key) == value


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            "[speech]\nopen_msec = 60",
            "turnwatch.toml: there is no setting speech.open_msec; did you mean speech.open_ms?",
        ),
        ("[speach]\nopen_ms = 60", "there is no setting speach.open_ms; did you mean speech.open_ms?"),
        ("[zzz]\nqqq = 1", "there is no setting zzz.qqq; sections are speech, timeline,"),
        ("[speech]\nopen_ms = 'x'", "speech.open_ms: it takes a whole number, got text"),
        ("[speech]\nopen_ms = '60'", "speech.open_ms: it takes a whole number, got text"),
        ("open_ms = 60", "open_ms stands outside of a section"),
        ("[speech", "is not TOML"),
    ],
)
def test_a_wrong_file_is_an_error_that_says_where(tmp_path: Path, content: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(toml(tmp_path, content))
    assert words in str(caught.value)
    assert "turnwatch.toml" in str(caught.value)


def test_a_file_that_is_not_there_or_no_text_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read the configuration"):
        load(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\0")
    with pytest.raises(ConfigError, match="is not TOML"):
        load(tmp_path / "binary.toml")


@pytest.mark.parametrize(
    ("environment", "assignments", "words"),
    [
        (
            {"TURNWATCH_SPEECH__OPENMS": "1"},
            [],
            "TURNWATCH_SPEECH__OPENMS: there is no setting speech.openms; did you mean",
        ),
        (
            {"TURNWATCH_SPEECH__OPEN_MS": "soon"},
            [],
            "TURNWATCH_SPEECH__OPEN_MS: speech.open_ms: it takes a whole number",
        ),
        ({}, ["speech.open_ms=soon"], "--set speech.open_ms: it takes a whole number, got text"),
        (
            {},
            ["rules.dead_air.warning_after_s=soon"],
            "--set rules.dead_air.warning_after_s: it takes a number, got text",
        ),
        ({}, ["rules.enabled=false"], "each group of rules has its own, as in rules.barge_in_spike.enabled"),
        ({}, ["rules.dead_air.enable=false"], "did you mean rules.dead_air.enabled?"),
        ({}, ["speech.open_ms"], "--set speech.open_ms: it takes section.key=value"),
        ({}, ["open_ms=1"], "--set open_ms=1: it takes section.key=value"),
    ],
)
def test_a_wrong_word_is_an_error_that_says_whose(
    environment: dict[str, str], assignments: list[str], words: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(None, environment, assignments)
    assert words in str(caught.value)


def test_an_error_never_shows_a_secret() -> None:
    with pytest.raises(ConfigError) as caught:
        load(assignments=["serve.tokens=hush-hush"])
    assert "hush-hush" not in str(caught.value)


def test_secrets_do_not_show() -> None:
    shown = repr(Config(serve=ServeSettings(token="hush-hush")))
    assert "hush-hush" not in shown
    assert "serve.token=…" in shown
    assert "speech.open_ms=60" in shown


def test_every_key_can_be_set_and_says_its_unit() -> None:
    times = [key for key in known_keys() if any(word in key for word in ("after", "within", "wait", "warmup", "sweep"))]
    assert times
    units = ("_ms", "_s", "_failures", ".max_waiting")  # the last two count
    assert [key for key in times if not key.endswith(units)] == []


def test_a_connector_has_a_section_of_its_own(tmp_path: Path) -> None:
    config = load(
        toml(tmp_path, "[elevenlabs]\nregion = 'eu'\nmore_upstreams = ['wss://a.example']\n"),
        {"TURNWATCH_ELEVENLABS__API_KEY": "hush-hush"},
        ["elevenlabs.connect_timeout_s=2.5"],
    )
    relay = config.elevenlabs
    assert (relay.region, relay.more_upstreams, relay.api_key) == ("eu", ("wss://a.example",), "hush-hush")
    assert relay.connect_timeout_s == 2.5
    assert "hush-hush" not in repr(config) + repr(relay)
    with pytest.raises(ConfigError, match=r"did you mean elevenlabs\.api_key"):
        load(assignments=["elevenlabs.apikey=x"])


def test_a_group_within_a_section_keeps_what_is_not_given(tmp_path: Path) -> None:
    default = Config().speech.line
    assert default is not None
    config = load(toml(tmp_path, "[speech.line]\nmin_share = 0.3\n"), {"TURNWATCH_SPEECH__LINE__MIN_FRAMES": "7"})
    assert config.speech.line == msgspec.structs.replace(default, min_share=0.3, min_frames=7)
    assert load(assignments=["speech.line=null"]).speech.line is None
    with pytest.raises(ConfigError, match=r"did you mean speech\.line\.min_share"):
        load(assignments=["speech.line.minshare=1"])
