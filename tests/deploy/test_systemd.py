"""The systemd unit: systemd itself has nothing against it, and it shuts the service in."""

from __future__ import annotations

import configparser
import re
import subprocess
from pathlib import Path

import pytest

from monitor.config import Config
from monitor.runtime import stopping
from tests.deploy.broker import needed
from tests.deploy.places import DEPLOY

UNIT = DEPLOY / "turnwatch.service"


class Repeated(dict[str, object]):
    """Keys that stand there twice are added to each other, as systemd does."""

    def __setitem__(self, key: str, value: object) -> None:
        if isinstance(value, list) and isinstance(known := self.get(key), list):
            known.extend(value)
        else:
            super().__setitem__(key, value)


@pytest.fixture(scope="module")
def service() -> configparser.SectionProxy:
    parser = configparser.ConfigParser(dict_type=Repeated, strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(UNIT)
    return parser["Service"]


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit with a program that is there."""
    program = tmp_path / "turnwatch"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/opt/turnwatch/bin/turnwatch", str(program)))
    return copy


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [needed("systemd-analyze"), *arguments], capture_output=True, text=True, check=False, timeout=30
    )


def test_systemd_has_nothing_against_it(unit: Path) -> None:
    done = analyze("verify", "--man=no", str(unit))
    ours = [line for line in (done.stdout + done.stderr).splitlines() if UNIT.name in line]
    assert (done.returncode, ours) == (0, [])


def test_systemd_would_find_a_slip_in_it(unit: Path) -> None:
    unit.write_text(unit.read_text().replace("ProtectSystem=strict", "ProtectSystems=strict"))
    assert "'ProtectSystems' in section" in analyze("verify", "--man=no", str(unit)).stderr


def test_it_is_shut_in(unit: Path) -> None:
    """10 is open to everything, 0 to nothing; 20 is 2.0."""
    if "--offline" not in analyze("--help").stdout:  # before systemd 250 only a running one could be looked at
        assert int(re.findall(r"systemd (\d+)", analyze("--version").stdout)[0]) < 250
        return
    done = analyze("security", "--offline=true", "--no-pager", "--threshold=20", str(unit))
    assert done.returncode == 0, done.stdout[-200:]
    assert analyze("security", "--offline=true", "--no-pager", "--threshold=5", str(unit)).returncode != 0


def test_a_stop_is_given_the_time_that_it_takes(service: configparser.SectionProxy) -> None:
    assert int(service["TimeoutStopSec"]) >= Config().serve.stop_within_s + 5
    codes = {128 + number for number in (2, 15)}
    assert codes == {int(code) for code in service["SuccessExitStatus"].split()}
    assert service["KillSignal"] == "SIGTERM"
    assert stopping.HANG_UP


def test_it_writes_into_its_own_folder_alone(service: configparser.SectionProxy) -> None:
    assert service["ProtectSystem"] == "strict"
    assert service["DynamicUser"] == "yes"
    assert "ReadWritePaths" not in service
    assert "XDG_STATE_HOME=%S" in service["Environment"].split()
    assert "${STATE_DIRECTORY}/history.db" in service["ExecStart"]


def test_secrets_come_from_a_file_that_it_cannot_read_itself(service: configparser.SectionProxy) -> None:
    assert service["EnvironmentFile"] == "-/etc/turnwatch/secrets.env"
    assert not re.search("TOKEN|PASSWORD|KEY=", service["Environment"])
