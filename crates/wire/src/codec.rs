//! Dispatch: which module reads or writes which dialect.

use serde_json::Value;

use crate::adapt::adapt_request;
use crate::call_ids::UniqueCallIds;
use crate::context::{EncodedRequest, ReadContext, ReplyContext, WriteOptions};
use crate::dropped::Dropped;
use crate::drops::Drops;
use crate::error::WireError;
use crate::fields::parse;
use crate::first_message;
use crate::json_path::JsonPath;
use crate::last_message::append_closing_message;
use crate::lost_sources::note_sources;
use crate::neutral::{
    ANNOTATIONS, ApiError, ClientFields, DIALECT_FIELDS, ErrorKind, Map, Request, Response,
    citations_of_only_text, without_dialect_fields,
};
use crate::stop_sequences::truncate_response;
use crate::{ClientDialect, Dialect, anthropic, chat, converse, gemini, openai, responses};

/// Reads a client's request.
pub fn read_request(client: ClientDialect, body: &[u8]) -> Result<Request, WireError> {
    let body = parse(body)?;
    let client_fields = ClientFields::from_body(client, &body);
    let request = match client {
        ClientDialect::Messages => anthropic::read_request(body),
        ClientDialect::Chat => chat::read_request(body),
        ClientDialect::Responses => responses::read_request(body),
        ClientDialect::Gemini => gemini::read_request(body),
    }?;
    Ok(Request {
        client_fields,
        ..request
    })
}

/// Writes a request in an upstream's dialect. Dropped or invalid fields are named by the
/// paths and names that they have in the client's body.
pub fn write_request(
    upstream: Dialect,
    request: &Request,
    options: &WriteOptions,
) -> Result<EncodedRequest, WireError> {
    let written = write_adapted(upstream, request, options);
    written.map_err(|error| error.with_client_names(&request.client_fields))
}

fn write_adapted(
    upstream: Dialect,
    request: &Request,
    options: &WriteOptions,
) -> Result<EncodedRequest, WireError> {
    first_message::check_stored_prompt(upstream, request)?;
    // An adapted request may be empty, so its beginning is checked afterwards.
    let adapted = adapt_request(request, upstream)?;
    let request = first_message::with_user_message(upstream, &adapted.request)?;
    let mut written = write(upstream, &request, options)?;
    if first_message::is_conversation_empty(upstream, &request, &written.body) {
        // The whole conversation was dropped; the first writing reported what it was.
        let request = first_message::instructions_as_user_message(upstream, &request)?;
        written.body = write(upstream, &request, options)?.body;
    }
    let client = request.client_dialect();
    first_message::insert_opening_message(upstream, client, &mut written.body);
    append_closing_message(upstream, client, options, &mut written.body);
    drop(request);
    adapted.finish(&mut written);
    Ok(written)
}

fn write(
    upstream: Dialect,
    request: &Request,
    options: &WriteOptions,
) -> Result<EncodedRequest, WireError> {
    match upstream {
        Dialect::Messages => anthropic::write_request(request, options),
        Dialect::Chat => chat::write_request(request, options),
        Dialect::Responses => responses::write_request(request, options),
        Dialect::Gemini => gemini::write_request(request, options),
        Dialect::Converse => converse::write_request(request, options),
    }
}

/// Reads an upstream's whole response.
pub fn read_response(
    upstream: Dialect,
    body: &[u8],
    context: &ReadContext,
) -> Result<Response, WireError> {
    let body = parse(body)?;
    let mut response = match upstream {
        Dialect::Messages => anthropic::read_response(body, context),
        Dialect::Chat => chat::read_response(body, context),
        Dialect::Responses => responses::read_response(body, context),
        Dialect::Gemini => gemini::read_response(body, context),
        Dialect::Converse => converse::read_response(body, context),
    }?;
    if let Some(earlier) = &context.call_ids {
        let mut call_ids = UniqueCallIds::after(earlier);
        for block in &mut response.content {
            call_ids.rename_call(block);
        }
    }
    truncate_response(&mut response, &context.stop_sequences);
    Ok(response)
}

