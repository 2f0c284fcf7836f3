"""Stream one answer along every path, and print its chunks, times and tokens."""

import json
import statistics
import time
import urllib.error
import urllib.request

MODEL_SERVER = "http://127.0.0.1:4143"
PROWESS = "http://127.0.0.1:4142"
QUESTION = [{"role": "user", "content": "Tell me a story about a lighthouse in a few sentences."}]
LIMIT = 40

REQUESTS = {
    "/v1/chat/completions": {
        "messages": QUESTION,
        "max_tokens": LIMIT,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    },
    "/v1/messages": {"messages": QUESTION, "max_tokens": LIMIT, "temperature": 0, "stream": True},
    "/v1/responses": {"input": QUESTION, "max_output_tokens": LIMIT, "temperature": 0, "stream": True},
}
PATHS = [
    ("direct, Chat", MODEL_SERVER, "/v1/chat/completions", "small"),
    ("Chat in, Chat out", PROWESS, "/v1/chat/completions", "llama-chat/small"),
    ("Chat in, Messages out", PROWESS, "/v1/chat/completions", "llama-messages/small"),
    ("Responses in, Chat out", PROWESS, "/v1/responses", "llama-chat/small"),
    ("direct, Messages", MODEL_SERVER, "/v1/messages", "small"),
    ("Messages in, Messages out", PROWESS, "/v1/messages", "llama-messages/small"),
    ("Messages in, Chat out", PROWESS, "/v1/messages", "llama-chat/small"),
]


def text_of(event):
    """The text that an event of any dialect adds."""
    choices = event.get("choices") or [{}]
    delta = event.get("delta")
    if isinstance(delta, dict):
        return delta.get("text") or ""
    return delta or choices[0].get("delta", {}).get("content") or ""


def usage_of(event):
    """The input tokens (with cached ones) and output tokens of an event of any dialect."""
    usage = event.get("usage") or event.get("message", {}).get("usage") or event.get("response", {}).get("usage") or {}
    read = usage.get("prompt_tokens", usage.get("input_tokens"))
    if cached := usage.get("cache_read_input_tokens"):  # Anthropic counts these separately
        read += cached
    return read, usage.get("completion_tokens", usage.get("output_tokens"))


def stream(base, path, model):
    body = json.dumps({**REQUESTS[path], "model": model}).encode()
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
    if path != "/v1/messages":
        del headers["anthropic-version"]
    start = time.monotonic()
    text, times, read, wrote = "", [], None, None
    with urllib.request.urlopen(urllib.request.Request(base + path, body, headers)) as response:
        for line in response:
            if not line.startswith(b"data: {"):
                continue
            event = json.loads(line[6:])
            if "delta" in event or "choices" in event:
                if added := text_of(event):
                    text += added
                    times.append(time.monotonic() - start)
            event_read, event_wrote = usage_of(event)
            read, wrote = event_read or read, event_wrote or wrote
    return text, times, read, wrote


def wait_until_ready():
    """Wait until the model is loaded."""
    for _ in range(120):
        try:
            urllib.request.urlopen(f"{MODEL_SERVER}/health")
            urllib.request.urlopen(f"{PROWESS}/healthz")
            return
        except urllib.error.URLError:
            time.sleep(0.5)
    raise SystemExit("the servers were not ready within a minute")


wait_until_ready()
stream(MODEL_SERVER, "/v1/chat/completions", "small")  # so that the prompt is cached for each path
texts = set()
print(f"{'path':27} {'chunks':>6} {'first':>7} {'gap':>8} {'last':>7}  tokens in/out")
for name, base, path, model in PATHS:
    text, times, read, wrote = stream(base, path, model)
    texts.add(text)
    gap = statistics.median(b - a for a, b in zip(times, times[1:])) * 1000
    print(f"{name:27} {len(times):>6} {times[0]:>6.2f}s {gap:>6.1f}ms {times[-1]:>6.2f}s  {read}/{wrote}")
print(f"\nsame text on all paths: {len(texts) == 1}\n\n{text}")
