//! Background responses with OpenAI's own SDK, unmodified: created, polled, followed, cut and
//! continued after every event, and cancelled.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod installed;
mod scripted;
mod server;

use installed::run_python;
use scripted::{scripted_config, start_scripted};
use server::MASTER;

const SCRIPT: &str = r#"
[[step]]
when.tool_result = "first"
text = "The work is done."

[[step]]
when.user = "wait"
calls = [{ name = "bash_code_execution", input = { command = "sleep 98765" } }]

[[step]]
when.user = "work"
text = "Let me work."
calls = [{ name = "bash_code_execution", input = { command = "echo one > log.txt; echo first" } }]

[[step]]
text = "Hello."
"#;

const PROGRAM: &str = r#"
import openai, sys
client = openai.OpenAI(max_retries=0)
tools = [{"type": "shell", "environment": {"type": "container_auto"}}]

def create(text, **more):
    return client.responses.create(model="stage/m", input=text, tools=tools, background=True, **more)

def wait(response):
    while response.status in ("queued", "in_progress"):
        response = client.responses.retrieve(response.id)
    return response

# Created, polled, continued.
created = create("work")
assert created.background and created.status in ("queued", "in_progress", "completed"), created
done = wait(created)
assert done.status == "completed" and done.id == created.id, done
assert done.output_text == "Let me work.The work is done.", done.output_text
assert done.usage.output_tokens > 0
more = client.responses.create(model="stage/m", input="hi", previous_response_id=done.id)
assert more.output_text == "Hello.", more

# Followed from the start.
events = list(create("work", stream=True))
numbers = [event.sequence_number for event in events]
assert numbers == list(range(len(events))), numbers
assert events[0].type == "response.created" and events[-1].type == "response.completed"
followed = events[-1].response
assert followed.output_text == done.output_text

# Cut after every event, and continued.
for number in numbers:
    with client.responses.retrieve(followed.id, stream=True, starting_after=number) as rest:
        assert [event.to_dict() for event in rest] == [event.to_dict() for event in events[number + 1:]], number

# Left in the middle: the run goes on.
stream = create("work", stream=True)
left = next(iter(stream)).response.id
stream.close()
assert wait(client.responses.retrieve(left)).output_text == done.output_text

# Cancelled, twice.
waiting = create("wait")
cancelled = client.responses.cancel(waiting.id)
assert cancelled.status == "cancelled", cancelled
assert client.responses.cancel(waiting.id).status == "cancelled"
assert client.responses.retrieve(waiting.id).status == "cancelled"
assert client.responses.cancel(done.id).status == "completed"

# Refused in OpenAI's words.
for wrong in ({"store": False},):
    try:
        create("work", **wrong)
        sys.exit("accepted")
    except openai.BadRequestError as error:
        assert "store" in str(error), error
try:
    client.responses.cancel(more.id)
    sys.exit("a synchronous response was cancelled")
except openai.BadRequestError as error:
    assert "synchronous" in str(error), error
print("ok")
"#;

#[test]
fn the_sdk_creates_polls_follows_and_cancels() {
    let config = scripted_config(SCRIPT, "");
    let server = start_scripted(&config, &[]);
    let url = format!("{}/v1", server.url());
    let variables = [
        ("OPENAI_BASE_URL", url.as_str()),
        ("OPENAI_API_KEY", MASTER),
    ];
    run_python("openai-3.49", PROGRAM, &variables);
}
