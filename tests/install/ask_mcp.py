"""Starts an MCP server on standard input and output, and calls a tool of a skill."""

import json
import subprocess
import sys

server = subprocess.Popen(
    sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
)
number = 0


def send(message):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def ask(method, params):
    global number
    number += 1
    send({"id": number, "method": method, "params": params})
    for line in server.stdout:
        answer = json.loads(line)
        if answer.get("id") == number:
            assert "result" in answer, answer
            return answer["result"]
    raise SystemExit(f"the server ended before it answered {method}")


hello = ask(
    "initialize",
    {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "smoke", "version": "1"},
    },
)
print(hello["serverInfo"]["name"], hello["protocolVersion"])
send({"method": "notifications/initialized"})
ask("tools/call", {"name": "load_skill", "arguments": {"name": "greeter"}})
tools = {tool["name"] for tool in ask("tools/list", {})["tools"]}
assert "greeter__greet" in tools, tools
result = ask("tools/call", {"name": "greeter__greet", "arguments": {"name": "Ada"}})
text = json.dumps(result["content"])
assert "Hello, Ada!" in text, text
server.stdin.close()
assert server.wait(timeout=60) == 0, server.returncode
