//! Items of OpenAI's own servers as calls, results and text for any model.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::item_in::FUNCTION_OUTPUT;
use super::part_in::read_parts;
use super::source_item::without;
use crate::arguments;
use crate::generated_images::image_media_type;
use crate::json_path::JsonPath;
use crate::model_text;
use crate::neutral::{Block, Content, DIALECT_FIELDS, Map, MediaSource};
use crate::plain_text::{image_source, split_data_url};
use crate::tool_names::member_name;

/// What an item becomes.
pub(super) enum TranslatedItem {
    /// A call and its result.
    Completed(CompletedCall),
    /// A call with its output in another item.
    Call { name: String, input: Value },
    /// The output of such a call.
    Output(Vec<Block>),
    /// Text of the assistant.
    AssistantText(String),
    /// Text of the user.
    UserText(String),
    /// Nothing that another model could read, and why.
    Untranslatable(&'static str),
}

/// A call with its result.
pub(super) struct CompletedCall {
    pub(super) name: String,
    pub(super) input: Value,
    pub(super) output: Vec<Block>,
    pub(super) is_error: bool,
}

pub(super) fn translate(kind: &str, item: &Map) -> TranslatedItem {
    match kind {
        "web_search_call" => web_search(item),
        "file_search_call" => file_search(item),
        "code_interpreter_call" => code_interpreter(item),
        "image_generation_call" => image_generation(item),
        "mcp_call" => mcp_call(item),
        "mcp_list_tools" => {
            TranslatedItem::Untranslatable("a list of tools that only OpenAI's servers call")
        }
        "mcp_approval_request" => TranslatedItem::AssistantText(approval_request(item)),
        "mcp_approval_response" => TranslatedItem::UserText(approval_response(item)),
        "compaction" | "context_compaction" | "compaction_summary" => compaction(item),
        "agent_message" => agent_message(item),
        // One with a call is no hosted item.
        FUNCTION_OUTPUT => standalone_output(item),
        // Other calls and their results come between the two, so they are no call and result.
        "program" | "program_output" => unknown(kind, &without(item, &["call_id", "fingerprint"])),
        kind if kind.ends_with("_output") => TranslatedItem::Output(output(item)),
        kind if kind.ends_with("_call") && item.contains_key("call_id") => TranslatedItem::Call {
            name: tool_name(kind, item),
            input: input(item),
        },
        kind if kind.ends_with("_call") => unknown_call(kind, item),
        kind => unknown(kind, item),
    }
}

fn text<'a>(item: &'a Map, key: &str) -> Option<&'a str> {
    item.get(key)?.as_str().filter(|text| !text.is_empty())
}

fn list<'a>(item: &'a Map, key: &str) -> impl Iterator<Item = &'a Value> {
    item.get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn failed(item: &Map) -> bool {
    matches!(text(item, "status"), Some("failed" | "incomplete"))
}

fn completed(name: &str, input: Value, output: Vec<Block>, is_error: bool) -> TranslatedItem {
    TranslatedItem::Completed(CompletedCall {
        name: name.to_owned(),
        input,
        output,
        is_error,
    })
}

fn lines(lines: Vec<String>) -> Vec<Block> {
    let text = if lines.is_empty() {
        model_text::NO_RESULTS.to_owned()
    } else {
        lines.join("\n")
    };
    vec![Block::text(text)]
}

fn web_search(item: &Map) -> TranslatedItem {
    let action = item.get("action").and_then(Value::as_object);
    let input = action.map(|action| without(action, &["sources"]));
    let sources = action
        .into_iter()
        .flat_map(|action| list(action, "sources"));
    let sources = sources.filter_map(|source| Some(source.get("url")?.as_str()?.to_owned()));
    let output = lines(sources.collect());
    completed(
        "web_search",
        input.unwrap_or_default().into(),
        output,
        failed(item),
    )
}

