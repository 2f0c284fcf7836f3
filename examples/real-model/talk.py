"""Streams one answer by every road, and says how it came: the pace and the tokens."""

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
ROADS = [
    ("direct, Chat", MODEL_SERVER, "/v1/chat/completions", "small"),
    ("Chat in, Chat out", PROWESS, "/v1/chat/completions", "llama-chat/small"),
    ("Chat in, Messages out", PROWESS, "/v1/chat/completions", "llama-messages/small"),
    ("Responses in, Chat out", PROWESS, "/v1/responses", "llama-chat/small"),
    ("direct, Messages", MODEL_SERVER, "/v1/messages", "small"),
    ("Messages in, Messages out", PROWESS, "/v1/messages", "llama-messages/small"),
    ("Messages in, Chat out", PROWESS, "/v1/messages", "llama-chat/small"),
]


def text_of(event):
    """What an event of any dialect adds to the text."""
    choices = event.get("choices") or [{}]
    delta = event.get("delta")
    if isinstance(delta, dict):
        return delta.get("text") or ""
    return delta or choices[0].get("delta", {}).get("content") or ""


def usage_of(event):
    """The tokens an event of any dialect tells of: in (cached ones too) and out."""
    usage = event.get("usage") or event.get("message", {}).get("usage") or event.get("response", {}).get("usage") or {}
    read = usage.get("prompt_tokens", usage.get("input_tokens"))
    if cached := usage.get("cache_read_input_tokens"):  # Anthropic counts these by themselves
        read += cached
    return read, usage.get("completion_tokens", usage.get("output_tokens"))


def stream(base, path, model):
    body = json.dumps({**REQUESTS[path], "model": model}).encode()
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
    if path != "/v1/messages":
        del headers["anthropic-version"]
    start = time.monotonic()
    text, times, read, wrote = "", [], None, None
    with urllib.request.urlopen(urllib.request.Request(base + path, body, headers)) as answer:
        for line in answer:
            if not line.startswith(b"data: {"):
                continue
            event = json.loads(line[6:])
            if "delta" in event or "choices" in event:
                if said := text_of(event):
                    text += said
                    times.append(time.monotonic() - start)
            told = usage_of(event)
            read, wrote = told[0] or read, told[1] or wrote
    return text, times, read, wrote


def ready():
    """Waits until the model is loaded."""
    for _ in range(120):
        try:
            urllib.request.urlopen(f"{MODEL_SERVER}/health")
            urllib.request.urlopen(f"{PROWESS}/healthz")
            return
        except urllib.error.URLError:
            time.sleep(0.5)
    raise SystemExit("the servers did not get ready within a minute")


ready()
stream(MODEL_SERVER, "/v1/chat/completions", "small")  # so that each road finds the prompt cached
texts = set()
print(f"{'road':27} {'pieces':>6} {'first':>7} {'gap':>8} {'last':>7}  tokens in/out")
for road, base, path, model in ROADS:
    text, times, read, wrote = stream(base, path, model)
    texts.add(text)
    gap = statistics.median(b - a for a, b in zip(times, times[1:])) * 1000
    print(f"{road:27} {len(times):>6} {times[0]:>6.2f}s {gap:>6.1f}ms {times[-1]:>6.2f}s  {read}/{wrote}")
print(f"\nall roads gave the same text: {len(texts) == 1}\n\n{text}")
