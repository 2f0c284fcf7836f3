//! Batches with the SDKs of both vendors, unmodified, over the real server: created, listed,
//! read, cancelled, and their results.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod installed;
mod scripted;
mod server;

use installed::run_python;
use prowess_testkit::postgres::TestPostgres;
use scripted::{scripted_config, start_scripted};
use server::MASTER;

const SCRIPT: &str = r#"
[[step]]
when.tool_result = "counted"
text = "I counted."

[[step]]
when.user = "count"
calls = [{ name = "bash_code_execution", input = { command = "echo counted" } }]

[[step]]
when.user = "wait"
calls = [{ name = "bash_code_execution", input = { command = "sleep 98765" } }]

[[step]]
text = "You said {{user}}."
"#;

const ANTHROPIC: &str = r#"
import anthropic
client = anthropic.Anthropic(max_retries=0)
tools = [{"type": "code_execution_20250825", "name": "code_execution"}]

def request(name, text, model="stage/m", **more):
    message = {"role": "user", "content": text}
    return {"custom_id": name, "params": {"model": model, "max_tokens": 99, "messages": [message], **more}}

batch = client.messages.batches.create(requests=[
    request("a", "one"), request("b", "count", tools=tools), request("c", "two", model="nobody/m")])
assert batch.id.startswith("msgbatch_") and batch.processing_status == "in_progress", batch
assert client.messages.batches.list().data[0].id == batch.id
while batch.processing_status != "ended":
    batch = client.messages.batches.retrieve(batch.id)
counts = batch.request_counts
assert (counts.succeeded, counts.errored, counts.processing) == (2, 1, 0), counts
results = {line.custom_id: line.result for line in client.messages.batches.results(batch.id)}
assert results["a"].message.content[0].text == "You said one.", results
assert results["b"].message.content[-1].text == "I counted.", results
assert results["c"].type == "errored", results
waiting = client.messages.batches.create(requests=[request("w", "wait", tools=tools)])
client.messages.batches.cancel(waiting.id)
while waiting.processing_status != "ended":
    waiting = client.messages.batches.retrieve(waiting.id)
assert waiting.request_counts.canceled == 1, waiting
client.messages.batches.delete(batch.id)
try:
    client.messages.batches.retrieve(batch.id)
    raise SystemExit("found a deleted batch")
except anthropic.NotFoundError:
    pass
for wrong in ([request("a", "x"), request("a", "y")], []):
    try:
        client.messages.batches.create(requests=wrong)
        raise SystemExit("accepted")
    except anthropic.BadRequestError as error:
        assert "custom_id" in str(error) or "requests" in str(error), error
print("ok")
"#;

const OPENAI: &str = r#"
import io, json, openai
client = openai.OpenAI(max_retries=0)

def line(name, text, model="stage/m"):
    body = {"model": model, "messages": [{"role": "user", "content": text}]}
    return json.dumps({"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body})

def upload(lines):
    content = io.BytesIO("\n".join(lines).encode())
    return client.files.create(file=("batch.jsonl", content), purpose="batch").id

names = [f"n{number}" for number in range(40)]
file = upload([line(name, name) for name in names] + [line("bad", "x", model="nobody/m")])
batch = client.batches.create(input_file_id=file, endpoint="/v1/chat/completions",
                              completion_window="24h", metadata={"of": "tests"})
assert batch.id.startswith("batch_") and batch.metadata == {"of": "tests"}, batch
assert client.batches.list().data[0].id == batch.id
while batch.status not in ("completed", "failed", "cancelled", "expired"):
    batch = client.batches.retrieve(batch.id)
assert batch.status == "completed", batch
counts = batch.request_counts
assert (counts.total, counts.completed, counts.failed) == (41, 40, 1), counts
output = [json.loads(text) for text in client.files.content(batch.output_file_id).text.splitlines()]
answers = {one["custom_id"]: one["response"]["body"]["choices"][0]["message"]["content"] for one in output}
assert answers == {name: f"You said {name}." for name in names}, answers
errors = [json.loads(text) for text in client.files.content(batch.error_file_id).text.splitlines()]
assert [one["custom_id"] for one in errors] == ["bad"], errors
print("ok")
"#;

/// Runs a program of Anthropic's SDK against a server with these variables.
fn run_anthropic(variables: &[(&str, &str)]) {
    let config = scripted_config(SCRIPT, "");
    let server = start_scripted(&config, variables);
    let variables = [
        ("ANTHROPIC_BASE_URL", server.url()),
        ("ANTHROPIC_API_KEY", MASTER),
    ];
    run_python("anthropic-2.8", ANTHROPIC, &variables);
}

fn run_openai(variables: &[(&str, &str)]) {
    let config = scripted_config(SCRIPT, "");
    let server = start_scripted(&config, variables);
    let url = format!("{}/v1", server.url());
    let variables = [
        ("OPENAI_BASE_URL", url.as_str()),
        ("OPENAI_API_KEY", MASTER),
    ];
    run_python("openai-3.49", OPENAI, &variables);
}

#[test]
fn anthropics_sdk_runs_a_message_batch() {
    run_anthropic(&[]);
}

#[test]
fn openais_sdk_runs_a_batch_from_a_file() {
    run_openai(&[]);
}

#[test]
fn both_sdks_run_batches_on_postgres() {
    let postgres = TestPostgres::start();
    run_anthropic(&[("PROWESS_STORE_URL", &postgres.database())]);
    run_openai(&[("PROWESS_STORE_URL", &postgres.database())]);
}
