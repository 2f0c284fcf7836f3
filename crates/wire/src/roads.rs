//! The roads by name: which module reads or writes which dialect.

use serde_json::Value;

use crate::context::{Outgoing, ReadContext, ReplyContext, WriteOptions};
use crate::drops::{Dropped, Drops};
use crate::error::WireError;
use crate::fields::{Path, parse};
use crate::fit::fit;
use crate::neutral::{ApiError, ClientFields, ErrorKind, Map, OWN, Request, Response, without_own};
use crate::opening;
use crate::stop_cut::cut_response;
use crate::{Client, Dialect, anthropic, chat, converse, gemini, openai, responses};

/// Reads a client's request.
pub fn read_request(client: Client, body: &[u8]) -> Result<Request, WireError> {
    let body = parse(body)?;
    let client_fields = ClientFields::of(client, &body);
    let request = match client {
        Client::Messages => anthropic::read_request(body),
        Client::Chat => chat::read_request(body),
        Client::Responses => responses::read_request(body),
        Client::Gemini => gemini::read_request(body),
    }?;
    Ok(Request {
        client_fields,
        ..request
    })
}

/// Writes a request in an upstream's dialect. What is left out or wrong is named by the
/// paths and names that it has in the client's body.
pub fn write_request(
    upstream: Dialect,
    request: &Request,
    options: &WriteOptions,
) -> Result<Outgoing, WireError> {
    let written = write_fitted(upstream, request, options);
    written.map_err(|error| error.named_for(&request.client_fields))
}

fn write_fitted(
    upstream: Dialect,
    request: &Request,
    options: &WriteOptions,
) -> Result<Outgoing, WireError> {
    opening::check(upstream, request)?;
    // What is made fit may be nothing, so how it begins is looked at afterwards.
    let fitted = fit(request, upstream)?;
    let request = opening::fitted(upstream, &fitted.request)?;
    let mut written = write(upstream, &request, options)?;
    if opening::is_emptied(upstream, &request, &written.body) {
        // All that was said was left out. What that was, the first writing has named.
        let request = opening::instructions_alone(upstream, &request)?;
        written.body = write(upstream, &request, options)?.body;
    }
    opening::open(upstream, request.origin, &mut written.body);
    drop(request);
    fitted.finish(&mut written);
    Ok(written)
}

fn write(
    upstream: Dialect,
    request: &Request,
    options: &WriteOptions,
) -> Result<Outgoing, WireError> {
    match upstream {
        Dialect::Messages => anthropic::write_request(request, options),
        Dialect::Chat => chat::write_request(request, options),
        Dialect::Responses => responses::write_request(request, options),
        Dialect::Gemini => gemini::write_request(request, options),
        Dialect::Converse => converse::write_request(request, options),
    }
}

/// Reads an upstream's whole answer.
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
    cut_response(&mut response, &context.stop_sequences);
    Ok(response)
}

/// Writes a whole answer in the client's dialect, and says what it could not say. That is
/// named as the upstream's answer has it, and blocks by their order, `content[1]`: what
/// the client's dialect cannot say has no name there.
pub fn write_response(
    client: Client,
    response: &Response,
    context: &ReplyContext,
) -> (Value, Vec<Dropped>) {
    let (body, mut dropped) = match client {
        Client::Messages => (anthropic::write_response(response, context), Vec::new()),
        Client::Chat => chat::write_response(response, context),
        Client::Responses => responses::write_response(response, context),
        Client::Gemini => gemini::write_response(response, context),
    };
    dropped.extend(unsaid(client, response));
    (body, dropped)
}

/// Fields of the upstream's answer that only its own dialect has.
fn unsaid(client: Client, response: &Response) -> Vec<Dropped> {
    let mut drops = Drops::default();
    if response.origin != Dialect::from(client) {
        drops.rest(&Path::Root, &told(&response.rest));
        let message = match response.origin {
            Dialect::Chat => "choices[0].message",
            _ => "message",
        };
        drops.rest(&Path::Root.key(message), &told(&response.message_rest));
    }
    let usage = &response.usage.rest;
    let others = match usage.get(OWN) {
        Some(own) if response.origin != Dialect::from(client) => {
            Map::from_iter([(OWN.to_owned(), own.clone())])
        }
        _ => Map::new(),
    };
    drops.rest(&Path::Root.key("usage"), &others);
    if client != Client::Messages {
        let mut usage = told(&without_own(usage));
        usage.retain(|_, count| !is_zero(count));
        drops.rest(&Path::Root.key("usage"), &usage);
    }
    drops.into_vec()
}

/// Whether nothing was counted.
fn is_zero(count: &Value) -> bool {
    match count {
        Value::Number(count) => count.as_f64() == Some(0.0),
        Value::Object(counts) => counts.values().all(is_zero),
        _ => false,
    }
}

/// The fields that say something: providers send empty lists with every answer.
fn told(rest: &Map) -> Map {
    let says = |value: &Value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::String(text) => !text.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    };
    let told = rest.iter().filter(|(_, value)| says(value));
    told.map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// Whether a body is an error as clients of this dialect know it. Others than the vendor
/// speak its dialect, and their errors do not always.
pub fn is_error(client: Client, body: &[u8]) -> bool {
    let Ok(body) = serde_json::from_slice::<Value>(body) else {
        return false;
    };
    match client {
        Client::Messages => anthropic::is_error(&body),
        Client::Chat | Client::Responses => openai::is_error(&body),
        Client::Gemini => gemini::is_error(&body),
    }
}

/// Reads an upstream's error answer. A body that is none of the dialect's (a proxy's
/// page, say) still gives an error of the right kind, with the start of its text.
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
            "" => format!("the upstream answered {status} without a reason"),
            start => format!("the upstream answered {status}: {start}"),
        };
        ApiError {
            status,
            ..ApiError::new(ErrorKind::of_status(status), message)
        }
    })
}
