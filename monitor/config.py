"""Settings: frozen, from a TOML file, the environment and the command line, the later before the earlier.

    [speech]
    open_ms = 60                        # turnwatch.toml, with --config turnwatch.toml

    TURNWATCH_SPEECH__OPEN_MS=60        # the environment
    --set speech.open_ms=60             # the command line

The unit stands in each key's name. An unknown key is an error that names the nearest known one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args, get_type_hints

import msgspec

from monitor.config_sources import ConfigError as ConfigError
from monitor.config_sources import Given, from_assignments, from_environment, from_file, in_words, read
from monitor.core.call import CoreSettings
from monitor.core.fleet.settings import FleetSettings
from monitor.core.giving_way import TimelineSettings
from monitor.core.relevancy_settings import EvalMode, RelevancySettings
from monitor.core.rules.settings import RulesSettings
from monitor.core.speech import SpeechSettings
from monitor.core.turn_taking import TurnTakingSettings
from monitor.core.words import WordsSettings
from monitor.runtime.judging import named
from monitor.sinks import SINKS, loaded
from monitor.transcribers.settings import TranscriberSettings, check_budget

if TYPE_CHECKING:
    from connectors.elevenlabs import RelaySettings
    from connectors.twilio.settings import TwilioSettings

EVAL_MODE = "TURNWATCH_EVAL_MODE"
"""The environment variable that names the judge where no setting does; `monitor.TurnRelevancy` goes by it as well."""
_SECRET = ("token", "key", "secret", "password", "urls")


class ServeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The listening side. `ingest`: where calls come in, as host:port. `console`: where operators look, as host:port.
    `token`: what clients must show; required where a port is bound beyond loopback. `max_calls`: calls at a time, more
    are refused with 503. `sweep_ms`: how often time-outs are looked after. `stop_within_s`: how long a stop may take to
    flush everything."""

    ingest: str = "127.0.0.1:8765"
    console: str = "127.0.0.1:8766"
    token: str | None = None
    max_calls: int = 1000
    sweep_ms: int = 50
    stop_within_s: float = 3.0


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every setting, by section. What a section means stands in its own class. `connectors`: the sections of connectors
    that wait for calls, `sinks`: those of sinks, as far as they were set; they are made when they are asked for, since
    that loads the connector or the sink.
    """

    speech: SpeechSettings = SpeechSettings()
    timeline: TimelineSettings = TimelineSettings()
    turn_taking: TurnTakingSettings = TurnTakingSettings()
    words: WordsSettings = WordsSettings()
    relevancy: RelevancySettings = RelevancySettings(eval_mode="off")
    rules: RulesSettings = RulesSettings()
    transcriber: TranscriberSettings = TranscriberSettings()
    serve: ServeSettings = ServeSettings()
    fleet: FleetSettings = FleetSettings()
    connectors: dict[str, dict[str, Any]] = {}
    sinks: dict[str, dict[str, Any]] = {}

    def __post_init__(self) -> None:
        if self.words.transcribed:
            raise ValueError("words.transcribed is set by itself where there is a transcriber: leave it out")
        check_budget(self.transcriber, self.relevancy)

    @property
    def core(self) -> CoreSettings:
        """What the core judges by, and what stands on tapes."""
        words = msgspec.structs.replace(self.words, transcribed=self.transcriber.enabled)
        if words.transcribed:  # a turn's words are waited for as long as its transcript may take
            words = msgspec.structs.replace(words, wait_s=max(words.wait_s, self.transcriber.deadline_s))
        return CoreSettings(self.speech, self.timeline, self.turn_taking, words, self.relevancy, self.rules)

    @property
    def elevenlabs(self) -> RelaySettings:
        """The relay in front of ElevenLabs."""
        return cast("RelaySettings", _section("elevenlabs")(**self.connectors.get("elevenlabs", {})))

    @property
    def twilio(self) -> TwilioSettings:
        """The endpoint for media streams."""
        return cast("TwilioSettings", _section("twilio")(**self.connectors.get("twilio", {})))

    def sink(self, section: str) -> Any:
        """The settings of a sink."""
        return _section(section)(**self.sinks.get(section, {}))

    def __repr__(self) -> str:
        return f"Config({', '.join(self._shown())})"

    def _shown(self) -> Iterator[str]:
        own = {name: msgspec.structs.asdict(getattr(self, name)) for name in _OWN}
        for section, values in (own | self.connectors | self.sinks).items():
            for key, value in values.items():
                hidden = value is not None and (any(word in key for word in _SECRET) or "@" in str(value))
                yield f"{section}.{key}={'…' if hidden else repr(value)}"


_OWN: dict[str, type[Any]] = {
    "speech": SpeechSettings,
    "timeline": TimelineSettings,
    "turn_taking": TurnTakingSettings,
    "words": WordsSettings,
    "relevancy": RelevancySettings,
    "rules": RulesSettings,
    "transcriber": TranscriberSettings,
    "serve": ServeSettings,
    "fleet": FleetSettings,
}
_OF_CONNECTORS = {
    "elevenlabs": ("connectors.elevenlabs", "RelaySettings"),
    "twilio": ("connectors.twilio.settings", "TwilioSettings"),
}
"""Where the settings of each connector stand. Loaded only for those who set something there, or serve."""


def _section(name: str) -> type[Any]:
    """The class of a section. Raises KeyError."""
    if name in _OWN:
        return _OWN[name]
    if name in SINKS:
        return cast("type[Any]", loaded(SINKS[name].settings))
    module, kind = _OF_CONNECTORS[name]
    return cast("type[Any]", getattr(import_module(module), kind))


def load(
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    assignments: Iterable[str] = (),
    *,
    eval_mode: EvalMode = "off",
) -> Config:
    """The settings from `file`, then `environment`, then `assignments` (`section.key=value`). Raises ConfigError.
    `eval_mode`: who judges relevancy where neither a setting nor TURNWATCH_EVAL_MODE says so."""
    sections: dict[str, dict[str, Any]] = {"relevancy": _judge(environment or {}, eval_mode)}
    for given in (
        *(from_file(file, known_keys()) if file else ()),
        *from_environment(environment or {}),
        *from_assignments(assignments),
    ):
        *folders, key = given.name.split(".")
        value, place = _value(given), cast("dict[str, Any]", sections)
        for folder in folders:
            if not isinstance(place.get(folder), dict):
                place[folder] = {}  # not there yet, or the whole group had been set to null
            place = place[folder]
        place[key] = value
    try:
        made = {section: _made(_section(section), values) for section, values in sections.items()}
        own = {section: made[section] for section in made if section in _OWN}
        connectors = {name: values for name, values in sections.items() if name in _OF_CONNECTORS}
        sinks = {name: values for name, values in sections.items() if name in SINKS}
        config = Config(**own, connectors=connectors, sinks=sinks)
        _ = config.core  # a number that is out of its range is told here
    except (ValueError, TypeError) as error:
        raise ConfigError(str(error)) from error
    return config


def _judge(environment: Mapping[str, str], otherwise: EvalMode) -> dict[str, Any]:
    word = environment.get(EVAL_MODE) or otherwise
    try:
        mode, script = named(word)
    except ValueError as error:
        if word.strip().casefold().startswith("scripted"):
            raise ConfigError(f"{EVAL_MODE}: {error}") from error
        modes = ", ".join(get_args(EvalMode))
        raise ConfigError(f"{EVAL_MODE}={word}: it takes one of {modes}, or scripted:FILE") from error
    return {"eval_mode": mode, "script": script}


def sections() -> dict[str, type[Any]]:
    """The class of every section, by name. Loads all connectors and sinks."""
    return {name: _section(name) for name in (*_OWN, *_OF_CONNECTORS, *SINKS)}


def known_keys() -> list[str]:
    """Every key as `section.key`, in order; `section.group.key` where a section has groups."""
    return [f"{section}.{key}" for section, kind in sections().items() for key in _keys(kind)]


def _keys(kind: type[Any]) -> Iterator[str]:
    for key, wanted in get_type_hints(kind).items():
        group = group_of(wanted)
        yield from [key] if group is None else (f"{key}.{inner}" for inner in _keys(group))


def group_of(wanted: Any) -> type[Any] | None:
    """The class of a group of settings within a section, also where it may be None; None for a single setting."""
    kinds = (wanted, *get_args(wanted))
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, msgspec.Struct)), None)


def _made(kind: type[Any], values: Mapping[str, Any]) -> Any:
    """A section with these values; what is not given in a group stays as it is by default."""
    groups = {key: group for key, wanted in get_type_hints(kind).items() if (group := group_of(wanted))}
    inner = {
        key: _made(groups[key], value) for key, value in values.items() if key in groups and isinstance(value, dict)
    }
    return kind(**{**values, **inner})


def _value(given: Given) -> Any:
    section, *path = given.name.split(".")
    try:
        wanted: Any = _section(section)
        for key in path:
            wanted = get_type_hints(group_of(wanted) or wanted, include_extras=True)[key]
    except (KeyError, TypeError):
        raise ConfigError(f"{given.origin}: there is no setting {given.name}; {_hint(section, given.name)}") from None
    try:
        if not given.is_text:
            return msgspec.convert(given.value, wanted)
        return read(given.value, wanted)
    except msgspec.ValidationError as error:
        where = given.origin if given.origin.endswith(given.name) else f"{given.origin}: {given.name}"
        raise ConfigError(f"{where}: {in_words(error)}") from error


def _hint(section: str, name: str) -> str:
    """What may have been meant by the name of a setting that there is not: first a key of its own section."""
    keys = known_keys()
    own = [key for key in keys if key.startswith(f"{section}.")]
    inner = [key for key in own if key.count(".") > 1 and key.endswith(f".{name.rpartition('.')[2]}")]
    if inner and name.count(".") == 1:
        return f"each group of {section} has its own, as in {inner[0]}"
    for among in (own, keys):
        if near := difflib.get_close_matches(name, among, n=1, cutoff=0.5):
            return f"did you mean {near[0]}?"
    return f"sections are {', '.join((*_OWN, *_OF_CONNECTORS, *SINKS))}"