fn file_search(item: &Map) -> TranslatedItem {
    let queries: Vec<&Value> = list(item, "queries").collect();
    let found = list(item, "results").filter_map(|result| {
        let result = result.as_object()?;
        let name = text(result, "filename").or(text(result, "file_id"));
        Some(format!(
            "{}: {}",
            name.unwrap_or("file"),
            text(result, "text")?
        ))
    });
    let output = lines(found.collect());
    completed(
        "file_search",
        json!({"queries": queries}),
        output,
        failed(item),
    )
}

fn code_interpreter(item: &Map) -> TranslatedItem {
    let mut blocks = Vec::new();
    for output in list(item, "outputs").filter_map(Value::as_object) {
        match (text(output, "logs"), text(output, "url")) {
            (Some(logs), _) => blocks.push(Block::text(logs)),
            (None, Some(url)) => blocks.push(image_block(url)),
            (None, None) => {}
        }
    }
    if blocks.is_empty() {
        blocks.push(Block::text(model_text::NO_OUTPUT));
    }
    let code = text(item, "code").unwrap_or_default();
    completed(
        "code_interpreter",
        json!({"code": code}),
        blocks,
        failed(item),
    )
}

fn image_generation(item: &Map) -> TranslatedItem {
    let input = match text(item, "revised_prompt") {
        Some(prompt) => json!({"prompt": prompt}),
        None => json!({}),
    };
    let image = text(item, "result").and_then(|data| {
        let format = text(item, "output_format").unwrap_or("png");
        match split_data_url(data) {
            Some(_) => Some(image_block(data)),
            // No vendor takes it as an image, and any model can read it as text.
            None if format == "svg" => drawing(data),
            None => Some(Block::new(Content::Image(MediaSource::Base64 {
                media_type: image_media_type(format),
                data: data.to_owned(),
            }))),
        }
    });
    let is_error = image.is_none();
    let output = image.unwrap_or_else(|| Block::text(model_text::NO_IMAGE));
    completed("image_generation", input, vec![output], is_error)
}

/// The text of a drawing.
fn drawing(data: &str) -> Option<Block> {
    let text = String::from_utf8(STANDARD.decode(data).ok()?).ok()?;
    Some(Block::text(text))
}

/// An image whose bytes are known, else its address: not every upstream fetches it.
fn image_block(url: &str) -> Block {
    match split_data_url(url) {
        Some((media_type, _)) if media_type.starts_with("image/") => {
            Block::new(Content::Image(image_source(url.to_owned())))
        }
        _ => Block::text(model_text::image_at(url)),
    }
}

fn mcp_call(item: &Map) -> TranslatedItem {
    let (output, is_error) = match (item.get("error"), text(item, "output")) {
        (Some(error), _) if !error.is_null() => (plain(error), true),
        (_, Some(output)) => (output.to_owned(), false),
        (_, None) => (model_text::NO_OUTPUT.to_owned(), failed(item)),
    };
    let name = tool_name("mcp_call", item);
    completed(
        &name,
        arguments_of(item),
        vec![Block::text(output)],
        is_error,
    )
}

fn approval_request(item: &Map) -> String {
    let name = text(item, "name").unwrap_or("a tool");
    let server = text(item, "server_label").unwrap_or("a server");
    let arguments = text(item, "arguments").unwrap_or("{}");
    model_text::approval_request(name, server, arguments)
}

fn approval_response(item: &Map) -> String {
    let approved = item.get("approve").and_then(Value::as_bool) == Some(true);
    model_text::approval_response(approved, text(item, "reason"))
}

fn compaction(item: &Map) -> TranslatedItem {
    let summary = item
        .get("summary")
        .map(plain)
        .filter(|text| !text.is_empty());
    match summary {
        Some(summary) => TranslatedItem::AssistantText(model_text::summary(&summary)),
        None => {
            TranslatedItem::Untranslatable("a compacted conversation that only OpenAI can read")
        }
    }
}

