"""Settings: frozen, from a TOML file, the environment and the command line, the later before the earlier.

    [speech]
    open_ms = 60                        # turnwatch.toml, with --config turnwatch.toml

    TURNWATCH_SPEECH__OPEN_MS=60        # the environment
    --set speech.open_ms=60             # the command line

The unit stands in each key's name. An unknown key is an error that names the nearest known one.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_args, get_type_hints

import msgspec

from monitor.core.call import CoreSettings
from monitor.core.speech import SpeechSettings
from monitor.core.timeline import TimelineSettings
from monitor.core.turn_taking import TurnTakingSettings

if TYPE_CHECKING:
    from connectors.elevenlabs import RelaySettings
    from connectors.twilio.settings import TwilioSettings

ENVIRONMENT = "TURNWATCH_"
_SECRET = ("token", "key", "secret", "password")


class ConfigError(Exception):
    """The configuration is wrong. The message names the key, where it stands, and what would be right."""


class ServeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The listening side. `ingest`, `console`: host:port of the two ports. `token`: what clients must show; required
    where a port is bound beyond loopback. `max_calls`: calls at a time, more are refused with 503. `sweep_ms`: how
    often time-outs are looked after. `stop_within_s`: how long a stop may take to flush everything."""

    ingest: str = "127.0.0.1:8765"
    console: str = "127.0.0.1:8766"
    token: str | None = None
    max_calls: int = 1000
    sweep_ms: int = 50
    stop_within_s: float = 3.0


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every setting, by section. What a section means stands in its own class. `connectors`: the sections of connectors
    that wait for calls, as far as they were set; they are made when they are asked for, since they load the connector.
    """

    speech: SpeechSettings = SpeechSettings()
    timeline: TimelineSettings = TimelineSettings()
    turn_taking: TurnTakingSettings = TurnTakingSettings()
    serve: ServeSettings = ServeSettings()
    connectors: dict[str, dict[str, Any]] = {}

    @property
    def core(self) -> CoreSettings:
        """What the core judges by, and what stands on tapes."""
        return CoreSettings(self.speech, self.timeline, self.turn_taking)

    @property
    def elevenlabs(self) -> RelaySettings:
        """The relay in front of ElevenLabs."""
        return cast("RelaySettings", _section("elevenlabs")(**self.connectors.get("elevenlabs", {})))

    @property
    def twilio(self) -> TwilioSettings:
        """The endpoint for media streams."""
        return cast("TwilioSettings", _section("twilio")(**self.connectors.get("twilio", {})))

    def __repr__(self) -> str:
        return f"Config({', '.join(self._shown())})"

    def _shown(self) -> Iterator[str]:
        own = {name: msgspec.structs.asdict(getattr(self, name)) for name in _OWN}
        for section, values in (own | self.connectors).items():
            for key, value in values.items():
                hidden = value is not None and any(word in key for word in _SECRET)
                yield f"{section}.{key}={'…' if hidden else repr(value)}"


_OWN: dict[str, type[Any]] = {
    "speech": SpeechSettings,
    "timeline": TimelineSettings,
    "turn_taking": TurnTakingSettings,
    "serve": ServeSettings,
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
    module, kind = _OF_CONNECTORS[name]
    return cast("type[Any]", getattr(import_module(module), kind))


class _Given(NamedTuple):
    """One value that somebody set, and where it stands. `is_text`: it still has to be read as its key's type."""

    origin: str
    name: str
    value: Any
    is_text: bool


def load(
    file: Path | None = None, environment: Mapping[str, str] | None = None, assignments: Iterable[str] = ()
) -> Config:
    """The settings from `file`, then `environment`, then `assignments` (`section.key=value`). Raises ConfigError."""
    sections: dict[str, dict[str, Any]] = {}
    for given in (*_from_file(file), *_from_environment(environment or {}), *_from_assignments(assignments)):
        *folders, key = given.name.split(".")
        value, place = _value(given), cast("dict[str, Any]", sections)
        for folder in folders:
            if not isinstance(place.get(folder), dict):
                place[folder] = {}  # not there yet, or the whole group had been set to null
            place = place[folder]
        place[key] = value
    try:
        made = {section: _made(_section(section), values) for section, values in sections.items()}
    except (ValueError, TypeError) as error:
        raise ConfigError(str(error)) from error
    own = {section: made[section] for section in made if section in _OWN}
    return Config(**own, connectors={name: values for name, values in sections.items() if name not in _OWN})


