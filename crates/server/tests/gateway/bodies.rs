//! Requests of clients and responses of upstreams: a question, and a text with a tool call.

use prowess_wire::ClientDialect;
use serde_json::{Value, json};

/// A question with a tool, in a client's dialect.
pub(crate) fn question(client: ClientDialect, model: &str, stream: bool) -> Value {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let request = json!([{"role": "user", "content": "Weather in Bern?"}]);
    match client {
        ClientDialect::Messages => json!({
            "model": model, "max_tokens": 50, "stream": stream, "messages": request,
            "tools": [{"name": "weather", "description": "Looks", "input_schema": schema}],
        }),
        ClientDialect::Chat => json!({
            "model": model, "stream": stream, "messages": request,
            "tools": [{"type": "function", "function": {
                "name": "weather", "description": "Looks", "parameters": schema,
            }}],
        }),
        ClientDialect::Responses => json!({
            "model": model, "stream": stream, "input": request,
            "tools": [{
                "type": "function", "name": "weather", "description": "Looks",
                "parameters": schema, "strict": false,
            }],
        }),
        ClientDialect::Gemini => json!({
            "contents": [{"role": "user", "parts": [{"text": "Weather in Bern?"}]}],
            "tools": [{"functionDeclarations": [{
                "name": "weather", "description": "Looks", "parametersJsonSchema": schema,
            }]}],
        }),
    }
}

pub(crate) const MESSAGES: &str = r#"{"id":"msg_up","type":"message","role":"assistant","model":"m1","content":[{"type":"text","text":"Looking."},{"type":"tool_use","id":"toolu_1","name":"weather","input":{"city":"Bern"}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":30,"output_tokens":10}}"#;

pub(crate) const CHAT: &str = r#"{"id":"chatcmpl-up","object":"chat.completion","created":1,"model":"m1","choices":[{"index":0,"message":{"role":"assistant","content":"Looking.","tool_calls":[{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Bern\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":30,"completion_tokens":10,"total_tokens":40}}"#;

pub(crate) const MESSAGES_STREAM: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_up\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m1\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":30,\"output_tokens\":1}}}\n\n",
    "event: ping\ndata: {\"type\": \"ping\"}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Looking.\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"weather\",\"input\":{}}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"city\\\":\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"\\\"Bern\\\"}\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":10}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

pub(crate) const CHAT_STREAM: &str = concat!(
    "data: {\"id\":\"chatcmpl-up\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Looking.\"},\"finish_reason\":null}]}\n\n",
    "data: {\"id\":\"chatcmpl-up\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call_1\",\"type\":\"function\",\"function\":{\"name\":\"weather\",\"arguments\":\"\"}}]},\"finish_reason\":null}]}\n\n",
    "data: {\"id\":\"chatcmpl-up\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"city\\\":\\\"Bern\\\"}\"}}]},\"finish_reason\":null}]}\n\n",
    "data: {\"id\":\"chatcmpl-up\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: {\"id\":\"chatcmpl-up\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m1\",\"choices\":[],\"usage\":{\"prompt_tokens\":30,\"completion_tokens\":10,\"total_tokens\":40}}\n\n",
    "data: [DONE]\n\n",
);
