//! A Messages request, written for an Anthropic model.

use serde_json::{Value, json};

use super::block_out::ForUpstream;
use super::tools::{write_choice, write_tools};
use crate::Dialect;
use crate::context::{Outgoing, ReadContext, WriteOptions};
use crate::drops::Drops;
use crate::error::WireError;
use crate::fields::{MESSAGES, Path, SYSTEM, put};
use crate::neutral::{
    Block, Content, Format, Map, Message, Request, Role, Thinking, ThinkingMode, ToolChoice, unroll,
};

pub(crate) fn write_request(
    request: &Request,
    options: &WriteOptions,
) -> Result<Outgoing, WireError> {
    let mut drops = Drops::default();
    let mut body = Map::new();
    body.insert("model".to_owned(), request.model.as_str().into());
    let max_tokens = request.max_tokens.unwrap_or(options.default_max_tokens);
    body.insert("max_tokens".to_owned(), max_tokens.into());
    write_conversation(request, options, &mut body, &mut drops)?;
    write_settings(request, options, &mut body, &mut drops)?;
    merge_rest(request, &mut body, &mut drops);
    Ok(Outgoing {
        body: Value::Object(body),
        dropped: drops.into_vec(),
        context: ReadContext::of(request),
    })
}

fn write_conversation(
    request: &Request,
    options: &WriteOptions,
    body: &mut Map,
    drops: &mut Drops,
) -> Result<(), WireError> {
    let own = request.origin == Dialect::Messages;
    let unrolled;
    let conversation = if own {
        request.messages.as_slice()
    } else {
        // Anthropic takes only its own server tools' calls back.
        unrolled = unroll(&request.messages, drops);
        unrolled.as_ref()
    };
    let mut blocks = ForUpstream { own, drops };
    if !request.system.is_empty() {
        let system = blocks.content(&request.system, &SYSTEM)?;
        body.insert("system".to_owned(), system);
    }
    let mut messages = Vec::with_capacity(conversation.len());
    for (i, message) in conversation.iter().enumerate() {
        let path = &MESSAGES.index(i);
        let fitted = fit_system(message, options);
        let message = fitted.as_ref().unwrap_or(message);
        let mut map = Map::new();
        map.insert("role".to_owned(), role(message.role).into());
        let content = blocks.content(&message.content, &path.key("content"))?;
        if content.as_array().is_some_and(Vec::is_empty) && !message.content.is_empty() {
            continue;
        }
        map.insert("content".to_owned(), content);
        if own {
            map.extend(message.rest.clone());
        } else {
            blocks.drops.rest(path, &message.rest);
        }
        messages.push(Value::Object(map));
    }
    body.insert("messages".to_owned(), messages.into());
    let tools = write_tools(request, drops);
    if !tools.is_empty() {
        body.insert("tools".to_owned(), tools.into());
        put(body, "tool_choice", write_choice(request)?);
    }
    Ok(())
}

fn role(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::System => "system",
    }
}

/// A system message in the middle, for models that take none there.
fn fit_system(message: &Message, options: &WriteOptions) -> Option<Message> {
    if message.role != Role::System || options.system_in_place {
        return None;
    }
    let content = message.content.iter().map(|block| match &block.content {
        Content::Text(text) => Block {
            content: Content::Text(crate::neutral::tagged_system(text)),
            ..block.clone()
        },
        _ => block.clone(),
    });
    Some(Message::new(Role::User, content.collect()))
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
    if !request.stop_sequences.is_empty() {
        body.insert(
            "stop_sequences".to_owned(),
            request.stop_sequences.clone().into(),
        );
    }
    write_sampling(request, options, body, drops);
    put(body, "thinking", thinking_of(request, options, body));
    write_output_config(request, options, body, drops)?;
    let user = request.user.as_ref();
    put(body, "metadata", user.map(|user| json!({"user_id": user})));
    put(body, "cache_control", request.cache_control.clone());
    put(body, "container", request.container.clone());
    Ok(())
}

