# Two commands on a fresh machine: `make demo` and `make test`. Both set everything up first and
# re-use what is installed as long as pyproject.toml and constraints.txt stay the same.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: help demo test lint format benchmark clean

help:
	@echo "make demo       train small models on the toy corpora, test their grammar, write a report"
	@echo "make test       ruff, mypy and all tests"
	@echo "make benchmark  measure speed"
	@echo "make clean      remove the virtual environment, caches and the demo's runs"

$(VENV)/.installed: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "error: Python 3.11 was not found; install it, or set PYTHON=" >&2; exit 2; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { \
		echo "error: $(PYTHON) is not Python 3.11; set PYTHON=/path/to/python3.11" >&2; exit 2; }
	@echo "Setting up $(VENV) (a few minutes the first time) ..."
	@"$(PYTHON)" -m venv $(VENV)
	@$(INSTALL) --editable .
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	@echo "Installing test tools ..."
	@$(INSTALL) --editable '.[test]'
	@touch $@

# What the demo evaluates: narrow beams are enough for small grammars.
DEMO := suite=demo task.perplexity=true task.perplexity_sentences=30 task.parsed_items=2 \
	search.action_beam=30 search.word_beam=5

demo: $(VENV)/.installed
	@rm -rf runs/demo
	@$(MAKE) --no-print-directory -j2 demo-english demo-mandarin
	@$(BIN)/python evaluate.py run=runs/demo $(DEMO)

# Small models use one thread best, so the two corpora are worked on side by side. Surprisals are
# kept: the report over both finds them.
demo-%: $(VENV)/.installed
	@OMP_NUM_THREADS=1 $(BIN)/python train.py -m experiment=demo data=toy_$* model=unigram,ngram
	@OMP_NUM_THREADS=1 $(BIN)/python train.py -m experiment=demo data=toy_$* \
		model=lstm,transformer,rnng,plm model.network.dropout=0 seed=1,2
	@echo "Scoring the models of toy_$* ..."
	@OMP_NUM_THREADS=1 $(BIN)/python evaluate.py run=runs/demo/toy_$* $(DEMO) task.report=false \
		output=runs/demo/toy_$* >/dev/null

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# One thread in each of two processes is faster than two threads that wait for each other.
test: lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

format: $(VENV)/.installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

benchmark: $(VENV)/.installed
	$(BIN)/python -m benchmarks.data
	$(BIN)/python -m benchmarks.training
	$(BIN)/python -m benchmarks.search

clean:
	rm -rf $(VENV) .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis runs/demo results/demo
