# make run    show the examples: python3 >= 3.11 is all it needs
# make test   all tests; what a missing system tool prevents is named, and fails with REQUIRE_ALL=1
# make check  style, types and layers
# make bench  how fast it is
# make wheel  dist/*.whl and dist/*.tar.gz

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# The packages are folders of the repository with other names; types of the tests are looked up through links.
LINKS := build/types

.DEFAULT_GOAL := run
.PHONY: run test check bench wheel clean

run: $(VENV)/installed
	$(BIN)/phasekeeper status examples

test: $(VENV)/tested
	$(BIN)/python -m pytest -rs -n auto $(ARGS)

check: $(VENV)/tested links
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/python -m pytest tests/test_layers.py

bench: $(VENV)/tested
	$(BIN)/python -m tests.bench $(ARGS)

wheel: $(VENV)/tested
	$(BIN)/python -m build

clean:
	rm -rf build dist $(VENV) *.egg-info

.PHONY: links
links:
	@mkdir -p $(LINKS)/phasekeeper
	@ln -sfn $(addprefix $(CURDIR)/,orchestration server tools) $(LINKS)/phasekeeper/
	@ln -sf $(CURDIR)/server/package/*.py $(CURDIR)/server/package/py.typed $(LINKS)/phasekeeper/

# A half-made environment has no stamp and is made again.
$(VENV)/created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "needs Python 3.11 or newer; say which: make PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/installed: pyproject.toml $(VENV)/created
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/tested: pyproject.toml $(VENV)/created
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@ $(VENV)/installed
