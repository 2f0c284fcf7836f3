#!/bin/bash
# What every channel must give: smoke.sh PROGRAM…, where PROGRAM is how this channel starts
# prowess. Runs in the bare root and in the container; `doctor` must say strict. /clients has the
# vendors' SDKs.
set -euo pipefail

prowess() { command "${program[@]}" "$@"; }
program=("$@")

folder=$(mktemp -d)
cd "$folder"
export PROWESS_DATA_DIR="$folder/data"
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$folder"' EXIT

echo "== version"
prowess --version | grep -E '^prowess [0-9]+\.[0-9]+\.[0-9]+ \('

echo "== doctor"
prowess doctor | tee doctor.txt
grep -q '^strict' doctor.txt

echo "== demo"
prowess demo --once >demo.txt || { cat demo.txt; exit 1; }
[ "$(head -c 6 ball.gif)" = GIF89a ]

echo "== MCP"
prowess skill new greeter --tool -d "Greets people by name. Use when someone is to be greeted."
/usr/bin/python3 /install/ask_mcp.py "${program[@]}" mcp greeter

echo "== server"
cat >prowess.toml <<'TEXT'
[providers.stage]
kind = "scripted"
script = "script.toml"

[[models]]
name = "scripted"
provider = "stage"
TEXT
cat >script.toml <<'TEXT'
[[step]]
text = "Hello from the script"
TEXT
PROWESS_CONFIG="$folder/prowess.toml" PROWESS_LISTEN=127.0.0.1:0 "${program[@]}" serve 2>serve.log &
server=$!
/usr/bin/python3 /install/ask_server.py serve.log
PYTHONPATH=/clients /usr/bin/python3 /install/ask_sdks.py serve.log
kill -TERM "$server"
wait "$server"
echo "== all of it works"
