# Two commands for a fresh machine: `make demo` and `make test`. Both install everything first and
# reuse the installation as long as pyproject.toml and constraints.txt do not change.

# Supported versions of Python, in order of preference (the same as in pyproject.toml).
VERSIONS := 3.11 3.12 3.13
# Prints the version of an interpreter; fails if it does not run or is not supported.
SUPPORTED := -c 'import sys; v = "%d.%d" % sys.version_info[:2]; print(v); sys.exit(v not in "$(VERSIONS)".split())'
# The first supported interpreter. A command may exist and still not run, so each one is tried.
PYTHON ?= $(shell for name in $(addprefix python,$(VERSIONS)) python3; do \
	if $$name $(SUPPORTED) >/dev/null 2>&1; then command -v $$name; break; fi; done)
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt
# mypy and the documentation read sources without importing them, so they need a folder with the
# name of the package.
LINK := build/types/gardenpath

.PHONY: help demo test test-all lint types docs format benchmark fuzz audit clean

help:
	@echo "make demo       train small models on a small grammar, evaluate them, write a report"
	@echo "make test       ruff, mypy and the fast tests (7 minutes on two cores)"
	@echo "make test-all   ruff, mypy and all tests"
	@echo "make lint       ruff and mypy"
	@echo "make format     format the code"
	@echo "make docs       build the documentation in site/"
	@echo "make benchmark  measure speed"
	@echo "make fuzz       damaged and odd input for all readers (INPUTS=10000 each)"
	@echo "make audit      look for known vulnerabilities in the pinned dependencies"
	@echo "make clean      remove the virtual environment, caches and the demo's runs"
	@echo "PYTHON=/path/to/python selects the interpreter (Python $(VERSIONS))"

# A virtual environment with another version of Python is replaced.
$(VENV)/.installed: pyproject.toml constraints.txt
	@python="$(PYTHON)"; \
	test -n "$$python" || { \
		echo "error: no Python of version $(VERSIONS) was found;" \
			"install one, or set PYTHON=/path/to/python" >&2; exit 2; }; \
	version=$$("$$python" $(SUPPORTED) 2>/dev/null) || { \
		echo "error: PYTHON=$$python is $${version:+Python }$${version:-not a working Python};" \
			"set PYTHON to an interpreter of version $(VERSIONS)" >&2; exit 2; }; \
	echo "Setting up $(VENV) with Python $$version (a few minutes the first time) ..."; \
	test "$$($(BIN)/python $(SUPPORTED) 2>/dev/null)" = "$$version" || clear=--clear; \
	"$$python" -m venv $$clear $(VENV)
	@$(INSTALL) --editable '.[launchers,playground]'
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	@echo "Installing test tools ..."
	@$(INSTALL) --editable '.[test]'
	@touch $@

# Narrow beams suffice for a small grammar.
DEMO := suite=demo task.perplexity=true task.perplexity_sentences=50 task.parsed_items=2 \
	search.action_beam=30 search.word_beam=5

# Small models run best on one thread, so as many of them as there are cores are trained at once.
demo: $(VENV)/.installed
	@rm -rf runs/demo
	@echo 'Training an n-gram model and four networks, one on each core ...'
	@$(BIN)/python train.py experiment=demo
	@$(BIN)/python train.py -m experiment=demo_neural hydra/launcher=local
	@echo 'Scoring test sentences and suites ...'
	@OMP_NUM_THREADS=1 $(BIN)/python evaluate.py run=runs/demo $(DEMO)
	@printf '%s\n' 'Next, try sentences of your own with the words of the demo:' \
		'  $(BIN)/python evaluate.py task=surprisal run=runs/demo \' \
		'      input="the horse raced past the barn fell ."'

$(LINK):
	@mkdir -p $(@D)
	@ln -sfn ../../src $@

lint: $(VENV)/.installed-test $(LINK)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

types: $(VENV)/.installed-test $(LINK)
	$(BIN)/mypy

# Two processes with one thread each are faster than one process with two threads.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

test: lint
	$(PYTEST) -m "not slow"

test-all: lint
	$(PYTEST)

docs: $(VENV)/.installed-test $(LINK)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

format: $(VENV)/.installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

benchmark: $(VENV)/.installed
	$(BIN)/python -m benchmarks.data
	$(BIN)/python -m benchmarks.training
	$(BIN)/python -m benchmarks.search
	$(BIN)/python -m benchmarks.vocabulary
	$(BIN)/python -m benchmarks.scale --sizes 10000 100000

INPUTS ?= 10000
fuzz: $(VENV)/.installed-test $(LINK)
	OMP_NUM_THREADS=1 PYTHONPATH=build/types $(BIN)/python -m tests.fuzz --inputs $(INPUTS)

# The tool has an environment of its own, because it needs other versions of packages. A package
# that cannot be looked up is an error (--strict).
audit:
	@test -x build/audit/bin/pip-audit || { $(PYTHON) -m venv build/audit && \
		build/audit/bin/pip install --quiet --disable-pip-version-check 'pip-audit>=2.7,<3'; }
	build/audit/bin/pip-audit --requirement constraints.txt --no-deps --disable-pip --strict

clean:
	rm -rf $(VENV) build dist site .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis runs/demo results/demo
