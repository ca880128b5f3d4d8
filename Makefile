# Two commands matter: `make demo` (the main job) and `make test` (all tests). Both do their own set-up.
.PHONY: demo test slow unit check clean
.DELETE_ON_ERROR:

PYTHON ?= python3
AS_ROOT := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
BIN := .venv/bin
UNIT := tests/unit tests/repository
SIDE_BY_SIDE := --numprocesses auto  # only the unit part: live tests would be in each other's way

demo: .venv/ready
	setup/install filesystems
	$(AS_ROOT) $(BIN)/perjoule demo $(DEMO)

test: .venv/ready-for-development
	setup/install filesystems tests
	$(BIN)/pytest $(SIDE_BY_SIDE) $(UNIT)
	$(AS_ROOT) $(BIN)/pytest -m "not slow" $(addprefix --ignore=,$(UNIT)) $(TEST)

# What takes minutes by itself: a study of 96 experiments, whole; kills at any moment.
slow: .venv/ready-for-development
	setup/install filesystems tests
	$(AS_ROOT) $(BIN)/pytest -m slow

unit: .venv/ready-for-development
	$(BIN)/pytest $(SIDE_BY_SIDE) $(UNIT)

check: .venv/ready-for-development
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	$(BIN)/codespell
	$(BIN)/python setup/english.py

# The installed tool, as a user has it.
.venv/ready: setup/requirements.txt pyproject.toml
	setup/install base
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --requirement setup/requirements.txt
	$(BIN)/pip install --quiet --no-deps --editable .
	touch $@

.venv/ready-for-development: .venv/ready setup/requirements-development.txt setup/requirements-extras.txt
	$(BIN)/pip install --quiet --requirement setup/requirements-development.txt --requirement setup/requirements-extras.txt
	touch $@

clean:
	rm -rf .venv build src/*.egg-info
