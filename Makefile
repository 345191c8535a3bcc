# Every target sets up what it needs: Python 3.11+ and make are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

PEERS := .venv-peers
WORKERS ?= 2

.PHONY: ci example test fuzz check bench peers clean

ci: example check test  ## the gate: what CI runs

example: $(READY)  ## run the example project, as its team would
	cd example_project && ../$(BIN)/python -m pytest

test: $(READY)  ## run the tests, with branch coverage
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n $(WORKERS) $(ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

fuzz: $(READY)  ## many more eval files than `make test` tries
	HYPOTHESIS_PROFILE=long $(BIN)/python -m pytest tests/test_fuzz.py tests/snapshots/test_serializer.py tests/snapshots/test_names.py tests/capture/test_redaction.py $(ARGS)

check: $(READY)  ## lint, format, types, direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)  ## measure what a case costs, beside the least that it can cost; about 20 minutes
	$(BIN)/python -m tests.benchmarks $(ARGS)

peers:  ## install what `make bench` measures beside this plugin; needs npm
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(PEERS)/bin/python -m pip install --quiet --group peers
	npm install --prefix $(PEERS) --no-audit --no-fund --silent promptfoo

clean:
	rm -rf $(VENV) $(PEERS) .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $@
