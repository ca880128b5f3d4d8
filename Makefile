# Two commands matter: `make demo` (run the demo) and `make test` (run all tests). Both do their own set-up.
.PHONY: demo test slow elsewhere kernels unit coverage site check clean
.DELETE_ON_ERROR:

PYTHON ?= python3
AS_ROOT := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
BIN := .venv/bin
INSTALL := setup/install
UNIT := tests/unit
unexport PYTHONDONTWRITEBYTECODE  # hundreds of interpreters that tests start would compile all modules again
# Each process begins with its share of the files, so that few fixtures of modules are made twice. One more than there are
# cores, since tests also wait: for children, clocks and disks.
SIDE_BY_SIDE := --numprocesses $(shell expr $$(nproc) + 1) --dist worksteal
# Tests of real daemons mostly wait: six keep two cores busy; what shares a fixture of its file shares a process.
WAITING := --numprocesses 6 --dist loadgroup
# To collect all others takes longer than most of the tests that run alone.
ALONE = $(sort $(shell grep -rl --include="test_*.py" "mark\.alone" tests))
AGAIN := --numprocesses 0 --last-failed --last-failed-no-failures none --exitfirst -rfEp
# --timeout: seconds for a test with its fixtures

demo: .venv/ready
	setup/install filesystems
	$(AS_ROOT) $(BIN)/perjoule demo $(DEMO)

# Every part runs, whether or not those before it pass; at the end stands what is left to `make slow`, and which parts failed.
# A live test that fails is run once more with nothing beside it: machines stand still for seconds. What passes then is listed.
test: .venv/ready-for-development
	$(INSTALL) filesystems tests
	@failed=""; part() { echo "== $$1"; shift; "$$@"; }; \
	live() { name=$$1; shift; set -- $(AS_ROOT) "$(BIN)"/pytest -o cache_dir=build/tests/$$name --ignore $(UNIT) "$$@"; \
	part $$name "$$@" --cache-clear --junit-xml build/tests/$$name.xml || part "$$name: what failed, by itself" "$$@" $(AGAIN); }; \
	part unit "$(BIN)"/pytest $(SIDE_BY_SIDE) --timeout 60 --junit-xml build/tests/unit.xml $(UNIT) || failed="$$failed unit"; \
	live beside tests $(WAITING) --timeout 900 -m "not slow and not alone" || failed="$$failed beside"; \
	live alone $(ALONE) --timeout 600 -m "alone and not slow" || failed="$$failed alone"; \
	[ -z "$$failed" ] || { echo "failed parts:$$failed" >&2; exit 1; }

# What takes minutes by itself, and the cases of which `make test` runs some: before a release, or at night.
slow: .venv/ready-for-development
	$(INSTALL) filesystems tests
	@failed=""; part() { echo "== $$1"; shift; "$$@"; }; \
	part beside $(AS_ROOT) "$(BIN)"/pytest $(WAITING) --timeout 3600 -m "slow and not alone" --ignore $(UNIT) tests || failed="$$failed beside"; \
	part alone $(AS_ROOT) "$(BIN)"/pytest --timeout 3600 -m "slow and alone" --ignore $(UNIT) $(ALONE) || failed="$$failed alone"; \
	[ -z "$$failed" ] || { echo "failed parts:$$failed" >&2; exit 1; }

# Tests that need no machine of their own, where what says nothing about perjoule is otherwise. ELSEWHERE=--help says more.
elsewhere: .venv/ready-for-development
	$(INSTALL) filesystems tests
	$(AS_ROOT) $(BIN)/python -m tests.elsewhere $(ELSEWHERE)

unit: .venv/ready-for-development
	$(BIN)/pytest $(SIDE_BY_SIDE) --timeout 60 -m "not heavy" $(UNIT)

# Live tests that need another kernel, in a virtual machine. KERNELS="nfs --debian 13", for instance; KERNELS=--help says more.
kernels: .venv/ready-for-development
	setup/install base kernels
	$(AS_ROOT) $(BIN)/python -m tests.kernels $(KERNELS)

# The lines that the unit part runs. Apart from `make test`: a tracer takes longer than the tests by themselves.
coverage: .venv/ready-for-development
	$(BIN)/coverage run -m pytest --quiet --timeout 60 $(UNIT)
	$(BIN)/coverage report

# The documentation as files that work offline: build/site/index.html.
site: .venv/ready-for-development
	$(BIN)/python setup/site_pages.py

GATES := "ruff check" "ruff format --check" "basedpyright" "lint-imports" "codespell" "python setup/threat_model.py"

# Every gate runs, whether or not those before it pass.
check: .venv/ready-for-development
	@failed=""; for gate in $(GATES); do \
		echo "== $$gate"; "$(BIN)"/$$gate || failed="$$failed\n  $$gate"; \
	done; [ -z "$$failed" ] || { printf "failed gates:$$failed\n" >&2; exit 1; }

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
