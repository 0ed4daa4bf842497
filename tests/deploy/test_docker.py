"""The image and the composition, read as Docker would read them."""

from __future__ import annotations

import fnmatch
import json
import re
import tomllib
from typing import Any

import jsonschema
import pytest
import yaml

from deploy.mosquitto import desk
from monitor.config import Config, load
from tests.deploy.dockerfile import KNOWN, Instruction, read
from tests.deploy.places import DEPLOY, ROOT

IMAGE = read(DEPLOY / "Dockerfile")
LAST = max(one.stage for one in IMAGE)
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
SCHEMA = json.loads((DEPLOY.parent / "tests" / "deploy" / "compose-spec.json").read_text("utf-8"))
"""The Compose Specification's own schema (Apache-2.0), from the npm package dclint 3.1.0."""


def only(word: str) -> Instruction:
    (one,) = [one for one in IMAGE if one.word == word and one.stage == LAST]
    return one


def settings(environment: dict[str, str]) -> Config:
    return load(DEPLOY / "turnwatch.toml", environment)


def test_every_instruction_is_one_that_docker_knows() -> None:
    assert {one.word for one in IMAGE} <= KNOWN
    assert IMAGE[0].word == "FROM"
    assert LAST == 1


def test_what_is_copied_is_there_and_not_ignored() -> None:
    kept = [line[1:] for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines() if line[:1] == "!"]
    sources = [word for one in IMAGE if one.word == "COPY" and "--from" not in one.text for word in one.words[:-1]]
    assert len(sources) >= 5
    for source in sources:
        assert (ROOT / source).exists(), source
        assert any(fnmatch.fnmatch(source.removeprefix("./"), pattern) for pattern in kept), source
    assert sorted(kept) == sorted(sources), "something is let in that nobody copies"


def test_the_package_and_its_extras_are_installed_as_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (run,) = [one.text for one in IMAGE if one.word == "RUN" and one.stage == 0]
    (extras,) = re.findall(r'"\.\[([\w,]+)\]"', run)
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    assert "mqtt" in extras.split(",")
    assert "--constraint requirements.lock" in run
    assert "--only-binary :all:" in run
    locked = {line.partition("==")[0] for line in (ROOT / "requirements.lock").read_text().splitlines()}
    assert {"msgspec", "websockets", "uvicorn"} <= locked


def test_the_last_stage_holds_no_tools_and_runs_as_nobody_special() -> None:
    runs = " ".join(one.text for one in IMAGE if one.word == "RUN" and one.stage == LAST)
    assert "pip uninstall" in runs
    assert not re.search(r"apt-get|pip (--\S+ )*install|gcc|curl", runs)
    user = only("USER").text
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", user)
    for volume in json.loads(only("VOLUME").text):
        assert volume in runs
    assert "-o {} -g {}".format(*user.split(":")) in runs


def test_the_image_starts_the_service_with_its_own_settings() -> None:
    assert json.loads(only("ENTRYPOINT").text) == ["turnwatch"]
    command = json.loads(only("CMD").text)
    assert command[0] == "serve"
    assert command[command.index("--config") + 1] == next(
        one.words[-1] for one in IMAGE if one.word == "COPY" and "turnwatch.toml" in one.text
    )
    environment = dict(word.split("=", 1) for word in only("ENV").words)
    config = settings({name: value for name, value in environment.items() if name.startswith("TURNWATCH_")})
    ports = [config.serve.ingest.rpartition(":")[2], config.serve.console.rpartition(":")[2]]
    assert only("EXPOSE").words == ports
    assert only("STOPSIGNAL").text in ("SIGTERM", "SIGINT")
    assert f"http://127.0.0.1:{ports[1]}/healthz" in only("HEALTHCHECK").text


def test_the_composition_is_one() -> None:
    schema = jsonschema.Draft7Validator(SCHEMA)
    schema.validate(COMPOSE)
    wrong = {**COMPOSE, "services": {"turnwatch": {**SERVICES["turnwatch"], "cap_dorp": ["ALL"]}}}
    with pytest.raises(jsonschema.ValidationError, match="cap_dorp"):
        schema.validate(wrong)


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_every_service_is_shut_in(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert service["mem_limit"]
    assert service["pids_limit"]
    assert "privileged" not in service
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
    assert "healthcheck" in service or service.get("build"), "only our own image brings its check along"
    assert service["image"].partition(":")[2] not in ("", "latest")


def test_what_is_mounted_is_in_the_tree_or_made_by_the_desk(tmp_path_factory: pytest.TempPathFactory) -> None:
    made = tmp_path_factory.mktemp("desk")
    desk.make(made)
    files = [volume.partition(":")[0] for one in SERVICES.values() for volume in one.get("volumes", [])]
    files += [file for one in SERVICES.values() for file in one.get("env_file", [])]
    files += [secret["file"] for secret in COMPOSE["secrets"].values()]
    for file in files:
        name = file.removeprefix("./")
        if "/" not in name and not name.endswith(".env"):
            assert name in COMPOSE["volumes"]
        elif name.startswith("desk/"):
            assert (made / name.removeprefix("desk/")).exists(), file
        else:
            assert (DEPLOY / name).exists(), file
    used = {secret for one in SERVICES.values() for secret in one.get("secrets", [])}
    assert used == set(COMPOSE["secrets"])


def test_no_secret_stands_in_the_composition() -> None:
    for service in SERVICES.values():
        assert not [key for key in service.get("environment", {}) if re.search("TOKEN|PASSWORD|SECRET|API_KEY", key)]


@pytest.mark.parametrize("name", ["turnwatch", "fleet"])
def test_the_settings_of_our_services_are_taken(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    made = tmp_path_factory.mktemp("desk")
    desk.make(made)
    environment = dict(SERVICES[name]["environment"])
    for file in SERVICES[name]["env_file"]:
        lines = (made / file.removeprefix("desk/")).read_text().splitlines()
        environment |= dict(line.split("=", 1) for line in lines)
    broker = settings(environment).sink("mqtt")
    assert broker.url == "mqtts://mosquitto:8883"
    assert (broker.site, broker.monitor) == (desk.SITE, name)
    assert broker.password == (made / "users" / broker.username).read_text()
    assert "mosquitto" in desk.HOSTS
    assert broker.ca_file == f"/run/secrets/{SERVICES[name]['secrets'][0]}"


def test_a_stop_is_given_the_time_that_it_takes() -> None:
    grace = int(SERVICES["turnwatch"]["stop_grace_period"].removesuffix("s"))
    assert grace >= Config().serve.stop_within_s + 5
