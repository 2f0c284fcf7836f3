//! Answers a call with a step of the script: complete, or as a stream.

use std::time::Duration;

use prowess_wire::Dialect;
use prowess_wire::neutral::{
    ApiError, Block, Content, ErrorKind, Request, Response, StopReason, TokenUsage,
};
use serde_json::Value;

use super::playback::{Playback, cut_error};
use super::request_view::{RequestView, bytes_to_tokens};
use super::script::{ModelScript, ScriptStep, ScriptedFailure};
use crate::call::{ModelOutput, new_message_id};
use crate::error::CallError;
use crate::events::EventStream;
use crate::target::Target;

impl Target {
    /// Responds as the script defines.
    pub(crate) async fn call_script(
        &self,
        script: &ModelScript,
        request: &Request,
    ) -> Result<ModelOutput, CallError> {
        let provider = self.provider();
        let view = RequestView::from_request(request, &self.model);
        let step = script
            .next_step(&view)
            .ok_or_else(|| no_step_error(provider, &view))?;
        let fails_at_once = |failure: &&ScriptedFailure| failure.after.is_none() || !request.stream;
        if let Some(failure) = step.error.as_ref().filter(fails_at_once) {
            return Err(failure.to_call_error(provider));
        }
        let response = build_response(step, request, &view);
        if request.stream {
            let playback = Playback::new(step, response, provider);
            return Ok(ModelOutput::Stream(EventStream::from_script(playback)));
        }
        if step.cut_after.is_some() {
            return Err(cut_error().to_call_error(provider));
        }
        tokio::time::sleep(Duration::from_millis(step.pace.delay_ms)).await;
        Ok(ModelOutput::Response(Box::new(response)))
    }
}

fn no_step_error(provider: &str, view: &RequestView<'_>) -> CallError {
    let start = |text: &str| text.chars().take(200).collect::<String>();
    let message = format!(
        "no step of the script matches turn {} with user text {:?} and tool result {:?}",
        view.turn,
        start(&view.user),
        start(&view.tool_result),
    );
    CallError::Upstream {
        provider: provider.to_owned(),
        error: Box::new(ApiError {
            code: Some("script-no-step".to_owned()),
            ..ApiError::new(ErrorKind::InvalidRequest, message)
        }),
        retry_after: None,
        should_retry: Some(false),
    }
}

impl ScriptedFailure {
    pub(super) fn to_call_error(&self, provider: &str) -> CallError {
        CallError::Upstream {
            provider: provider.to_owned(),
            error: Box::new(self.to_api_error()),
            retry_after: self.retry_after_ms.map(Duration::from_millis),
            should_retry: None,
        }
    }
}

fn build_response(step: &ScriptStep, request: &Request, view: &RequestView<'_>) -> Response {
    let mut response = Response::new(Dialect::Messages, new_message_id(), view.model);
    let content = &mut response.content;
    if let Some(thinking) = &step.thinking {
        content.push(Block::new(Content::Thinking {
            thinking: view.expand(thinking),
            signature: "scripted".to_owned(),
        }));
    }
    if let Some(text) = &step.text {
        content.push(Block::text(view.expand(text)));
    }
    for (i, call) in step.calls.iter().enumerate() {
        let id = format!("toolu_scripted_{}_{}", view.turn, i + 1);
        let input = expand_json(&Value::Object(call.input.clone()), view);
        content.push(Block::tool_use(id, &call.name, input));
    }
    response.stop_reason = Some(stop_reason(step));
    response.usage = scripted_usage(step, request, &response.content);
    response
}

fn expand_json(value: &Value, view: &RequestView<'_>) -> Value {
    match value {
        Value::String(text) => view.expand(text).into(),
        Value::Array(items) => items.iter().map(|item| expand_json(item, view)).collect(),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.clone(), expand_json(value, view)))
            .collect(),
        other => other.clone(),
    }
}

fn stop_reason(step: &ScriptStep) -> StopReason {
    match step.stop.as_deref() {
        Some("max_tokens") => StopReason::MaxTokens,
        Some("stop_sequence") => StopReason::StopSequence,
        Some("pause_turn") => StopReason::PauseTurn,
        Some("refusal") => StopReason::Refusal,
        Some("tool_use") => StopReason::ToolUse,
        Some("end_turn") => StopReason::EndTurn,
        Some(other) => StopReason::Other(other.to_owned()),
        None if step.calls.is_empty() => StopReason::EndTurn,
        None => StopReason::ToolUse,
    }
}

fn scripted_usage(step: &ScriptStep, request: &Request, content: &[Block]) -> TokenUsage {
    let (input_tokens, output_tokens) = match &step.usage {
        Some(tokens) => (tokens.input_tokens, tokens.output_tokens),
        None => {
            let bytes = content.iter().map(|block| match &block.content {
                Content::Text(text) => text.len(),
                Content::Thinking { thinking, .. } => thinking.len(),
                Content::ToolUse { name, input, .. } => name.len() + input.to_string().len(),
                _ => 0,
            });
            (
                RequestView::estimate_input_tokens(request),
                bytes_to_tokens(bytes.sum()),
            )
        }
    };
    TokenUsage {
        input_tokens,
        output_tokens,
        ..TokenUsage::default()
    }
}
