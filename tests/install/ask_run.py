"""Sends a request with a stored skill to a server: ask_run.py URL. Its code must have run."""

import json
import sys
import urllib.request

url = sys.argv[1]


def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {
        "content-type": "application/json",
        "anthropic-version": "2023-06-01",
        "anthropic-beta": "skills-2025-10-02,code-execution-2025-08-25",
    }
    request = urllib.request.Request(url + path, data, headers)
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


(skill,) = ask("/v1/skills")["data"]
answer = ask(
    "/v1/messages",
    {
        "model": "scripted",
        "max_tokens": 1000,
        "container": {
            "skills": [{"type": "custom", "skill_id": skill["id"], "version": "latest"}]
        },
        "tools": [{"type": "code_execution_20250825", "name": "code_execution"}],
        "messages": [{"role": "user", "content": "Greet Ada"}],
    },
)
text = answer["content"][-1]["text"]
assert "Hello, Ada!" in text, answer
print(text.strip())
