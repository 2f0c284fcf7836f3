#!/bin/bash
# The installer and its archive, from a web server, in the bare root.
set -euo pipefail
python3 -u -m http.server --bind 127.0.0.1 --directory /artefacts 0 >/tmp/web.log 2>&1 &
web=$!
trap 'kill "$web"' EXIT
until port=$(sed -n 's/.*port \([0-9]*\).*/\1/p' /tmp/web.log) && [ -n "$port" ]; do
    kill -0 "$web"
    sleep 0.05
done
export PROWESS_BASE_URL="http://127.0.0.1:$port"
curl -fsS "$PROWESS_BASE_URL/install.sh" | sh
/install/smoke.sh /root/.local/bin/prowess