def known_keys() -> list[str]:
    """Every key as `section.key`, in order; `section.group.key` where a section has groups."""
    return [f"{section}.{key}" for section in (*_OWN, *_OF_CONNECTORS) for key in _keys(_section(section))]


def _keys(kind: type[Any]) -> Iterator[str]:
    for key, wanted in get_type_hints(kind).items():
        group = _group(wanted)
        yield from [key] if group is None else (f"{key}.{inner}" for inner in _keys(group))


def _group(wanted: Any) -> type[Any] | None:
    """The class of a group of settings within a section, also where it may be None; None for a single setting."""
    kinds = (wanted, *get_args(wanted))
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, msgspec.Struct)), None)


def _made(kind: type[Any], values: Mapping[str, Any]) -> Any:
    """A section with these values; what is not given in a group stays as it is by default."""
    groups = {key: group for key, wanted in get_type_hints(kind).items() if (group := _group(wanted))}
    inner = {
        key: _made(groups[key], value) for key, value in values.items() if key in groups and isinstance(value, dict)
    }
    return kind(**{**values, **inner})


def _from_file(file: Path | None) -> Iterator[_Given]:
    if file is None:
        return
    try:
        content = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read the configuration {file}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"the configuration {file} is not TOML: {error}") from error
    for section, keys in content.items():
        if not isinstance(keys, dict):
            raise ConfigError(f"{file}: {section} stands outside of a section such as [speech]")
        yield from _flat(str(file), section, keys)


def _flat(origin: str, place: str, keys: dict[str, Any]) -> Iterator[_Given]:
    known = known_keys()
    for key, value in keys.items():
        name = f"{place}.{key}"
        if isinstance(value, dict) and any(one.startswith(f"{name}.") for one in known):
            yield from _flat(origin, name, value)
        else:
            yield _Given(origin, name, value, is_text=False)


def _from_environment(environment: Mapping[str, str]) -> Iterator[_Given]:
    for variable, value in environment.items():
        name = variable.removeprefix(ENVIRONMENT).lower()
        if variable.startswith(ENVIRONMENT) and "__" in name:
            yield _Given(variable, name.replace("__", "."), value, is_text=True)


def _from_assignments(assignments: Iterable[str]) -> Iterator[_Given]:
    for assignment in assignments:
        name, mark, value = assignment.partition("=")
        name = name.strip()
        if not (mark and all(name.partition("."))):
            raise ConfigError(f"--set {assignment}: it takes section.key=value, as in speech.open_ms=60")
        yield _Given(f"--set {name}", name, value.strip(), is_text=True)


def _value(given: _Given) -> Any:
    section, *path = given.name.split(".")
    try:
        wanted: Any = _section(section)
        for key in path:
            wanted = get_type_hints(_group(wanted) or wanted, include_extras=True)[key]
    except (KeyError, TypeError):
        near = difflib.get_close_matches(given.name, known_keys(), n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else f"sections are {', '.join((*_OWN, *_OF_CONNECTORS))}"
        raise ConfigError(f"{given.origin}: there is no setting {given.name}; {hint}") from None
    try:
        if not given.is_text:
            return msgspec.convert(given.value, wanted)
        return _read(given.value, wanted)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{given.origin}: {given.name}: {str(error)[:1].lower()}{str(error)[1:]}") from error


def _read(text: str, wanted: Any) -> Any:
    """`text` as a value of the type `wanted`; lists and tables are written as in TOML."""
    try:
        return msgspec.convert(text, wanted, strict=False)
    except msgspec.ValidationError:
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            value = text
        return msgspec.convert(value, wanted)
