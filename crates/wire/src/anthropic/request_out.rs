//! A Messages request, written for an Anthropic model.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::block_out::MessagesBlockWriter;
use super::foreign_blocks;
use super::output_schema::output_schema;
use super::reasoning_out::reasoning_settings;
use super::tools::{write_choice, write_tools};
use crate::Dialect;
use crate::blank_messages::{self, is_blank, remove_blank_messages, without_trailing_space};
use crate::context::{EncodedRequest, ReadContext, WriteOptions};
use crate::drops::Drops;
use crate::error::WireError;
use crate::fields::put;
use crate::json_path::{JsonPath, MESSAGES, SYSTEM};
use crate::model_text::{JSON_ONLY, tagged_system};
use crate::neutral::{
    Block, Content, Map, Message, Request, ResponseFormat, Role, expand_server_calls,
    is_system_in_place,
};
use crate::sampling::sampling_params;
use crate::stop_sequences::{DividedStops, divide_stops};

pub(crate) fn write_request(
    request: &Request,
    options: &WriteOptions,
) -> Result<EncodedRequest, WireError> {
    let mut drops = Drops::for_request(request);
    let mut body = Map::new();
    body.insert("model".to_owned(), request.model.as_str().into());
    let max_tokens = request.max_tokens.unwrap_or(options.default_max_tokens);
    body.insert("max_tokens".to_owned(), max_tokens.into());
    write_conversation(request, options, &mut body, &mut drops)?;
    write_settings(request, options, &mut body, &mut drops)?;
    merge_rest(request, &mut body, &mut drops);
    Ok(EncodedRequest {
        body: Value::Object(body),
        dropped: drops.into_vec(),
        context: ReadContext {
            stop_sequences: stops(request).filtered,
            ..ReadContext::for_request(request)
        },
    })
}

fn write_conversation(
    request: &Request,
    options: &WriteOptions,
    body: &mut Map,
    drops: &mut Drops,
) -> Result<(), WireError> {
    let own = request.origin == Dialect::Messages;
    let conversation = if own {
        foreign_blocks::expand_refused_calls(&request.messages, drops)
    } else {
        // Anthropic accepts only calls of its own server tools.
        expand_server_calls(&request.messages, drops)
    };
    put(body, "system", write_system(request, drops)?);
    let messages = write_messages(request, &conversation, options, drops)?;
    body.insert("messages".to_owned(), messages.into());
    let tools = write_tools(request, drops);
    if !tools.is_empty() {
        body.insert("tools".to_owned(), tools.into());
        put(body, "tool_choice", write_choice(request)?);
    }
    Ok(())
}

fn write_system(request: &Request, drops: &mut Drops) -> Result<Option<Value>, WireError> {
    let by_client = is_by_client(request);
    let mut blocks = MessagesBlockWriter {
        own: request.origin == Dialect::Messages,
        by_client,
        from_model: false,
        drops,
    };
    let mut instructions = Cow::Borrowed(request.system.as_slice());
    if request.format == Some(ResponseFormat::JsonObject) {
        instructions.to_mut().push(Block::text(JSON_ONLY));
    }
    let system = blocks.content(&instructions, &SYSTEM)?;
    let is_empty_system = match &system {
        Value::String(text) => text.is_empty() || (!by_client && is_blank(text)),
        Value::Array(blocks) => blocks.is_empty(),
        _ => false,
    };
    Ok((!is_empty_system).then_some(system))
}

fn write_messages(
    request: &Request,
    conversation: &[Message],
    options: &WriteOptions,
    drops: &mut Drops,
) -> Result<Vec<Value>, WireError> {
    let own = request.origin == Dialect::Messages;
    let by_client = is_by_client(request);
    let mut blocks = MessagesBlockWriter {
        own,
        by_client,
        from_model: false,
        drops,
    };
    let end = without_trailing_space(conversation);
    let mut messages = Vec::with_capacity(conversation.len());
    for (i, message) in conversation.iter().enumerate() {
        let path = &MESSAGES.message(i, message);
        let stays = options.system_in_place && (by_client || is_system_in_place(conversation, i));
        let adapted = adapt_system(message, stays);
        let mut message = adapted.as_ref().unwrap_or(message);
        if let Some((_, end)) = end.as_ref().filter(|(at, _)| *at == i) {
            let why = "trailing whitespace, which Anthropic rejects";
            blocks.drops.add(path, why);
            message = end;
        }
        blocks.from_model = message.role == Role::Assistant;
        let mut map = Map::new();
        map.insert("role".to_owned(), role(message.role).into());
        let content = blocks.content(&message.content, &path.key("content"))?;
        map.insert("content".to_owned(), content);
        if own {
            map.extend(message.rest.clone());
        } else {
            blocks.drops.rest(path, &message.rest);
        }
        messages.push(Value::Object(map));
    }
    let blank: fn(&str) -> bool = if by_client { str::is_empty } else { is_blank };
    for at in remove_blank_messages(&mut messages, blank, by_client) {
        if let Some(message) = conversation.get(at) {
            drops.add(MESSAGES.message(at, message), blank_messages::NO_CONTENT);
        }
    }
    Ok(messages)
}

