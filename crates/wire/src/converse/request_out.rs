//! A Converse request, written.

use serde_json::{Value, json};

use super::block_out::{AcceptedFields, ConverseBlockWriter};
use super::document_out::DocumentNames;
use super::settings_out::{stops, write_settings};
use super::tools_out::write_tool_config;
use crate::blank_messages::without_trailing_space;
use crate::context::{EncodedRequest, ReadContext, WriteOptions};
use crate::drops::Drops;
use crate::error::WireError;
use crate::json_path::{JsonPath, MESSAGES, SYSTEM};
use crate::model_text::{JSON_ONLY, NO_TOOL_CALLS};
use crate::neutral::{
    Map, Message, Request, ResponseFormat, Role, ToolChoice, expand_server_calls,
    is_system_in_place, merge_turns, push_turn,
};

pub(crate) fn write_request(
    request: &Request,
    options: &WriteOptions,
) -> Result<EncodedRequest, WireError> {
    let mut drops = Drops::for_request(request);
    let mut body = Map::new();
    let mut messages = expand_server_calls(&request.messages, &mut drops);
    if let Some((at, end)) = without_trailing_space(&messages)
        && let Some(last) = messages.to_mut().get_mut(at)
    {
        let why = "trailing whitespace, which Claude rejects";
        drops.add(MESSAGES.message(at, last), why);
        *last = end;
    }
    let system = write_system(request, options, &mut drops)?;
    if !system.is_empty() {
        body.insert("system".to_owned(), system.into());
    }
    let turns = write_messages(&messages, options, &mut drops)?;
    body.insert("messages".to_owned(), turns.into());
    let accepted = AcceptedFields::of_model(&options.capabilities, false);
    if let Some(tools) = write_tool_config(request, &messages, accepted, &mut drops)? {
        body.insert("toolConfig".to_owned(), tools);
    }
    write_settings(request, options, &mut body, &mut drops)?;
    drops.rest(&JsonPath::Root, &request.rest);
    Ok(EncodedRequest {
        body: Value::Object(body),
        dropped: drops.into_vec(),
        context: ReadContext {
            stop_sequences: stops(request).filtered,
            ..ReadContext::for_request(request)
        },
    })
}

fn write_system(
    request: &Request,
    options: &WriteOptions,
    drops: &mut Drops,
) -> Result<Vec<Value>, WireError> {
    let mut documents = DocumentNames::default();
    let accepted = AcceptedFields::of_model(&options.capabilities, true);
    let mut blocks = ConverseBlockWriter::new(drops, &mut documents, false, accepted);
    for (i, block) in request.system.iter().enumerate() {
        blocks.write(block, false, &SYSTEM.block(i, block))?;
    }
    let mut system = blocks.finish();
    if request.format == Some(ResponseFormat::JsonObject) {
        system.push(json!({"text": JSON_ONLY}));
    }
    if request.tool_choice == Some(ToolChoice::None) && !request.tools.is_empty() {
        // Without its tools a conversation that used them is refused.
        drops.add(
            "tool_choice",
            "Converse cannot forbid tool calls; the model is instructed not to call any",
        );
        system.push(json!({"text": NO_TOOL_CALLS}));
    }
    Ok(system)
}

fn write_messages(
    messages: &[Message],
    options: &WriteOptions,
    drops: &mut Drops,
) -> Result<Vec<Value>, WireError> {
    for (i, message) in messages.iter().enumerate() {
        drops.rest(&MESSAGES.message(i, message), &message.rest);
    }
    let mut roles = messages.iter().map(|message| message.role).enumerate();
    let is_fine =
        |(at, role): (usize, Role)| role != Role::System || is_system_in_place(messages, at);
    let fold = !(options.system_in_place && roles.all(is_fine));
    let mut out = Vec::new();
    let mut documents = DocumentNames::default();
    let accepted = AcceptedFields::of_model(&options.capabilities, false);
    for turn in merge_turns(messages, fold) {
        let from_model = turn.role == Role::Assistant;
        let mut blocks = ConverseBlockWriter::new(drops, &mut documents, from_model, accepted);
        for (m, b, block) in &turn.blocks {
            let path = MESSAGES.index(*m);
            let path = path.key("content");
            let is_system = messages.get(*m).is_some_and(|m| m.role == Role::System);
            blocks.write(block, fold && is_system, &path.block(*b, block))?;
        }
        let content = blocks.finish();
        let role = match turn.role {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::System => "system",
        };
        push_turn(&mut out, role, "content", content);
    }
    Ok(out)
}
