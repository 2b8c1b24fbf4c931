PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
READY_DEV := $(VENV)/.ready-dev
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable

# Tests start the program hundreds of times: let Python keep what it compiled.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-frameworks calibrate check format docs pictures setup clean

setup: $(READY_DEV)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Steelyard needs Python 3.11 or newer: make PYTHON=python3.12")'
	@echo "Setting up $(VENV) …"
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL) .
	@touch $(READY)

$(READY_DEV): $(READY)
	@$(INSTALL) '.[dev]'
	@touch $(READY_DEV)

demo: $(READY)
	$(BIN)/steelyard measure --out steelyard-runs/demo
	@echo "To use the command yourself: . $(BIN)/activate"

test: check
	$(BIN)/python -m pytest

# One environment for each framework: their pins exclude each other.
FRAMEWORKS := autoevals deepeval inspect mlflow openevals phoenix promptfoo ragas
FRAMEWORK_BIN = .venv-frameworks/$*/bin
requirements-autoevals := autoevals openai
requirements-deepeval := deepeval
requirements-inspect := inspect-ai openai
requirements-mlflow := mlflow openai
requirements-openevals := openevals langchain-openai
requirements-phoenix := arize-phoenix-evals openai
requirements-ragas := ragas 'langchain-community<0.4'

test-frameworks: $(FRAMEWORKS:%=.venv-frameworks/%.json)
	PYTHONPATH=src:tests .venv-frameworks/autoevals/bin/python benchmarks/frameworks/run.py --table $^

.venv-frameworks/promptfoo.json: export PROMPTFOO_HOME = $(CURDIR)/.venv-frameworks/promptfoo-node
.venv-frameworks/promptfoo.json: .venv-frameworks/promptfoo-node

.venv-frameworks/promptfoo-node: benchmarks/frameworks/promptfooconfig.yaml
	@mkdir -p $@ && npm install --silent --no-audit --no-fund --prefix $@ promptfoo && cp $< $@ && touch $@

.venv-frameworks/%.json: $(wildcard src/steelyard/providers/function/*.py src/steelyard/providers/function/*/*.py)
	@test -d .venv-frameworks/$* || $(PYTHON) -m venv .venv-frameworks/$*
	@$(FRAMEWORK_BIN)/python -m pip install --quiet --disable-pip-version-check . $(requirements-$*)
	PYTHONPATH=src:tests $(FRAMEWORK_BIN)/python benchmarks/frameworks/run.py $* $@ --json

calibrate: $(READY_DEV)
	$(BIN)/python -m pytest -m calibrate
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m calibration
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m calibration.words
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m calibration.changes
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m calibration.until
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m calibration.worth
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m calibration.corrected_scores
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m calibration.arena_scores
	$(BIN)/python docs/generate.py

check: $(READY_DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY_DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(READY_DEV)
	$(BIN)/python docs/generate.py

pictures: $(READY_DEV)
	$(BIN)/python docs/pictures.py

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
