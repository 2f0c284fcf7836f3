"""Runs the reference validator over many folders in one process.

Reads a JSON list of argument lists from standard input and writes, for each,
what the reference's command line prints and how it exits.
"""

import json
import sys

from click.testing import CliRunner
from skills_ref.cli import main

answers = []
for args in json.load(sys.stdin):
    result = CliRunner().invoke(main, args, prog_name="agentskills")
    crashed = result.exception is not None and not isinstance(result.exception, SystemExit)
    answers.append(
        {
            "stdout": result.stdout,
            "stderr": result.stderr,
            "code": result.exit_code,
            "crashed": crashed,
        }
    )
json.dump(answers, sys.stdout)
