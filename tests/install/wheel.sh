#!/bin/bash
# The wheel in a fresh environment, in the bare root: the program, and the module.
set -euo pipefail
python3 -m venv /opt/prowess
/opt/prowess/bin/pip install --quiet --no-index /artefacts/prowess-*.whl
/install/smoke.sh /opt/prowess/bin/prowess
/opt/prowess/bin/python -m prowess --version
cd /tmp
/opt/prowess/bin/prowess skill new greeter --tool -d "Greets people by name. Use when someone is to be greeted."
/opt/prowess/bin/python - <<'TEXT'
from prowess import Toolbox

with Toolbox("greeter") as toolbox:
    toolbox.call("load_skill", {"name": "greeter"})
    assert "Hello, Ada!" in toolbox.call("greeter__greet", {"name": "Ada"}).text
TEXT
