# `make demo` and `make test` need nothing but a Python of 3.11 to 3.14, and keep what they install
# in .venv: the first what geodp runs on, the others what its tests need too.
# Another Python: make demo PYTHON=python3.13
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
RUNS := .venv/.runs

.PHONY: demo test fast windows laws faults docs site bench catalogues wheels check clean

demo: $(RUNS)
	@echo "Publishing the embedded example (512 x 512 cells of 500 m around Tokyo, synthetic)."
	$(BIN)/geodp publish data/kanto/*.zip --grid jis:half --value '人口（総数）' \
	    --bounds 138.0 35.0 141.2 37.1333333333 --epsilon 0.1 --output demo --overwrite
	$(BIN)/geodp verify demo
	@echo "The map: demo/public/population.png; for QGIS: demo/public/population.tif"

test: $(INSTALLED)
	@echo "Running all tests but the long ones (pytest -m law), and the examples of all documents ..."
	$(BIN)/python -m pytest -n auto --dist worksteal -p tests.durations -m "not law" \
	    $(addprefix --ignore=,$(IGNORED))

fast: $(INSTALLED)
	@echo "Running the tests but for laws, real data and clusters ..."
	$(BIN)/python -m pytest -n auto --dist loadfile -m "not law and not real" \
	    --ignore tests/cluster

windows: $(INSTALLED)
	@echo "Running all tests but the long ones in a process without anything of POSIX ..."
	PYTHONPATH=. $(BIN)/python -P tests/windows.py -q -W ignore -m "not law" tests

laws: $(INSTALLED)
	@echo "Running the laws of the noise, the errors that are stated, and the audits ..."
	$(BIN)/python -m pytest -n auto --dist worksteal -p tests.durations -m law \
	    $(addprefix --ignore=,$(IGNORED)) tests

faults: $(INSTALLED)
	@echo "Letting every change of every command that writes fail, a line for each call ..."
	$(BIN)/python -m tests.faults

docs: $(INSTALLED)
	@echo "Running examples of docstrings and documents, and comparing their figures ..."
	$(BIN)/python -m pytest -n auto --dist loadfile -m "not law" geodp README.md CONTRIBUTING.md docs \
	    tests/house/test_readme.py tests/house/test_documents.py tests/house/test_claims.py \
	    tests/house/test_new_method.py tests/house/test_notebooks.py

site: $(INSTALLED)
	@echo "Building the documentation site, without network, into build/site ..."
	rm -rf build/site
	$(BIN)/python docs/site/figures.py
	$(BIN)/python -m sphinx -W --keep-going -q -c docs/site -d build/site/read . build/site/html
	$(BIN)/python -m sphinx -W --keep-going -q -c docs/site -d build/site/paper -t print -b singlehtml \
	    . build/site/html/print
	cd build/site/html/print && mv docs/site/* . && rm -r docs  # its pictures lie here
	$(BIN)/python docs/site/check.py build/site/html
	@echo "Its first page: build/site/html/index.html"

bench: $(INSTALLED)
	@echo "Measuring every method on the embedded example; more: python -m bench --help ..."
	$(BIN)/python -m bench methods --data kanto-example --size 512 --patience 3

catalogues: $(INSTALLED)
	@echo "Compiling the translations of help and messages, .po to .mo ..."
	$(BIN)/python packaging/catalogues.py

# The same sources make the same bytes: the time that files say is that of the last commit.
COMMITTED = $$(git log -1 --format=%ct)

wheels: $(INSTALLED)
	@echo "Building the source distribution, from it the wheel, and the list of what it needs; trying the wheel ..."
	rm -rf dist build
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[release]'
	SOURCE_DATE_EPOCH=$(COMMITTED) $(BIN)/python -m build --no-isolation --sdist --outdir dist .
	mkdir -p build/source && tar -xzf dist/*.tar.gz --strip-components 1 -C build/source
	SOURCE_DATE_EPOCH=$(COMMITTED) GEODP_TARGETS=$${GEODP_TARGETS:-all} \
	    $(BIN)/python -m build --no-isolation --wheel --outdir dist build/source
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/check-wheel-contents --ignore W002 dist/*.whl  # empty files, and a licence that stands twice
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip install --quiet --disable-pip-version-check dist/geodp-*.whl
	build/wheel/bin/geodp publish data/kanto/*.zip --grid jis:half --value '人口（総数）' \
	    --bounds 138.0 35.0 141.2 37.1333333333 --epsilon 0.1 --output build/demo
	build/wheel/bin/geodp verify build/demo
	$(BIN)/cyclonedx-py environment --output-reproducible --output-file dist/geodp.cdx.json \
	    --pyproject pyproject.toml build/wheel/bin/python

check: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy

MAKE_VENV = $(PYTHON) -c 'import sys; assert (3, 11) <= sys.version_info[:2] <= (3, 14), \
    "geodp needs Python 3.11 to 3.14; this is " + sys.version' && $(PYTHON) -m venv .venv
# Its inner loops are compiled afterwards, with the Numba that is installed, and said so.
INSTALL = GEODP_TARGETS=none $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable
COMPILE = $(BIN)/python -m geodp.kernels.build

$(RUNS): pyproject.toml
	@echo "Making .venv and installing geodp into it (860 MB: a minute or two, once) ..."
	$(MAKE_VENV)
	$(INSTALL) .
	$(COMPILE)
	@touch $(RUNS)

$(INSTALLED): pyproject.toml
	@echo "Making .venv and installing geodp and what its tests need into it (1.9 GB: two to three minutes, once) ..."
	$(MAKE_VENV)
	$(INSTALL) '.[dev]'
	$(COMPILE)
	@touch $(RUNS) $(INSTALLED)

clean:
	rm -rf .venv demo build dist geodp/kernels/compiled