fn write_sampling(request: &Request, options: &WriteOptions, body: &mut Map, drops: &mut Drops) {
    let fields: [(&str, Option<Value>); 3] = [
        (
            "temperature",
            request.temperature.clone().map(Value::Number),
        ),
        ("top_p", request.top_p.clone().map(Value::Number)),
        ("top_k", request.top_k.map(Value::from)),
    ];
    for (key, value) in fields {
        if value.is_some() && !options.sampling {
            drops.add(key, "the model takes no sampling parameters");
        } else {
            put(body, key, value);
        }
    }
}

/// What the client said of thinking, or what its effort level amounts to.
fn thinking_of(request: &Request, options: &WriteOptions, body: &Map) -> Option<Value> {
    if let Some(thinking) = &request.thinking {
        return Some(write_thinking(thinking));
    }
    let effort = request.effort.as_deref()?;
    let Some(budget) = crate::effort::budget(effort) else {
        return Some(json!({"type": "disabled"}));
    };
    if options.effort_levels || !may_start_thinking(request) {
        return None;
    }
    // The budget must leave room for an answer; less than the least is none at all.
    let limit = body.get("max_tokens").and_then(Value::as_u64).unwrap_or(0);
    let budget = budget.min(limit.saturating_sub(1));
    (budget >= 1024).then(|| json!({"type": "enabled", "budget_tokens": budget}))
}

/// Anthropic refuses to begin thinking when a tool is forced, or in the middle of a
/// loop whose calls came without a thought.
fn may_start_thinking(request: &Request) -> bool {
    let forced = matches!(
        request.tool_choice,
        Some(ToolChoice::Any | ToolChoice::Tool(_) | ToolChoice::Allowed { required: true, .. })
    );
    let mut assistant = request.messages.iter().rev();
    let last = assistant.find(|message| message.role == Role::Assistant);
    let in_loop = last.is_some_and(|message| {
        let blocks = message.content.iter();
        blocks
            .into_iter()
            .any(|block| matches!(block.content, Content::ToolUse { .. }))
    });
    !forced && !in_loop
}

pub(crate) fn write_thinking(thinking: &Thinking) -> Value {
    let mut map = match &thinking.mode {
        ThinkingMode::Enabled { budget_tokens } => Map::from_iter([
            ("type".to_owned(), "enabled".into()),
            ("budget_tokens".to_owned(), (*budget_tokens).into()),
        ]),
        ThinkingMode::Adaptive => Map::from_iter([("type".to_owned(), "adaptive".into())]),
        ThinkingMode::Disabled => Map::from_iter([("type".to_owned(), "disabled".into())]),
        ThinkingMode::Other(kind) => Map::from_iter([("type".to_owned(), kind.as_str().into())]),
    };
    map.extend(thinking.rest.clone());
    Value::Object(map)
}

fn write_output_config(
    request: &Request,
    options: &WriteOptions,
    body: &mut Map,
    drops: &mut Drops,
) -> Result<(), WireError> {
    let mut config = Map::new();
    if options.effort_levels {
        let effort = request.effort.as_deref();
        put(
            &mut config,
            "effort",
            effort.and_then(crate::effort::anthropic),
        );
    }
    match &request.format {
        Some(Format::JsonSchema { schema, .. }) => {
            let format = json!({"type": "json_schema", "schema": schema});
            config.insert("format".to_owned(), format);
        }
        Some(Format::JsonObject) => drops.add(
            "output_config.format",
            "Anthropic has no JSON mode without a schema",
        ),
        Some(Format::Other(map)) if request.origin == Dialect::Messages => {
            config.insert("format".to_owned(), Value::Object(map.clone()));
        }
        Some(Format::Other(_)) => {
            return Err(WireError::unsupported(
                Dialect::Messages,
                "output_config.format",
                "Anthropic Messages knows no such output format",
            ));
        }
        None => {}
    }
    if !config.is_empty() {
        body.insert("output_config".to_owned(), Value::Object(config));
    }
    Ok(())
}

/// Unknown fields go back into the object they came from.
fn merge_rest(request: &Request, body: &mut Map, drops: &mut Drops) {
    if request.origin != Dialect::Messages {
        drops.rest(&Path::Root, &request.rest);
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
