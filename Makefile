PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
READY_DEV := $(VENV)/.ready-dev
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable

# Tests start the program hundreds of times: let Python keep what it compiled.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test quick test-frameworks calibrate check format docs pictures setup clean

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

# Several processes of tests keep the cores busy: BLAS needs no threads of its own.
test: check
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest

# While you write: the tests that call functions alone.
quick: $(READY_DEV)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --quick -n 2

# One environment for each framework: their pins exclude each other. An environment that is there is taken as
# it is: make test-frameworks FRAMEWORK_ENVS=FOLDER, with FOLDER/deepeval/bin/python and so on, and
# FOLDER/promptfoo/node_modules. Left to itself, pip puts instructor 1.3.2 under Ragas.
FRAMEWORK_ENVS ?= .venv-frameworks
FRAMEWORKS := autoevals deepeval inspect mlflow openevals phoenix promptfoo ragas
requirements-autoevals := autoevals openai
requirements-deepeval := deepeval
requirements-inspect := inspect-ai openai
requirements-mlflow := mlflow openai
requirements-openevals := openevals langchain-openai
requirements-phoenix := arize-phoenix-evals openai
requirements-ragas := ragas 'langchain-community<0.4' 'instructor>=1.15'
RUN_FRAMEWORK = OMP_NUM_THREADS=1 PYTHONPATH=src:tests $< benchmarks/frameworks/run.py

.PHONY: $(FRAMEWORKS:%=test-framework-%)
test-frameworks: $(FRAMEWORK_ENVS)/autoevals/bin/python $(FRAMEWORKS:%=test-framework-%)
	$(RUN_FRAMEWORK) --guide $(FRAMEWORKS:%=$(FRAMEWORK_ENVS)/%.json)

$(filter-out %-promptfoo,$(FRAMEWORKS:%=test-framework-%)): test-framework-%: $(FRAMEWORK_ENVS)/%/bin/python
	$(RUN_FRAMEWORK) $* $(abspath $(FRAMEWORK_ENVS))/$*.json

test-framework-promptfoo: $(FRAMEWORK_ENVS)/autoevals/bin/python $(FRAMEWORK_ENVS)/promptfoo/node_modules
	cp benchmarks/frameworks/promptfooconfig.yaml $(FRAMEWORK_ENVS)/promptfoo
	PROMPTFOO_HOME=$(abspath $(FRAMEWORK_ENVS))/promptfoo $(RUN_FRAMEWORK) promptfoo $(abspath $(FRAMEWORK_ENVS))/promptfoo.json

$(FRAMEWORK_ENVS)/promptfoo/node_modules:
	mkdir -p $(@D) && npm install --silent --no-audit --no-fund --prefix $(@D) promptfoo

$(FRAMEWORK_ENVS)/%/bin/python:
	$(PYTHON) -m venv $(FRAMEWORK_ENVS)/$*
	$@ -m pip install --quiet --disable-pip-version-check . $(requirements-$*) || { rm -rf $(FRAMEWORK_ENVS)/$*; exit 1; }

calibrate: $(READY_DEV)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m hypothesis --hypothesis-profile thorough
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m calibrate
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m calibration
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m calibration.words
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m calibration.changes
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m calibration.until
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m calibration.worth
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m calibration.scale_worth
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m calibration.ranks
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
