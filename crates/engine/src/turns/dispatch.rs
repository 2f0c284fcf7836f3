//! Calls Prowess's tools: all calls of one turn at once, with pings for the client meanwhile.

use std::time::{Duration, Instant, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::join_all;
use prowess_sandbox::RunOwnership;
use prowess_toolbox::{
    BashResult, CallIdentity, ContainerAnnouncer, ContentPart, ErrorCode, NativeCall, ToolOutcome,
    Toolbox, identify_commands, observe_commands,
};
use prowess_wire::neutral::{Block, Content, MediaSource, StreamEvent};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::events::{ObservedCall, OutputFile};
use crate::model_text;
use crate::tool_call::ToolCall;
use crate::turns::answer_writer::AnswerWriter;
use crate::turns::collect::CollectedOutputs;

/// A call that has ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct FinishedCall {
    pub(crate) call: ToolCall,
    pub(crate) outcome: ToolOutcome,
    pub(crate) duration: Duration,
    /// Its files, once they are stored.
    pub(crate) collected: CollectedOutputs,
    /// When it was made, and what it ran; not of a call that was made by another server.
    #[serde(skip)]
    pub(crate) observed: Option<ObservedCall>,
}

impl FinishedCall {
    /// A call that was not run.
    pub(crate) fn not_run(call: ToolCall, text: &str, error_code: ErrorCode) -> Self {
        FinishedCall {
            outcome: not_run(&call, text, error_code),
            duration: Duration::ZERO,
            collected: CollectedOutputs::default(),
            observed: None,
            call,
        }
    }
}

/// What calls belong to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallOrigin<'a> {
    /// The id of the run.
    pub(crate) run: &'a str,
    /// The step that the ids of a kept run's commands have.
    pub(crate) step: Option<i64>,
    /// The epoch of the lease of a kept run; 0 of others.
    pub(crate) epoch: i64,
    /// Whether this server still has the run.
    pub(crate) ownership: &'a RunOwnership,
    /// Ids of calls whose commands are attached to, and not begun.
    pub(crate) attached: &'a [String],
    /// Set if other containers than the known one are announced.
    pub(crate) announcer: Option<&'a ContainerAnnouncer>,
    /// A span of the run, if its steps become spans.
    pub(crate) traceparent: Option<&'a str>,
}

/// Calls tools of a run, all at once, and waits for all of them. None runs longer than
/// `time_left`.
pub(crate) async fn call_all(
    toolbox: &Toolbox,
    calls: Vec<ToolCall>,
    origin: CallOrigin<'_>,
    time_left: Duration,
    writer: &AnswerWriter,
    ping_interval: Duration,
) -> Vec<FinishedCall> {
    let running = calls.into_iter().map(|call| async move {
        let (began, started_at) = (Instant::now(), SystemTime::now());
        let call_future = toolbox.call(&call.name, &call.input, None);
        let call_future = tokio::time::timeout(time_left, call_future);
        let identity = CallIdentity {
            run: origin.run.to_owned(),
            step: origin.step,
            epoch: origin.epoch,
            ownership: origin.ownership.clone(),
            call: call.id.clone(),
            attach_only: origin.attached.contains(&call.id),
        };
        let announcer = origin.announcer.cloned();
        let call_future = identify_commands(identity, announcer, call_future);
        let (outcome, commands) = observe_commands(origin.traceparent, call_future).await;
        let outcome = match outcome {
            Some(Ok(outcome)) => outcome,
            Some(Err(_)) => timed_out(&call),
            None => interrupted(&call),
        };
        let duration = began.elapsed();
        FinishedCall {
            call,
            outcome,
            duration,
            collected: CollectedOutputs::default(),
            observed: Some(ObservedCall {
                started_at,
                commands: commands.runs,
                missing_worker: commands.missing_worker,
            }),
        }
    });
    let all = join_all(running);
    tokio::pin!(all);
    let mut pings =
        tokio::time::interval_at(tokio::time::Instant::now() + ping_interval, ping_interval);
    loop {
        tokio::select! {
            done = &mut all => return done,
            _ = pings.tick() => writer.write(StreamEvent::Ping).await,
        }
    }
}

fn timed_out(call: &ToolCall) -> ToolOutcome {
    not_run(
        call,
        model_text::TIME_OVER,
        ErrorCode::ExecutionTimeExceeded,
    )
}

/// The outcome of a call that a server which died may have made, and that is not repeated.
fn interrupted(call: &ToolCall) -> ToolOutcome {
    not_run(call, model_text::INTERRUPTED, ErrorCode::Unavailable)
}

/// The outcome of a call that was not run to its end.
fn not_run(call: &ToolCall, text: &str, error_code: ErrorCode) -> ToolOutcome {
    let command = call.input.get("command").and_then(Value::as_str);
    ToolOutcome {
        content: vec![ContentPart::Text(text.to_owned())],
        is_error: true,
        native: NativeCall::Bash {
            command: command.unwrap_or(&call.name).to_owned(),
            result: BashResult::Failed { error_code },
        },
        outputs: Vec::new(),
        skipped: Vec::new(),
        skill: None,
        loaded_skills: Vec::new(),
    }
}

/// The result as the model reads it, followed by `notes`.
pub(crate) fn result_block(id: &str, outcome: &ToolOutcome, notes: &[String]) -> Block {
    let mut content: Vec<Block> = outcome.content.iter().map(to_block).collect();
    content.extend(notes.iter().map(Block::text));
    Block::new(Content::ToolResult {
        tool_use_id: id.to_owned(),
        content,
        is_error: outcome.is_error,
    })
}

fn to_block(part: &ContentPart) -> Block {
    let (mime, data) = match part {
        ContentPart::Text(text) => return Block::text(text),
        ContentPart::Binary { mime, data } => (mime.as_str(), data),
    };
    let source = || MediaSource::Base64 {
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
        _ => Block::text(model_text::binary_content(mime, data.len())),
    }
}

/// The content of the result as native code execution, which clients receive.
pub(crate) fn native_content(native: &NativeCall, file_ids: &[String]) -> Value {
    match native {
        NativeCall::Bash { result, .. } => result.content(file_ids),
        NativeCall::Editor { result, .. } => result.clone(),
    }
}

/// Adds name, type and container to a file that a result lists by id.
pub(crate) fn describe_file(content: &mut Value, container_id: &str, output: &OutputFile) {
    let files = content.get_mut("content").and_then(Value::as_array_mut);
    for file in files.into_iter().flatten().filter_map(Value::as_object_mut) {
        if file.get("file_id").and_then(Value::as_str) == Some(&output.file_id) {
            file.insert("filename".to_owned(), output.filename.clone().into());
            file.insert("mime_type".to_owned(), output.mime_type.clone().into());
            file.insert("container".to_owned(), container_id.into());
        }
    }
}
