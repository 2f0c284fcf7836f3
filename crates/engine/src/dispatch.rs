//! Calls of our tools: all of one turn at once, the client kept awake meanwhile.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::join_all;
use prowess_toolbox::{BashResult, ErrorCode, Native, Outcome, Part, Toolbox};
use prowess_wire::neutral::{Block, Content, Source, StreamEvent};
use serde_json::Value;

use crate::restore::Call;
use crate::tell::Teller;

/// A call that has ended.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) call: Call,
    pub(crate) outcome: Outcome,
    pub(crate) took: Duration,
}

/// Calls tools, all at once, and waits for all of them. None runs longer than `left`.
pub(crate) async fn call_all(
    toolbox: &Toolbox,
    calls: Vec<Call>,
    left: Duration,
    teller: &Teller,
    ping: Duration,
) -> Vec<Done> {
    let running = calls.into_iter().map(|call| async move {
        let began = Instant::now();
        let called = toolbox.call(&call.name, &call.input, None);
        let outcome = match tokio::time::timeout(left, called).await {
            Ok(outcome) => outcome,
            Err(_) => out_of_time(&call),
        };
        let took = began.elapsed();
        Done {
            call,
            outcome,
            took,
        }
    });
    let all = join_all(running);
    tokio::pin!(all);
    let mut awake = tokio::time::interval_at(tokio::time::Instant::now() + ping, ping);
    loop {
        tokio::select! {
            done = &mut all => return done,
            _ = awake.tick() => teller.tell(StreamEvent::Ping).await,
        }
    }
}

fn out_of_time(call: &Call) -> Outcome {
    let text = "Error: the time of this run is over; the call was ended";
    not_run(call, text, ErrorCode::ExecutionTimeExceeded)
}

/// The outcome of a call that was not made.
pub(crate) fn not_run(call: &Call, text: &str, error_code: ErrorCode) -> Outcome {
    let command = call.input.get("command").and_then(Value::as_str);
    Outcome {
        shown: vec![Part::Text(text.to_owned())],
        is_error: true,
        native: Native::Bash {
            command: command.unwrap_or(&call.name).to_owned(),
            result: BashResult::Failed { error_code },
        },
        outputs: Vec::new(),
        skipped: Vec::new(),
        skill: None,
        loaded: Vec::new(),
    }
}

/// The result as the model reads it; `notes` are what it should know beside it.
pub(crate) fn result_block(id: &str, outcome: &Outcome, notes: &[String]) -> Block {
    let mut content: Vec<Block> = outcome.shown.iter().map(shown).collect();
    content.extend(notes.iter().map(Block::text));
    Block::new(Content::ToolResult {
        tool_use_id: id.to_owned(),
        content,
        is_error: outcome.is_error,
    })
}

fn shown(part: &Part) -> Block {
    let (mime, data) = match part {
        Part::Text(text) => return Block::text(text),
        Part::Binary { mime, data } => (mime.as_str(), data),
    };
    let source = || Source::Base64 {
        media_type: mime.to_owned(),
        data: STANDARD.encode(data),
    };
    match mime {
        "image/png" | "image/jpeg" | "image/gif" | "image/webp" => {
            Block::new(Content::Image(source()))
        }
        "application/pdf" => Block::new(Content::Document {
            source: source(),
            title: None,
        }),
        _ => Block::text(format!("[{mime}, {} bytes: not shown]", data.len())),
    }
}

/// The content of the result block that a native client sees.
pub(crate) fn native_content(native: &Native, file_ids: &[String]) -> Value {
    match native {
        Native::Bash { result, .. } => result.content(file_ids),
        Native::Editor { result, .. } => result.clone(),
    }
}
