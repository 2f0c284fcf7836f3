//! A client of each dialect: how it names skills, reads its answer and goes on.

use prowess_wire::neutral::{Content, Response, ResponseCollector, StopReason, StreamEvent};
use prowess_wire::{ClientDialect, ReplyContext, StreamReader, read_response, write_response};
use serde_json::{Value, json};

use super::GatewayResponse;

pub(crate) fn path(client: ClientDialect) -> &'static str {
    match client {
        ClientDialect::Messages => "/v1/messages",
        ClientDialect::Chat => "/v1/chat/completions",
        ClientDialect::Responses => "/v1/responses",
        // Behind it stands the model: see `model_path`.
        ClientDialect::Gemini => "/v1beta/models",
    }
}

/// The path of a model request of Gemini's clients.
pub(crate) fn model_path(model: &str, stream: bool) -> String {
    if stream {
        format!("/v1beta/models/{model}:streamGenerateContent?alt=sse")
    } else {
        format!("/v1beta/models/{model}:generateContent")
    }
}

/// A request that names skills and offers code execution, as each dialect does it, with
/// a tool of the client's own.
pub(crate) fn new_request(
    client: ClientDialect,
    model: &str,
    stream: bool,
    skills: &[&str],
) -> Value {
    let kind = match client {
        ClientDialect::Responses => "skill_reference",
        _ => "custom",
    };
    let skills = skills.iter();
    let skills: Vec<Value> = skills
        .map(|id| json!({"type": kind, "skill_id": id}))
        .collect();
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let messages = json!([{"role": "user", "content": "Go."}]);
    match client {
        ClientDialect::Messages => json!({
            "model": model, "max_tokens": 500, "stream": stream,
            "system": "Be kind.",
            "container": {"skills": skills},
            "tools": [
                {"type": "code_execution_20260521", "name": "code_execution"},
                {"name": "weather", "input_schema": schema},
            ],
            "messages": messages,
        }),
        ClientDialect::Chat => json!({
            "model": model, "stream": stream,
            "stream_options": stream.then(|| json!({"include_usage": true})),
            "container": {"skills": skills},
            "tools": [{"type": "function", "function": {"name": "weather", "parameters": schema}}],
            "messages": [{"role": "system", "content": "Be kind."}, messages[0]],
        }),
        ClientDialect::Responses => json!({
            "model": model, "stream": stream, "store": false,
            "instructions": "Be kind.",
            "tools": [
                {"type": "shell", "environment": {"type": "container_auto", "skills": skills}},
                {"type": "function", "name": "weather", "parameters": schema},
            ],
            "input": messages,
        }),
        ClientDialect::Gemini => json!({
            "systemInstruction": {"parts": [{"text": "Be kind."}]},
            "container": {"skills": skills},
            "tools": [{"functionDeclarations": [{"name": "weather", "parametersJsonSchema": schema}]}],
            "contents": [{"role": "user", "parts": [{"text": "Go."}]}],
        }),
    }
}

/// The same request in the container that a response names.
pub(crate) fn in_container(client: ClientDialect, request: &mut Value, response: &GatewayResponse) {
    match client {
        ClientDialect::Responses => {
            let id = response.id("cntr_", 5 + 24);
            let environment = json!({"type": "container_reference", "container_id": id});
            request["tools"][0]["environment"] = environment;
        }
        _ => request["container"]["id"] = response.id("container_", 10 + 24).into(),
    }
}

/// A response as the client parses it, streamed or not.
pub(crate) fn parse_answer(
    client: ClientDialect,
    stream: bool,
    response: &GatewayResponse,
) -> Result<Response, String> {
    if !stream {
        let read = read_response(client.into(), response.text.as_bytes(), &Default::default());
        return read.map_err(|error| format!("{error}: {}", response.text));
    }
    let mut reader = StreamReader::new(client.into(), Default::default());
    let mut collector = ResponseCollector::new(client.into());
    let mut next = 0;
    let events = reader.push(response.text.as_bytes());
    for event in events.into_iter().chain(reader.finish()) {
        if let StreamEvent::BlockStart { index, .. } = &event {
            if *index != next {
                return Err(format!(
                    "block {index} where {next} was next: {}",
                    response.text
                ));
            }
            next += 1;
        }
        let pushed = collector.push(event);
        pushed.map_err(|error| format!("{error:?}: {}", response.text))?;
    }
    let whole = collector.finish();
    whole.map_err(|error| format!("{error:?}: {}", response.text))
}