/// What another agent of the client says.
fn agent_message(item: &Map) -> TranslatedItem {
    let parts = list(item, "content").filter_map(|part| part.get("text")?.as_str());
    let message = parts.collect::<Vec<_>>().join("\n");
    if message.is_empty() {
        return TranslatedItem::Untranslatable("a message of an agent that only OpenAI can read");
    }
    let author = text(item, "author").unwrap_or("another agent");
    TranslatedItem::UserText(model_text::agent_message(author, &message))
}

/// The output of a tool without a call, as if the model had called it.
fn standalone_output(item: &Map) -> TranslatedItem {
    let name = text(item, "name").unwrap_or("tool");
    let name = match text(item, "namespace") {
        Some(namespace) => member_name(namespace, name),
        None => name.to_owned(),
    };
    let output = item.get("output").cloned().unwrap_or_default();
    let blocks = match read_parts(output.clone(), &JsonPath::Root.key("output")) {
        Ok(blocks) if !blocks.is_empty() => blocks,
        Ok(_) => vec![Block::text(model_text::NO_OUTPUT)],
        Err(_) => vec![Block::text(plain(&output))],
    };
    completed(&name, json!({}), blocks, false)
}

/// A call's output: a text, an image, or any JSON.
fn output(item: &Map) -> Vec<Block> {
    let output = item.get("output").filter(|output| !output.is_null());
    match output {
        Some(Value::Object(shot)) => {
            let picture = text(shot, "image_url").map(image_block);
            vec![picture.unwrap_or_else(|| Block::text(json!(shot).to_string()))]
        }
        Some(output) => vec![Block::text(plain(output))],
        None => {
            let rest = without(item, &["id", "call_id", "status", "type", DIALECT_FIELDS]);
            vec![Block::text(json!(rest).to_string())]
        }
    }
}

fn tool_name(kind: &str, item: &Map) -> String {
    let own = text(item, "name");
    let default = kind.strip_suffix("_call").unwrap_or(kind);
    own.unwrap_or(default).to_owned()
}

/// A call's arguments: its fields other than names and ids.
fn input(item: &Map) -> Value {
    if item.contains_key("arguments") {
        return arguments_of(item);
    }
    if let Some(action) = item.get("action").filter(|action| action.is_object()) {
        return action.clone();
    }
    let names = ["id", "call_id", "status", "type", "name", DIALECT_FIELDS];
    Value::Object(without(item, &names))
}

fn arguments_of(item: &Map) -> Value {
    match item.get("arguments") {
        Some(Value::String(text)) => arguments::parse(text.clone()),
        Some(arguments) if arguments.is_object() => arguments.clone(),
        _ => json!({}),
    }
}

const OUTCOMES: [&str; 5] = ["error", "output", "outputs", "result", "results"];

/// A call of an unknown type.
fn unknown_call(kind: &str, item: &Map) -> TranslatedItem {
    let came = OUTCOMES
        .iter()
        .filter_map(|key| Some((*key, item.get(*key)?)));
    let came = came.filter(|(_, value)| !value.is_null());
    let output: Vec<String> = came.map(|(_, value)| plain(value)).collect();
    let call = without(item, &OUTCOMES);
    let is_error = failed(item) || item.get("error").is_some_and(|error| !error.is_null());
    completed(
        &tool_name(kind, item),
        input(&call),
        lines(output),
        is_error,
    )
}

/// An item of an unknown type.
fn unknown(kind: &str, item: &Map) -> TranslatedItem {
    let rest = without(
        item,
        &["id", "status", "type", "encrypted_content", DIALECT_FIELDS],
    );
    if rest.is_empty() {
        TranslatedItem::Untranslatable("an item that only OpenAI can read")
    } else {
        TranslatedItem::AssistantText(format!("[{kind}] {}", json!(rest)))
    }
}

/// A value as text: its own text where it has one, else its JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Option<Vec<&str>> = parts
                .iter()
                .map(|part| part.get("text").unwrap_or(part).as_str())
                .collect();
            texts.map_or_else(|| value.to_string(), |texts| texts.join("\n"))
        }
        other => other.to_string(),
    }
}
