//! Tools that Bedrock runs itself for Amazon's models, read as the server tools that the client
//! dialects know: a search and code. Knows nothing of requests.

use serde_json::{Value, json};

use crate::arguments;
use crate::blocks::BlockEmitter;
use crate::neutral::{Block, Content, StreamEvent};
use crate::server_call_ids::{ServerCallOrigin, client_id};

/// The type of a call that Bedrock answers; calls of the client's tools have another or none.
const SERVER_CALL: &str = "server_tool_use";
const SEARCH: &str = "nova_grounding";
const CODE: &str = "nova_code_interpreter";
/// How the types of results end.
const RESULT: &str = "_result";

/// Maximum bytes of a call or result in a stream.
const MAX_BYTES: usize = 32 << 20;

/// Whether a call with this type is one that Bedrock answers.
pub(super) fn is_server_call(kind: Option<&Value>) -> bool {
    kind.and_then(Value::as_str) == Some(SERVER_CALL)
}

/// A call, under the name that clients know the tool by.
pub(super) fn read_call(id: &str, tool: String, input: Value) -> Content {
    let (name, input) = translate(tool, input);
    Content::ServerToolUse {
        id: known_id(id),
        name,
        input,
    }
}

/// The id by which all clients and upstreams see that a server ran the call.
fn known_id(id: &str) -> String {
    client_id(ServerCallOrigin::Other, id).into_owned()
}

fn translate(tool: String, input: Value) -> (String, Value) {
    match (tool.as_str(), input.get("snippet")) {
        (CODE, Some(code)) => ("code_execution".to_owned(), json!({"code": code})),
        (CODE, None) => ("code_execution".to_owned(), input),
        (SEARCH, _) => ("web_search".to_owned(), input),
        _ => (tool, input),
    }
}

/// A result. What a search found is hidden; its sources are with the texts that cite them.
pub(super) fn read_result(id: &str, kind: &str, content: &[Value]) -> Content {
    let tool = kind.strip_suffix(RESULT).unwrap_or(kind);
    let (kind, content) = match tool {
        SEARCH => ("web_search_tool_result".to_owned(), json!([])),
        CODE => (
            "code_execution_tool_result".to_owned(),
            code_result(content),
        ),
        _ => (
            format!("{tool}_tool_result"),
            Value::Array(content.to_vec()),
        ),
    };
    Content::ServerToolResult {
        kind,
        tool_use_id: known_id(id),
        content,
    }
}

fn code_result(content: &[Value]) -> Value {
    let output = content.iter().find_map(|part| part.get("json"));
    let field = |key: &str| output.and_then(|output| output.get(key));
    let text = |key: &str| field(key).and_then(Value::as_str).unwrap_or_default();
    let failed = field("isError").and_then(Value::as_bool) == Some(true);
    let code = field("exitCode").and_then(Value::as_i64);
    let plain: String = content
        .iter()
        .filter_map(|part| part.get("text")?.as_str())
        .collect();
    let stdout = if output.is_none() {
        plain.as_str()
    } else {
        text("stdOut")
    };
    json!({
        "type": "code_execution_result",
        "stdout": stdout,
        "stderr": text("stdErr"),
        "return_code": code.unwrap_or(i64::from(failed)),
        "content": [],
    })
}

/// A call or a result that a stream brings in fragments.
#[derive(Debug)]
pub(super) struct StreamedServerTool {
    id: String,
    part: StreamedPart,
    bytes: usize,
}

#[derive(Debug)]
enum StreamedPart {
    Call { tool: String, input: String },
    Result { kind: String, content: Vec<Value> },
}

impl StreamedServerTool {
    pub(super) fn call(id: String, tool: String) -> Self {
        let input = String::new();
        Self::new(id, StreamedPart::Call { tool, input })
    }

    pub(super) fn result(id: String, kind: String) -> Self {
        let content = Vec::new();
        Self::new(id, StreamedPart::Result { kind, content })
    }

    fn new(id: String, part: StreamedPart) -> Self {
        StreamedServerTool { id, part, bytes: 0 }
    }

    /// More of a call's arguments; returns what is wrong if the stream is invalid.
    pub(super) fn grow_input(&mut self, more: &str) -> Result<(), &'static str> {
        self.count(more.len())?;
        if let StreamedPart::Call { input, .. } = &mut self.part {
            input.push_str(more);
        }
        Ok(())
    }

    /// More of a result; returns what is wrong if the stream is invalid.
    pub(super) fn grow_content(&mut self, parts: Vec<Value>) -> Result<(), &'static str> {
        let bytes: usize = parts.iter().map(|part| part.to_string().len()).sum();
        self.count(bytes)?;
        if let StreamedPart::Result { content, .. } = &mut self.part {
            content.extend(parts);
        }
        Ok(())
    }

    fn count(&mut self, bytes: usize) -> Result<(), &'static str> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MAX_BYTES {
            return Err("a call of a server tool is too large");
        }
        Ok(())
    }

    pub(super) fn finish(self, blocks: &mut BlockEmitter, out: &mut Vec<StreamEvent>) {
        match self.part {
            StreamedPart::Call { tool, input } => {
                let (name, input) = translate(tool, arguments::parse(input));
                let call = Content::ServerToolUse {
                    id: known_id(&self.id),
                    name,
                    input: json!({}),
                };
                blocks.whole_call(Block::new(call), arguments::write(&input), out);
            }
            StreamedPart::Result { kind, content } => {
                let result = read_result(&self.id, &kind, &content);
                blocks.whole(Block::new(result), out);
            }
        }
    }
}
