# Both commands need nothing but a Python of 3.11 to 3.14; they keep what they install in .venv.
# Another Python: make demo PYTHON=python3.13
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: demo test check clean

demo: $(INSTALLED)
	@echo "Publishing the embedded example (512 x 512 cells of 500 m around Tokyo, synthetic) ..."
	$(BIN)/geodp publish data/kanto/*.zip --grid jis:half --value '人口（総数）' \
	    --bounds 138.0 35.0 141.2 37.1333333333 --epsilon 0.1 --output demo --overwrite
	$(BIN)/geodp verify demo
	@echo "The map: demo/public/population.png; for QGIS: demo/public/population.tif"

test: $(INSTALLED)
	@echo "Running all tests but the long ones (pytest -m law), and the examples of all documents ..."
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not law" $(addprefix --ignore=,$(IGNORED))

check: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(INSTALLED): pyproject.toml
	@echo "Making .venv and installing geodp into it (about a minute, once) ..."
	$(PYTHON) -c 'import sys; assert (3, 11) <= sys.version_info[:2] <= (3, 14), "geodp needs Python 3.11 to 3.14; this is " + sys.version'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(INSTALLED)

clean:
	rm -rf .venv demo build dist
