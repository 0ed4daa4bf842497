"""What Prometheus is told to scrape and to alert on, checked by its own tool."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import yaml

from deploy import run_without_containers as runner
from tests.deploy.broker import needed
from tests.deploy.places import DEPLOY

RULES = sorted((DEPLOY / "prometheus" / "rules").glob("*.yml"))


def rules() -> list[dict[str, Any]]:
    """All alert rules."""
    return [rule for file in RULES for group in yaml.safe_load(file.read_text())["groups"] for rule in group["rules"]]


def promtool(*arguments: str | Path) -> str:
    done = subprocess.run([needed("promtool"), *arguments], capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_rules_are_rules() -> None:
    assert promtool("check", "rules", *RULES).count("SUCCESS") == len(RULES) == 2


def test_the_configuration_is_one_and_finds_the_rules(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    (tmp_path / "prometheus.yml").write_text(runner.prometheus_config(tmp_path, 8766))
    told = promtool("check", "config", tmp_path / "prometheus.yml")
    assert f"SUCCESS: {len(RULES)} rule files found" in told


def test_the_rules_do_what_they_say() -> None:
    promtool("test", "rules", DEPLOY / "prometheus" / "rules_test.yml")


def test_every_rule_has_a_test_in_which_it_alerts() -> None:
    named = {rule["alert"] for rule in rules()}
    tests = yaml.safe_load((DEPLOY / "prometheus" / "rules_test.yml").read_text())["tests"]
    alerted = {case["alertname"] for test in tests for case in test["alert_rule_test"] if case.get("exp_alerts")}
    assert alerted == named


def test_every_rule_says_what_it_means() -> None:
    for rule in rules():
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert all(rule["annotations"][key].strip() for key in ("summary", "description"))
