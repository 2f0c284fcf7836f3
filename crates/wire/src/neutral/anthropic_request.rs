//! A request of another dialect as one of Anthropic's own: for calls that need what only
//! that dialect can say.

use super::{
    Content, Message, Request, ResponseFormat, Tool, ToolChoice, ToolKind,
    expand_server_calls_except,
};
use crate::Dialect;
use crate::adapt::adapt_request;
use crate::drops::{Dropped, Drops};
use crate::error::WireError;
use crate::fields::{JsonPath, MESSAGES, SYSTEM, TOOLS};
use crate::first_message;

/// How the ids of calls begin that Anthropic's servers made.
const SERVER_CALL_PREFIX: &str = "srvtoolu_";
/// A block that only Anthropic has, and that clients of other dialects may borrow.
const UPLOAD: &str = "container_upload";

/// Makes a request Anthropic's own, so that server tools, containers and blocks of its
/// servers can be added to it. What only the dialect it came from can carry is left out
/// of it and named, as it would be when it is written.
///
/// # Errors
/// When the request says something that Anthropic has no word for.
pub fn convert_to_anthropic(request: &mut Request) -> Result<Vec<Dropped>, WireError> {
    if request.origin == Dialect::Messages {
        return Ok(Vec::new());
    }
    let fields = request.client_fields;
    let named = |error: WireError| error.with_client_names(&fields);
    let (fitted, unfit) = adapt_request(request, Dialect::Messages)
        .map_err(named)?
        .into_parts();
    *request = fitted;
    check(request).map_err(named)?;
    let mut drops = Drops::for_request(request);
    request.dropped.clear();
    let kept = |id: &str| id.starts_with(SERVER_CALL_PREFIX);
    request.messages =
        expand_server_calls_except(&request.messages, &kept, &mut drops).into_owned();
    first_message::prepare_for_anthropic(request).map_err(named)?;
    request.origin = Dialect::Messages;
    for (i, block) in request.system.iter().enumerate() {
        drops.rest(&SYSTEM.block(i, block), &block.rest);
    }
    for block in &mut request.system {
        block.rest.clear();
    }
    for (i, message) in request.messages.iter().enumerate() {
        drop_unsupported(message, i, &mut drops).map_err(named)?;
    }
    request.messages.iter_mut().for_each(strip);
    convert_tools(request, &mut drops);
    drops.rest(&JsonPath::Root, &request.rest);
    request.rest.clear();
    Ok(unfit.into_iter().chain(drops.into_vec()).collect())
}

fn check(request: &Request) -> Result<(), WireError> {
    let field = match (&request.tool_choice, &request.format) {
        (Some(ToolChoice::Other(_)), _) => "tool_choice",
        (_, Some(ResponseFormat::Other(_))) => "output_config.format",
        _ => return Ok(()),
    };
    let why = "Anthropic Messages, over which its skills run, has nothing like it: leave it out";
    Err(WireError::unsupported(Dialect::Messages, field, why))
}

fn convert_tools(request: &mut Request, drops: &mut Drops) {
    let is_server = |tool: &Tool| matches!(tool.kind, ToolKind::Server { .. });
    for (i, tool) in request.tools.iter().enumerate() {
        let path = &TOOLS.tool(i, tool);
        if is_server(tool) {
            drops.add(path, "a tool of another vendor's servers");
        } else {
            drops.rest(path, &tool.rest);
        }
    }
    request.tools.retain(|tool| !is_server(tool));
    for tool in &mut request.tools {
        tool.rest.clear();
    }
}

/// Names what is left out of a message.
fn drop_unsupported(message: &Message, at: usize, drops: &mut Drops) -> Result<(), WireError> {
    let path = MESSAGES.message(at, message);
    drops.rest(&path, &message.rest);
    let path = path.key("content");
    for (i, block) in message.content.iter().enumerate() {
        let path = path.block(i, block);
        match &block.content {
            Content::Other { kind } if kind == UPLOAD => continue,
            Content::Other { kind } => {
                return Err(WireError::unsupported_part(Dialect::Messages, &path, kind));
            }
            _ => drops.rest(&path, &block.rest),
        }
    }
    Ok(())
}

fn strip(message: &mut Message) {
    message.rest.clear();
    for block in &mut message.content {
        let upload = matches!(&block.content, Content::Other { kind } if kind == UPLOAD);
        if !upload {
            block.rest.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClientDialect, read_request, write_request};
    use serde_json::json;

    #[test]
    fn a_chat_request_is_written_as_ever_and_what_is_left_out_is_named() {
        let body = json!({
            "model": "m", "logit_bias": {"1": 2}, "max_tokens": 5,
            "messages": [{"role": "system", "content": "Be kind."},
                {"role": "user", "content": "Go.", "name": "ann"}],
            "tools": [{"type": "function", "function": {"name": "look", "parameters": {}}}],
        });
        let body = body.to_string();
        let mut request = read_request(ClientDialect::Chat, body.as_bytes()).unwrap();
        let options = Default::default();
        let before = write_request(Dialect::Messages, &request, &options).unwrap();
        let dropped = convert_to_anthropic(&mut request).unwrap();
        let after = write_request(Dialect::Messages, &request, &options).unwrap();
        assert_eq!(after.body, before.body);
        assert_eq!(dropped, before.dropped);
        assert_eq!(after.dropped, []);
    }

    #[test]
    fn a_conversation_without_a_users_word_begins_with_one() {
        for (messages, first) in [
            (json!([{"role": "system", "content": "Draw."}]), "Draw."),
            (
                json!([{"role": "assistant", "content": "Well?"}]),
                "(blank)",
            ),
        ] {
            let body = json!({"model": "m", "messages": messages}).to_string();
            let mut request = read_request(ClientDialect::Chat, body.as_bytes()).unwrap();
            convert_to_anthropic(&mut request).unwrap();
            assert_eq!(request.messages[0], Message::user(first));
        }
        let mut request =
            read_request(ClientDialect::Chat, br#"{"model":"m","messages":[]}"#).unwrap();
        assert_eq!(
            convert_to_anthropic(&mut request).unwrap_err().field(),
            Some("messages")
        );
    }

    #[test]
    fn calls_of_anthropics_servers_stay_and_others_become_ordinary() {
        let call =
            |id: &str| json!({"type": "shell_call", "call_id": id, "action": {"commands": ["ls"]}});
        let output = |id: &str| {
            json!({"type": "shell_call_output", "call_id": id, "output": [{"stdout": "a",
            "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]})
        };
        let body = json!({"model": "m", "input": [{"role": "user", "content": "Go."},
            call("srvtoolu_01"), output("srvtoolu_01"), call("call_1"), output("call_1")]});
        let body = body.to_string();
        let mut request = read_request(ClientDialect::Responses, body.as_bytes()).unwrap();
        convert_to_anthropic(&mut request).unwrap();
        let blocks = request.messages.iter().flat_map(|m| &m.content);
        let kinds: Vec<_> = blocks.map(|block| block.content.kind()).collect();
        assert_eq!(
            kinds,
            [
                "text",
                "server_tool_use",
                "bash_code_execution_tool_result",
                "tool_use",
                "tool_result"
            ]
        );
    }
}
