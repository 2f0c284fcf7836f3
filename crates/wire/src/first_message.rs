//! The beginning of a conversation, for dialects that require a user's message there.
//!
//! OpenAI's clients may send instructions alone, or a conversation that starts with the
//! model. Between servers of one dialect the server decides; in translation it is adapted.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::Dialect;
use crate::blank_messages::is_blank;
use crate::error::WireError;
use crate::model_text::BLANK_TEXT;
use crate::neutral::{Message, Request, Role};

/// Refuses a request that names a part of its prompt which only its vendor's servers hold: without
/// it, a model would respond to something else.
pub(crate) fn check_stored_prompt(upstream: Dialect, request: &Request) -> Result<(), WireError> {
    let (field, why) = match request.origin {
        origin if upstream == origin => return Ok(()),
        Dialect::Responses => (
            "prompt",
            "prompt templates are available at OpenAI only: send the text as instructions and input",
        ),
        Dialect::Gemini => (
            "cachedContent",
            "cached contents are available at Google only: send them with the request",
        ),
        Dialect::Messages | Dialect::Chat | Dialect::Converse => return Ok(()),
    };
    match request.rest.get(field) {
        Some(named) if !named.is_null() => Err(WireError::unsupported(upstream, field, why)),
        _ => Ok(()),
    }
}

/// The request with something to respond to: instructions alone become the user's message.
/// A request without either is refused.
pub(crate) fn with_user_message(
    upstream: Dialect,
    request: &Request,
) -> Result<Cow<'_, Request>, WireError> {
    if upstream == request.client_dialect() || !request.messages.is_empty() {
        return Ok(Cow::Borrowed(request));
    }
    instructions_as_user_message(upstream, request).map(Cow::Owned)
}

/// The request with its instructions as the user's message, instead of a conversation of
/// which nothing can be sent.
pub(crate) fn instructions_as_user_message(
    upstream: Dialect,
    request: &Request,
) -> Result<Request, WireError> {
    let is_not_blank = |text: Option<&str>| text.is_none_or(|text| !is_blank(text));
    if !request
        .system
        .iter()
        .any(|block| is_not_blank(block.as_text()))
    {
        return Err(nothing_to_answer(upstream, request.client_dialect()));
    }
    let mut request = request.clone();
    let content = std::mem::take(&mut request.system);
    request.messages = vec![Message::new(Role::User, content)];
    Ok(request)
}

/// Whether a writer has dropped the whole conversation, such as calls of servers that
/// have no results.
pub(crate) fn is_conversation_empty(upstream: Dialect, request: &Request, body: &Value) -> bool {
    let list = match upstream {
        _ if upstream == request.client_dialect() => return false,
        Dialect::Messages | Dialect::Chat | Dialect::Converse => "messages",
        Dialect::Responses => "input",
        Dialect::Gemini => "contents",
    };
    let Some(messages) = body.get(list).and_then(Value::as_array) else {
        return true;
    };
    // Chat's list begins with the instructions.
    let is_system = |message: &Value| {
        let role = message.get("role").and_then(Value::as_str);
        matches!(role, Some("system" | "developer"))
    };
    let later = || request.messages.iter().any(|m| m.role == Role::System);
    messages.is_empty() || (upstream == Dialect::Chat && messages.iter().all(is_system) && !later())
}

fn nothing_to_answer(upstream: Dialect, client: Dialect) -> WireError {
    let field = match client {
        Dialect::Responses => "input",
        Dialect::Gemini => "contents",
        Dialect::Messages | Dialect::Chat | Dialect::Converse => "messages",
    };
    let why = "there is no message to respond to: send at least one message";
    WireError::unsupported(upstream, field, why)
}

/// Does both to a request that is to be Anthropic's own. What else its beginning lacks is
/// inserted when it is written.
pub(crate) fn prepare_for_anthropic(request: &mut Request) -> Result<(), WireError> {
    check_stored_prompt(Dialect::Messages, request)?;
    if let Cow::Owned(adapted) = with_user_message(Dialect::Messages, request)? {
        *request = adapted;
    }
    Ok(())
}

/// Inserts a blank user message before a conversation that starts with the model, where
/// that is refused.
pub(crate) fn insert_opening_message(upstream: Dialect, client: Dialect, body: &mut Value) {
    let (list, role, message) = match upstream {
        _ if upstream == client => return,
        Dialect::Messages => ("messages", "assistant", json!({"content": BLANK_TEXT})),
        Dialect::Converse => (
            "messages",
            "assistant",
            json!({"content": [{"text": BLANK_TEXT}]}),
        ),
        Dialect::Gemini => (
            "contents",
            "model",
            json!({"parts": [{"text": BLANK_TEXT}]}),
        ),
        Dialect::Chat | Dialect::Responses => return,
    };
    let Some(messages) = body.get_mut(list).and_then(Value::as_array_mut) else {
        return;
    };
    let opens = messages.first().and_then(|first| first.get("role"));
    if opens.and_then(Value::as_str) == Some(role) {
        let mut first = json!({"role": "user"});
        if let (Some(first), Value::Object(content)) = (first.as_object_mut(), message) {
            first.extend(content);
        }
        messages.insert(0, first);
    }
}
