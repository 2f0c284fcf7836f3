//! What a model was sent, read in its vendor's own shape. A tool in another vendor's
//! shape is no tool here.

use prowess_testkit::upstream::ReceivedRequest;
use serde_json::Value;

use super::vendor::Vendor;

#[derive(Debug, Default)]
pub(crate) struct UpstreamRequest {
    /// All instructions.
    pub(crate) system: String,
    /// The names of the tools that have a schema where the vendor requires it.
    pub(crate) tools: Vec<String>,
    /// Calls in the conversation: id (where the vendor has any) and name.
    pub(crate) calls: Vec<(String, String)>,
    /// Their results: the id of the call, and what came of it.
    pub(crate) results: Vec<(String, String)>,
    pub(crate) body: Value,
    /// The body as it came.
    pub(crate) bytes: Vec<u8>,
}

impl UpstreamRequest {
    pub(crate) fn read(vendor: Vendor, request: &ReceivedRequest) -> UpstreamRequest {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let mut sent = match vendor {
            Vendor::Anthropic => messages(&body),
            Vendor::Chat => chat(&body),
            Vendor::Responses => responses(&body),
            Vendor::Gemini => gemini(&body),
            Vendor::Converse => converse(&body),
        };
        sent.body = body;
        sent.bytes.clone_from(&request.body);
        sent
    }

    /// Whether every call has its result, in the order of the calls.
    pub(crate) fn is_answered(&self) -> bool {
        let calls = self.calls.iter().map(|(id, _)| id);
        calls.eq(self.results.iter().map(|(id, _)| id))
    }

    pub(crate) fn result(&self, at: usize) -> &str {
        self.results.get(at).map_or("", |(_, text)| text)
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(|part| text(&part["text"])).collect(),
        _ => String::new(),
    }
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Names of those whose schema is an object's.
fn named<'a>(tools: impl Iterator<Item = (&'a Value, &'a Value)>) -> Vec<String> {
    let good = tools.filter(|(_, schema)| schema["type"] == "object");
    good.map(|(name, _)| word(name)).collect()
}

fn messages(body: &Value) -> UpstreamRequest {
    let blocks = || list(&body["messages"]).flat_map(|message| list(&message["content"]));
    let calls = blocks().filter(|block| block["type"] == "tool_use");
    let results = blocks().filter(|block| block["type"] == "tool_result");
    UpstreamRequest {
        system: text(&body["system"]),
        tools: named(list(&body["tools"]).map(|tool| (&tool["name"], &tool["input_schema"]))),
        calls: calls.map(|b| (word(&b["id"]), word(&b["name"]))).collect(),
        results: results
            .map(|b| (word(&b["tool_use_id"]), text(&b["content"])))
            .collect(),
        ..UpstreamRequest::default()
    }
}

fn chat(body: &Value) -> UpstreamRequest {
    let messages = || list(&body["messages"]);
    let system = messages().filter(|m| m["role"] == "system" || m["role"] == "developer");
    let calls = messages().flat_map(|message| list(&message["tool_calls"]));
    let results = messages().filter(|message| message["role"] == "tool");
    let functions = list(&body["tools"]).map(|tool| &tool["function"]);
    UpstreamRequest {
        system: system.map(|message| text(&message["content"])).collect(),
        tools: named(functions.map(|function| (&function["name"], &function["parameters"]))),
        calls: calls
            .map(|call| (word(&call["id"]), word(&call["function"]["name"])))
            .collect(),
        results: results
            .map(|m| (word(&m["tool_call_id"]), text(&m["content"])))
            .collect(),
        ..UpstreamRequest::default()
    }
}

fn responses(body: &Value) -> UpstreamRequest {
    let items = || list(&body["input"]);
    let system = items().filter(|item| item["role"] == "system" || item["role"] == "developer");
    let calls = items().filter(|item| item["type"] == "function_call");
    let results = items().filter(|item| item["type"] == "function_call_output");
    let functions = list(&body["tools"]).filter(|tool| tool["type"] == "function");
    UpstreamRequest {
        system: text(&body["instructions"])
            + &system
                .map(|item| text(&item["content"]))
                .collect::<String>(),
        tools: named(functions.map(|tool| (&tool["name"], &tool["parameters"]))),
        calls: calls
            .map(|item| (word(&item["call_id"]), word(&item["name"])))
            .collect(),
        results: results
            .map(|item| (word(&item["call_id"]), text(&item["output"])))
            .collect(),
        ..UpstreamRequest::default()
    }
}

fn gemini(body: &Value) -> UpstreamRequest {
    let parts = || list(&body["contents"]).flat_map(|content| list(&content["parts"]));
    let calls = parts().filter_map(|part| part.get("functionCall"));
    let results = parts().filter_map(|part| part.get("functionResponse"));
    let functions = list(&body["tools"]).flat_map(|tool| list(&tool["functionDeclarations"]));
    UpstreamRequest {
        system: text(&body["systemInstruction"]["parts"]),
        tools: named(functions.map(|tool| (&tool["name"], &tool["parametersJsonSchema"]))),
        calls: calls
            .map(|call| (word(&call["id"]), word(&call["name"])))
            .collect(),
        results: results
            .map(|result| (word(&result["id"]), result["response"].to_string()))
            .collect(),
        ..UpstreamRequest::default()
    }
}

fn converse(body: &Value) -> UpstreamRequest {
    let blocks = || list(&body["messages"]).flat_map(|message| list(&message["content"]));
    let calls = blocks().filter_map(|block| block.get("toolUse"));
    let results = blocks().filter_map(|block| block.get("toolResult"));
    let specs = list(&body["toolConfig"]["tools"]).map(|tool| &tool["toolSpec"]);
    UpstreamRequest {
        system: text(&body["system"]),
        tools: named(specs.map(|spec| (&spec["name"], &spec["inputSchema"]["json"]))),
        calls: calls
            .map(|call| (word(&call["toolUseId"]), word(&call["name"])))
            .collect(),
        results: results
            .map(|result| (word(&result["toolUseId"]), text(&result["content"])))
            .collect(),
        ..UpstreamRequest::default()
    }
}
