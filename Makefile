# `make demo` and `make test` set up what they need on a fresh machine, then run. Everything else is for developers.

VENV := .venv
BIN := $(VENV)/bin
# The first Python of at least 3.11 on the path; `make test PYTHON=python3.13` picks another.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq

.PHONY: demo test lint types unit bench format lock configuration clean

demo: $(VENV)/.run
	@$(BIN)/turnwatch demo

test: lint types unit

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

# Three at a time: much of the time is waiting for sockets.
unit: $(VENV)/.dev $(VENV)/.system
	PATH="$$PATH:/usr/sbin:/sbin" $(BIN)/python -m pytest -n 3 --dist worksteal

bench: $(VENV)/.dev
	@for each in tests/benchmarks/*.py; do echo "== $$each"; PYTHONPATH=. $(BIN)/python $$each || [ $$? = 2 ] || exit 1; done

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Resolves every dependency anew, for all supported Pythons and systems at once.
lock: $(VENV)/.dev
	$(PIP) install uv
	$(BIN)/uv pip compile --quiet --universal --upgrade --python-version 3.11 --all-extras \
		--no-header --no-annotate --no-emit-index-url pyproject.toml -o requirements.lock

# What is made from the settings and the events, and held to them by tests.
configuration: $(VENV)/.dev
	$(BIN)/python -m monitor.config_file > deploy/turnwatch.toml
	$(BIN)/python -m monitor.sinks.mqtt.asyncapi > deploy/asyncapi.json

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist

# A virtual environment with pip in it. Debian's Python comes without the part that makes one: install that, if we may.
$(VENV)/.made:
	@test -n "$(PYTHON)" || { echo "turnwatch needs Python 3.11 or newer: install it and run make again" >&2; exit 1; }
	@if ! $(PYTHON) -c 'import venv, ensurepip' 2>/dev/null; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv; \
		else echo "$(PYTHON) cannot make virtual environments: install the system package python3-venv" >&2; exit 1; fi; \
	fi
	@$(PYTHON) -m venv $(VENV)
	@touch $@

# What the tests check against: a real broker, and the checkers that come with Prometheus, systemd and OpenSSL.
$(VENV)/.system: $(VENV)/.made
	@export PATH="$$PATH:/usr/sbin:/sbin"; \
	if ! { command -v mosquitto && command -v promtool && command -v systemd-analyze && command -v openssl; } >/dev/null; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
			apt-get install -y -qq --no-install-recommends mosquitto prometheus systemd openssl >/dev/null; \
		else echo "the tests need the system packages mosquitto, prometheus, systemd and openssl: install them" >&2; exit 1; fi; \
	fi
	@touch $@

$(VENV)/.run: $(VENV)/.made pyproject.toml requirements.lock
	@echo "setting up $(VENV) ..." >&2
	@$(PIP) install -c requirements.lock -e '.[local]'
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	@echo "setting up the tools for developers ..." >&2
	@$(PIP) install -c requirements.lock -e '.[dev]'
	@touch $@