/// Writes a whole response in the client's dialect, and returns what could not be
/// translated. That is named as in the upstream's response, and blocks by their index,
/// `content[1]`: what the client's dialect does not support has no name there.
pub fn write_response(
    client: ClientDialect,
    response: &Response,
    context: &ReplyContext,
) -> (Value, Vec<Dropped>) {
    let (body, mut dropped) = match client {
        ClientDialect::Messages => (anthropic::write_response(response, context), Vec::new()),
        ClientDialect::Chat => chat::write_response(response, context),
        ClientDialect::Responses => responses::write_response(response, context),
        ClientDialect::Gemini => gemini::write_response(response, context),
    };
    dropped.extend(unsupported_fields(client, response));
    (body, dropped)
}

/// Fields of the upstream's response that only its own dialect has.
fn unsupported_fields(client: ClientDialect, response: &Response) -> Vec<Dropped> {
    let mut drops = Drops::default();
    if response.origin != Dialect::from(client) {
        drops.rest(&JsonPath::Root, &non_empty_fields(&response.rest));
        let message = match response.origin {
            Dialect::Chat => "choices[0].message",
            Dialect::Gemini => "candidates[0]",
            _ => "message",
        };
        let mut fields = non_empty_fields(&response.message_rest);
        if client == ClientDialect::Responses && has_only_translated_citations(response) {
            fields.shift_remove(ANNOTATIONS);
        }
        drops.rest(&JsonPath::Root.key(message), &fields);
    }
    note_sources(client, response, &mut drops);
    let usage = &response.usage.rest;
    let others = match usage.get(DIALECT_FIELDS) {
        Some(own) if response.origin != Dialect::from(client) => {
            Map::from_iter([(DIALECT_FIELDS.to_owned(), own.clone())])
        }
        _ => Map::new(),
    };
    drops.rest(&JsonPath::Root.key("usage"), &others);
    if client != ClientDialect::Messages {
        let mut usage = non_empty_fields(&without_dialect_fields(usage));
        usage.retain(|_, count| !is_zero(count));
        drops.rest(&JsonPath::Root.key("usage"), &usage);
    }
    drops.into_vec()
}

/// Whether all annotations of a Chat message are citations that its text has in Responses.
fn has_only_translated_citations(response: &Response) -> bool {
    let annotations = response.message_rest.get(ANNOTATIONS);
    let sent = annotations.and_then(Value::as_array).map(Vec::len);
    let translated = citations_of_only_text(response).map(|(_, citations)| citations.len());
    sent.is_some() && sent == translated
}

/// Whether nothing was counted.
fn is_zero(count: &Value) -> bool {
    match count {
        Value::Number(count) => count.as_f64() == Some(0.0),
        Value::Object(counts) => counts.values().all(is_zero),
        _ => false,
    }
}

/// The fields with a value: providers send empty lists with every response.
fn non_empty_fields(rest: &Map) -> Map {
    let is_non_empty = |value: &Value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::String(text) => !text.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    };
    let set = rest.iter().filter(|(_, value)| is_non_empty(value));
    set.map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// Whether a body is an error in the form of this dialect. Other vendors use the dialect
/// too, but not always its error form.
pub fn is_error(client: ClientDialect, body: &[u8]) -> bool {
    let Ok(body) = serde_json::from_slice::<Value>(body) else {
        return false;
    };
    match client {
        ClientDialect::Messages => anthropic::is_error(&body),
        ClientDialect::Chat | ClientDialect::Responses => openai::is_error(&body),
        ClientDialect::Gemini => gemini::is_error(&body),
    }
}

/// Reads an upstream's error response. A body in another form (such as a proxy's page)
/// still gives an error of the right kind, with the start of its text.
pub fn read_error(upstream: Dialect, status: u16, body: &[u8]) -> ApiError {
    let read = match upstream {
        Dialect::Messages => anthropic::read_error(status, body),
        Dialect::Chat | Dialect::Responses => openai::read_error(status, body),
        Dialect::Gemini => gemini::read_error(status, body),
        Dialect::Converse => converse::read_error(status, body),
    };
    read.unwrap_or_else(|| {
        let text = String::from_utf8_lossy(body);
        let start: String = text.trim().chars().take(200).collect();
        let message = match start.as_str() {
            "" => format!("the upstream answered {status} without a message"),
            start => format!("the upstream answered {status}: {start}"),
        };
        ApiError {
            status,
            ..ApiError::new(ErrorKind::from_status(status), message)
        }
    })
}
