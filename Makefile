# Every target sets up what it needs: Python 3.11+ and make are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

PEERS := .venv-peers
# promptfoo, which reads its own files.
FORMATS := .venv-formats
# Without what `make check` needs: httpx imports a command-line client of its own wherever rich and click are installed.
BENCH := .venv-bench
# What `make test` does not have; two environments of Python, since some clients want older versions of others.
CLIENTS := .venv-clients
# With Playwright, to drive a real Chromium.
BROWSER := .venv-browser
# One more than the cores of CI: for a quarter of their time tests wait for servers, processes and workers of their own.
WORKERS ?= 3

# Tests write some 50,000 small files: into memory, if there is enough of it and programs may be started there.
IN_MEMORY = [ "$$(df -Pk /dev/shm | awk 'NR == 2 {print $$4}')" -gt 1000000 ] && ! grep -q ' /dev/shm .*noexec' /proc/mounts
test coverage soak: export TMPDIR ?= $(shell { $(IN_MEMORY); } 2>/dev/null && echo /dev/shm)

# Else each process that the tests start compiles the package, and what pytest rewrites in it, once more.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: ci example test coverage test-browser test-clients picture lock-clients fuzz soak formats check schema mutants bench bench-quick peers clean

ci: example check coverage soak test-clients test-browser  ## the gate: what CI runs

example: $(READY)  ## run the example project, as its team would
	cd example_project && ../$(BIN)/python -m pytest

test: $(READY)  ## run the tests; ARGS names some of them
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

coverage: $(READY)  ## run the tests, and fail if they miss a line or a branch; takes half as long again
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n $(WORKERS) --dist worksteal $(ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report $(if $(ARGS),--fail-under=0)

test-browser: $(BROWSER)/.ready $(BROWSER)/node/.ready  ## check the page's script, and open the page in Chromium, which this installs if there is none; needs npm
	$(BROWSER)/node/node_modules/.bin/tsc --project tests/browser
	$(BROWSER)/bin/python -m tests.browser.chromium
	$(BROWSER)/bin/python -m pytest tests/browser $(ARGS)

picture: $(BROWSER)/.ready  ## take the picture of the page in docs/review.md anew
	$(BROWSER)/bin/python -m tests.browser.picture

test-clients: $(READY) $(CLIENTS)/current/.ready $(CLIENTS)/older/.ready $(CLIENTS)/node/.ready  ## try the clients that only this target installs; needs npm
	$(CLIENTS)/current/bin/python -m pytest tests/clients/current $(ARGS)
	$(CLIENTS)/older/bin/python -m pytest tests/clients/older $(ARGS)
	$(BIN)/python -m pytest tests/clients/node $(ARGS)

lock-clients:  ## pin the newest versions of these clients
	for each in current older; do \
	  rm -rf $(CLIENTS)/$$each && $(PYTHON) -m venv $(CLIENTS)/$$each && \
	  $(CLIENTS)/$$each/bin/python -m pip install --quiet --upgrade 'pip>=25.1' && \
	  $(CLIENTS)/$$each/bin/python -m pip install --quiet --editable . --group clients-$$each && \
	  { echo "# Made by \`make lock-clients\` from the group clients-$$each of pyproject.toml."; \
	    $(CLIENTS)/$$each/bin/python -m pip freeze --exclude-editable; } > tests/clients/$$each/requirements.txt && \
	  touch $(CLIENTS)/$$each/.ready || exit 1; \
	done

fuzz: $(READY)  ## many more eval files than `make test` tries
	HYPOTHESIS_PROFILE=long $(BIN)/python -m pytest tests/test_fuzz.py tests/snapshots/test_layout.py tests/snapshots/test_files.py tests/snapshots/test_accept_change.py tests/capture/secrets/test_redaction.py $(ARGS)

soak: $(READY)  ## the long forms of tests: many kills, requests and examples
	$(BIN)/python -m pytest -n $(WORKERS) -m soak $(ARGS)

formats: $(READY) $(FORMATS)/.ready  ## compare what promptfoo itself sends with what its files send here; needs npm
	$(BIN)/python -m pytest tests/formats $(ARGS)

check: $(READY)  ## lint, format, types, direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(BENCH)/.ready  ## measure what a case costs, beside the minimal cost of an eval item, and fail if a budget is not kept; about an hour
	$(BENCH)/bin/python -m tests.benchmarks $(ARGS)

bench-quick: $(BENCH)/.ready  ## the small rows of `make bench`; two minutes
	$(BENCH)/bin/python -m tests.benchmarks --quick $(ARGS)

schema: $(READY)  ## write the JSON Schemas of eval files and of reports anew; also what resolves a conflict in them
	$(BIN)/python -c 'from tests.eval_schema_generator import write_schema; write_schema()'
	$(BIN)/python -c 'from tests.results.report_schema import write_schema; write_schema()'

# Each mutant has a time limit.
mutants: WORKERS = 2
mutants: $(READY)  ## change the code bit by bit, and list what no test notices; some hours, or minutes with ARGS="'pytest_chatprompt.prompt.media.*'"
	$(BIN)/python -m pip install --quiet --group mutants
	rm -rf mutants # mutmut would keep its verdicts of survivors, whatever tests were added
	ulimit -v 6000000 2>/dev/null; nice $(BIN)/mutmut run --max-children $(WORKERS) $(ARGS)
	$(BIN)/mutmut results | grep -v ': not checked$$' || true

peers:  ## install what `make bench` measures beside this plugin; needs npm
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(PEERS)/bin/python -m pip install --quiet --group peers
	npm install --prefix $(PEERS) --no-audit --no-fund --silent promptfoo

clean:
	rm -rf $(VENV) $(BENCH) $(BROWSER) $(PEERS) $(CLIENTS) $(FORMATS) .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist mutants

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $@

$(BENCH)/.ready: pyproject.toml
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BENCH)/bin/python -m pip install --quiet --editable . --group test
	touch $@

$(BROWSER)/.ready: pyproject.toml
	$(PYTHON) -m venv $(BROWSER)
	$(BROWSER)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BROWSER)/bin/python -m pip install --quiet --editable . --group browser
	touch $@

$(BROWSER)/node/.ready: tests/browser/package.json tests/browser/package-lock.json
	mkdir -p $(@D)
	cp $^ $(@D)
	npm ci --prefix $(@D) --no-audit --no-fund --silent
	touch $@

$(CLIENTS)/node/.ready: tests/clients/node/package.json tests/clients/node/package-lock.json
	mkdir -p $(@D)
	cp $^ $(@D)
	npm ci --prefix $(@D) --no-audit --no-fund --silent
	touch $@

$(FORMATS)/.ready: tests/formats/package.json
	mkdir -p $(@D)
	cp $^ $(@D)
	npm install --prefix $(@D) --no-audit --no-fund --silent
	touch $@

$(CLIENTS)/%/.ready: tests/clients/%/requirements.txt
	$(PYTHON) -m venv $(CLIENTS)/$*
	$(CLIENTS)/$*/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(CLIENTS)/$*/bin/python -m pip install --quiet --no-deps --requirement $<
	$(CLIENTS)/$*/bin/python -m pip install --quiet --no-deps --editable .
	touch $@
