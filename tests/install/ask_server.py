"""Waits until a server says in its log where it listens, and asks it for its models."""

import json
import re
import sys
import time
import urllib.request


def address(log, seconds=120):
    """Where the server listens, when it does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with open(log) as file:
            found = re.search(r"^listening on (http://\S+)$", file.read(), re.MULTILINE)
        if found:
            return found[1]
        time.sleep(0.05)
    raise SystemExit(f"{log} names no address:\n" + open(log).read())


def get(url):
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.load(answer)


if __name__ == "__main__":
    url = address(sys.argv[1])
    assert "scripted" in [model["id"] for model in get(f"{url}/v1/models")["data"]]
    assert get(f"{url}/v1/skills")["data"] == []
    print("answered at", url)
