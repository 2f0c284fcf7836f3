"""What the programs on frameworks share: where Prowess is, what to try, and how an answer
is checked.

`PROWESS_ROWS` lists what to try: `WIRE=MODEL,…`. A line is printed for each."""

import asyncio
import os

URL = os.environ["PROWESS_URL"]
KEY = os.environ["PROWESS_API_KEY"]
SKILL = os.environ["PROWESS_SKILL"]
HEADERS = {"Authorization": f"Bearer {KEY}"}
TASK = "Say the number"
ANSWER = "The command said from-42."

# How a request names a skill: with Anthropic's API (and in Chat Completions), and with
# OpenAI's Responses.
CONTAINER = {"skills": [{"type": "custom", "skill_id": SKILL}]}
CODE_EXECUTION = {"type": "code_execution_20250825", "name": "code_execution"}
SHELL = {
    "type": "shell",
    "environment": {"type": "container_auto", "skills": [{"type": "skill_reference", "skill_id": SKILL}]},
}


def rows():
    """What to try, as pairs of a wire and a model."""
    return [row.split("=") for row in os.environ["PROWESS_ROWS"].split(",")]


def works(wire, model, what, text):
    """Notes what works; the answer must be the model's last one."""
    assert text.endswith(ANSWER), (wire, model, what, text)
    print(f"{wire} {model} {what}: {ANSWER}", flush=True)


def each(attempt):
    """Tries every row."""

    async def all_rows():
        for wire, model in rows():
            await attempt(wire, model)

    asyncio.run(all_rows())