/// Whether the client itself uses Anthropic's dialect. What Anthropic refuses is then its error
/// to the client; requests of other clients are adapted, converted ones as well.
fn is_by_client(request: &Request) -> bool {
    request.client_dialect() == Dialect::Messages
}

fn role(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::System => "system",
    }
}

/// A system message in the middle that the model does not accept there.
fn adapt_system(message: &Message, stays: bool) -> Option<Message> {
    if message.role != Role::System || stays {
        return None;
    }
    let content = message.content.iter().map(|block| match &block.content {
        Content::Text(text) => Block {
            content: Content::Text(tagged_system(text)),
            ..block.clone()
        },
        _ => block.clone(),
    });
    Some(Message {
        role: Role::User,
        content: content.collect(),
        ..message.clone()
    })
}

fn write_settings(
    request: &Request,
    options: &WriteOptions,
    body: &mut Map,
    drops: &mut Drops,
) -> Result<(), WireError> {
    if request.stream {
        body.insert("stream".to_owned(), true.into());
    }
    let stops = stops(request).sent;
    if !stops.is_empty() {
        body.insert("stop_sequences".to_owned(), stops.into());
    }
    let limit = request.max_tokens.unwrap_or(options.default_max_tokens);
    let reasoning = reasoning_settings(request, options, limit, drops);
    let mut sampled = sampling_params(request, options, drops);
    if reasoning.is_on() {
        sampled.drop_for_thinking(request, drops);
    }
    put(body, "temperature", sampled.temperature);
    put(body, "top_p", sampled.top_p);
    put(body, "top_k", sampled.top_k);
    put(body, "thinking", reasoning.thinking);
    write_output_config(request, reasoning.effort, body, drops)?;
    let user = request.user.as_ref();
    put(body, "metadata", user.map(|user| json!({"user_id": user})));
    put(body, "cache_control", request.cache_control.clone());
    put(body, "container", request.container.clone());
    Ok(())
}

/// Anthropic refuses stop sequences that are blank, such as a line break. Its own clients get
/// its error.
fn stops(request: &Request) -> DividedStops {
    let is_accepted: fn(&str) -> bool = match is_by_client(request) {
        true => |_| true,
        false => |stop| !is_blank(stop),
    };
    divide_stops(&request.stop_sequences, usize::MAX, is_accepted)
}

fn write_output_config(
    request: &Request,
    effort: Option<String>,
    body: &mut Map,
    drops: &mut Drops,
) -> Result<(), WireError> {
    let mut config = Map::new();
    put(&mut config, "effort", effort);
    match &request.format {
        Some(ResponseFormat::JsonSchema { schema, .. }) => {
            let schema = accepted_schema(request, schema, drops);
            let format = json!({"type": "json_schema", "schema": schema});
            config.insert("format".to_owned(), format);
        }
        Some(ResponseFormat::JsonObject) => drops.add(
            "output_config.format",
            "Anthropic has no JSON mode without a schema; the model is instructed to write JSON",
        ),
        Some(ResponseFormat::Other(map)) if request.origin == Dialect::Messages => {
            config.insert("format".to_owned(), Value::Object(map.clone()));
        }
        Some(ResponseFormat::Other(_)) => {
            return Err(WireError::unsupported(
                Dialect::Messages,
                "output_config.format",
                "Anthropic Messages does not support this output format: use a JSON schema",
            ));
        }
        None => {}
    }
    if !config.is_empty() {
        body.insert("output_config".to_owned(), Value::Object(config));
    }
    Ok(())
}

/// The schema of a response. Anthropic's own clients get its error for what it refuses.
pub(crate) fn accepted_schema(request: &Request, schema: &Value, drops: &mut Drops) -> Value {
    if is_by_client(request) {
        return schema.clone();
    }
    let accepted = output_schema(schema);
    if !accepted.is_complete {
        drops.add("output_config.format", NOT_ENFORCED);
    }
    accepted.schema
}

const NOT_ENFORCED: &str = "some keywords of the schema cannot be enforced here; the model reads \
them in its descriptions";

/// Unknown fields go back into their original object.
fn merge_rest(request: &Request, body: &mut Map, drops: &mut Drops) {
    if request.origin != Dialect::Messages {
        drops.rest(&JsonPath::Root, &request.rest);
        return;
    }
    for (key, value) in &request.rest {
        match (body.get_mut(key), value) {
            (Some(Value::Object(known)), Value::Object(more)) => known.extend(more.clone()),
            _ => {
                body.insert(key.clone(), value.clone());
            }
        }
    }
}
