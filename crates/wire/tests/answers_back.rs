//! A response written in a client's dialect and read again from it is the same response.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod support;

use prowess_wire::neutral::{Block, Content, Response, ResponseCollector, StreamEvent};
use prowess_wire::{
    ClientDialect, Dialect, ReplyContext, StreamReader, StreamWriter, read_response, write_response,
};
use support::{CLIENTS, UPSTREAMS, context, events, folder, wire_bytes};

/// The content that a client's dialect supports, without fields for its own server.
fn supported_blocks(client: ClientDialect, response: Response) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for mut block in response.content {
        // Fields of a Responses item besides its content reach only Responses clients.
        if block.rest.shift_remove("prowess_own").is_some() {
            block.rest.shift_remove("id");
            block.rest.shift_remove("status");
        }
        if client == ClientDialect::Messages {
            // Code that Google ran is a call of Anthropic's tool: vendors/answered_calls.rs.
            if is_googles_code(&block.content) {
                continue;
            }
            // Anthropic has no annotations of texts.
            block.rest.shift_remove("annotations");
            // Parts of other vendors' are named by a text that carries them.
            if let Content::Other { kind } = &block.content
                && kind.contains(char::is_uppercase)
            {
                block.content = Content::Text(format!("[{kind}]"));
            }
            blocks.push(block);
            continue;
        }
        block.rest.clear();
        // A reader of Chat records the server of a thought, also where it is this one.
        if let (ClientDialect::Chat, Content::Thinking { signature, .. }) =
            (client, &mut block.content)
            && signature.starts_with("v1.chat.")
        {
            signature.clear();
        }
        let is_supported = match &block.content {
            Content::Image(_) | Content::Document { .. } | Content::Other { .. } => false,
            Content::ServerToolUse { .. } | Content::ServerToolResult { .. } => {
                client == ClientDialect::Responses
            }
            _ => true,
        };
        if is_supported {
            blocks.push(block);
        }
    }
    blocks
}

fn is_googles_code(content: &Content) -> bool {
    match content {
        Content::Other { kind } => kind == "executableCode" || kind == "codeExecutionResult",
        Content::ServerToolUse { id, .. } => id.starts_with("srvtoolu_gemini_"),
        Content::ServerToolResult { tool_use_id, .. } => {
            tool_use_id.starts_with("srvtoolu_gemini_")
        }
        _ => false,
    }
}

/// The response without the refusal text, which becomes content where there is no other
/// field for it.
fn without_refusal(mut blocks: Vec<Block>, answer: &Response) -> Vec<Block> {
    let details = answer.stop_details.as_ref();
    if let Some(why) = details.and_then(|details| details["explanation"].as_str()) {
        blocks.retain(|block| block.as_text() != Some(why));
    }
    blocks
}

fn collect(dialect: Dialect, events: Vec<StreamEvent>) -> Option<Response> {
    let mut collector = ResponseCollector::new(dialect);
    for event in events {
        collector.push(event).ok()?;
    }
    Some(collector.finish().unwrap())
}

#[test]
fn a_streamed_answer_reads_back_as_the_same_answer() {
    let mut compared = 0;
    for (upstream, from) in UPSTREAMS {
        for (name, fixture) in folder(&format!("streams/{from}")) {
            let stream = events(upstream, &wire_bytes(upstream, &fixture), &[]);
            let Some(answer) = collect(upstream, stream.clone()) else {
                continue;
            };
            for (client, to) in CLIENTS {
                let mut reply = ReplyContext::default();
                reply.include_usage = true;
                let mut writer = StreamWriter::new(client, reply);
                let mut bytes = Vec::new();
                for event in &stream {
                    writer.write(event, &mut bytes);
                }
                let mut reader = StreamReader::new(client.into(), context());
                let mut again = reader.push(&bytes);
                again.extend(reader.finish());
                let back = collect(client.into(), again).unwrap();
                let route = format!("{from}/{name} to {to}");
                assert_eq!(
                    back.usage.output_tokens, answer.usage.output_tokens,
                    "{route}"
                );
                assert_eq!(
                    back.usage.total_input(),
                    answer.usage.total_input(),
                    "{route}"
                );
                let expected = supported_blocks(client, answer.clone());
                assert_eq!(
                    without_refusal(supported_blocks(client, back), &answer),
                    without_refusal(expected, &answer),
                    "{route}"
                );
                compared += 1;
            }
        }
    }
    assert!(compared >= 40, "{compared}");
}

#[test]
fn a_whole_answer_reads_back_as_the_same_answer() {
    let mut compared = 0;
    for (upstream, from) in UPSTREAMS {
        for (name, body) in folder(&format!("answers/{from}")) {
            let Ok(answer) = read_response(upstream, &body, &context()) else {
                continue;
            };
            for (client, to) in CLIENTS {
                let (body, _) = write_response(client, &answer, &ReplyContext::default());
                let body = body.to_string();
                let back = read_response(client.into(), body.as_bytes(), &context()).unwrap();
                let route = format!("{from}/{name} to {to}");
                assert_eq!(
                    back.usage.total_input(),
                    answer.usage.total_input(),
                    "{route}"
                );
                let fitted = |response: Response| {
                    let blocks = supported_blocks(client, response);
                    in_order(client, without_refusal(blocks, &answer))
                };
                assert_eq!(fitted(back), fitted(answer.clone()), "{route}");
                compared += 1;
            }
        }
    }
    assert!(compared >= 40, "{compared}");
}

/// A whole chat message has one place for thoughts, one for text and one for calls.
fn in_order(client: ClientDialect, mut blocks: Vec<Block>) -> Vec<Block> {
    if client != ClientDialect::Chat {
        return blocks;
    }
    blocks.sort_by_key(|block| match block.content {
        Content::Thinking { .. } | Content::RedactedThinking { .. } => 0,
        Content::Text(_) => 1,
        _ => 2,
    });
    let mut joined: Vec<Block> = Vec::new();
    for block in blocks {
        match (
            joined.last_mut().map(|last| &mut last.content),
            &block.content,
        ) {
            (Some(Content::Text(text)), Content::Text(more)) => text.push_str(more),
            _ => joined.push(block),
        }
    }
    joined
}
