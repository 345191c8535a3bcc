# Every target sets up what it needs: Python 3.11+ and make are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: example test fuzz check clean

example: $(READY)  ## run the example project, as its team would
	cd example_project && ../$(BIN)/python -m pytest

test: $(READY)  ## run the tests, with branch coverage
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest $(ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

fuzz: $(READY)  ## many more eval files than `make test` tries
	HYPOTHESIS_PROFILE=long $(BIN)/python -m pytest tests/test_fuzz.py tests/test_snapshot_yaml.py tests/test_naming.py $(ARGS)

check: $(READY)  ## lint, format, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $@