pub(crate) fn text_of(answer: &Response) -> String {
    let blocks = answer.content.iter();
    let texts = blocks.filter_map(|block| match &block.content {
        Content::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// Calls of the client's own tools: id and name.
pub(crate) fn calls_of(answer: &Response) -> Vec<(String, String)> {
    let blocks = answer.content.iter();
    let calls = blocks.filter_map(|block| match &block.content {
        Content::ToolUse { id, name, .. } => Some((id.clone(), name.clone())),
        _ => None,
    });
    calls.collect()
}

/// The stop reason of a run that reached its limit.
pub(crate) fn limit_stop_reason(client: ClientDialect) -> StopReason {
    match client {
        ClientDialect::Messages => StopReason::PauseTurn,
        _ => StopReason::MaxTokens,
    }
}

/// Appends a paused answer of Messages, to continue it.
pub(crate) fn append_paused_answer(request: &mut Value, answer: &Response) {
    let (whole, _) = write_response(ClientDialect::Messages, answer, &ReplyContext::default());
    let reply = json!({"role": "assistant", "content": whole["content"]});
    request["messages"].as_array_mut().unwrap().push(reply);
}

/// Appends the answer, and the result of the client's own tool.
pub(crate) fn append_tool_result(
    client: ClientDialect,
    request: &mut Value,
    response: &GatewayResponse,
    answer: &Response,
    result: &str,
) {
    let id = &calls_of(answer)[0].0;
    let (whole, _) = write_response(client, answer, &ReplyContext::default());
    let more = match client {
        ClientDialect::Messages => {
            let result = json!([{"type": "tool_result", "tool_use_id": id, "content": result}]);
            vec![
                json!({"role": "assistant", "content": whole["content"]}),
                json!({"role": "user", "content": result}),
            ]
        }
        ClientDialect::Chat => vec![
            whole["choices"][0]["message"].clone(),
            json!({"role": "tool", "tool_call_id": id, "content": result}),
        ],
        ClientDialect::Responses => {
            let mut items = items(response);
            items.push(json!({"type": "function_call_output", "call_id": id, "output": result}));
            items
        }
        ClientDialect::Gemini => {
            // Its clients send back what they received, and often no id.
            let mut contents = contents(response);
            let name = &calls_of(answer)[0].1;
            let result =
                json!({"functionResponse": {"name": name, "response": {"output": result}}});
            contents.push(json!({"role": "user", "parts": [result]}));
            contents
        }
    };
    let key = match client {
        ClientDialect::Responses => "input",
        ClientDialect::Gemini => "contents",
        _ => "messages",
    };
    request[key].as_array_mut().unwrap().extend(more);
}

/// The contents of a Gemini answer: one, or one for each event of a stream.
pub(crate) fn contents(response: &GatewayResponse) -> Vec<Value> {
    let whole = serde_json::from_str::<Value>(&response.text).map(|whole| vec![whole]);
    let fragments = whole.unwrap_or_else(|_| {
        let events = response.text.lines();
        let events = events.filter_map(|line| line.strip_prefix("data: "));
        events
            .map(|event| serde_json::from_str(event).unwrap())
            .collect()
    });
    let contents = fragments.iter();
    let contents = contents.map(|fragment| fragment["candidates"][0]["content"].clone());
    contents.collect()
}

/// The output of a Responses answer, streamed or not.
fn items(response: &GatewayResponse) -> Vec<Value> {
    let whole = serde_json::from_str::<Value>(&response.text).unwrap_or_else(|_| {
        let mut events = response.text.lines().filter_map(|line| {
            let event: Value = serde_json::from_str(line.strip_prefix("data: ")?).ok()?;
            (event["type"] == "response.completed").then(|| event["response"].clone())
        });
        events.next_back().unwrap_or_default()
    });
    whole["output"].as_array().cloned().unwrap_or_default()
}
