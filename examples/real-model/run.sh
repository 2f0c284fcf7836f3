#!/bin/sh
# A real model behind the gateway: installs one, starts it and Prowess, and streams the
# same answer along every path. Needs Python 3 and `prowess` (or PROWESS=path/to/it).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
place=${PLACE:-$here/../../target/real-model}
prowess=${PROWESS:-prowess}

if [ ! -e "$place/ready" ]; then
  python3 -m venv "$place"
  "$place/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$here/requirements.txt"
  touch "$place/ready"
fi

"$place/bin/python" "$here/model.py" > "$place/model.log" 2>&1 &
model=$!
"$prowess" serve --config "$here/prowess.toml" --listen 127.0.0.1:4142 --data-dir "$place/data" > "$place/prowess.log" 2>&1 &
gateway=$!
trap 'kill $model $gateway 2>/dev/null' EXIT INT TERM

"$place/bin/python" "$here/talk.py"
