//! What became of a request.

use anyhow::Result;
use serde_json::Value;

use crate::gateway::request::BenchResponse;

/// The most of an unexpected answer that is kept for the report.
const MAX_EXCERPT_CHARS: usize = 300;

/// What became of a request.
#[derive(Debug, Clone)]
pub enum RequestOutcome {
    /// It was done; the answer's body.
    Done(String),
    /// It was refused with a status and an error that says why.
    Refused(u16, String),
    /// It was answered with a status, but neither done nor refused with a reason: for
    /// instance a run whose command failed.
    Other(u16, String),
    /// There was no answer, or not all of one.
    NoAnswer(String),
}

impl RequestOutcome {
    /// Judges an answer: it is done if its status is good and its body holds `wanted`.
    pub fn from_response(answer: Result<BenchResponse>, expected: &str) -> RequestOutcome {
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return RequestOutcome::NoAnswer(format!("{error:#}")),
        };
        let good = (200..300).contains(&answer.status);
        if good && answer.body.contains(expected) {
            return RequestOutcome::Done(answer.body);
        }
        let body = answer.json().unwrap_or_default();
        match (error_message(&body), tool_result(&body)) {
            (Some(message), _) if !good => {
                RequestOutcome::Refused(answer.status, excerpt(&message))
            }
            (_, Some(result)) => RequestOutcome::Other(answer.status, excerpt(&result)),
            _ => RequestOutcome::Other(answer.status, excerpt(&answer.body)),
        }
    }

    /// Whether it was done.
    pub fn is_done(&self) -> bool {
        matches!(self, RequestOutcome::Done(_))
    }

    /// A value of the answer's JSON, if it was done.
    pub fn text(&self, pointer: &str) -> Option<String> {
        let RequestOutcome::Done(body) = self else {
            return None;
        };
        let body: Value = serde_json::from_str(body).ok()?;
        Some(body.pointer(pointer)?.as_str()?.to_owned())
    }

    /// What it counts as in a report.
    pub fn class(&self) -> String {
        match self {
            RequestOutcome::Done(_) => "ok".to_owned(),
            RequestOutcome::Refused(status, _) => format!("refused {status}"),
            RequestOutcome::Other(status, _) => format!("{status} without a result"),
            RequestOutcome::NoAnswer(_) => "no answer".to_owned(),
        }
    }

    /// Why it was not done.
    pub fn reason(&self) -> &str {
        match self {
            RequestOutcome::Done(_) => "",
            RequestOutcome::Refused(_, why)
            | RequestOutcome::Other(_, why)
            | RequestOutcome::NoAnswer(why) => why,
        }
    }
}

/// The message of an error, where each dialect has it.
fn error_message(body: &Value) -> Option<String> {
    let message = body.pointer("/error/message")?.as_str()?;
    (!message.is_empty()).then(|| message.to_owned())
}

/// What the command of a run gave instead of what was wanted.
fn tool_result(body: &Value) -> Option<String> {
    let blocks = body.get("content")?.as_array()?;
    let is_result = |block: &&Value| {
        let kind = block.get("type").and_then(Value::as_str);
        kind.is_some_and(|kind| kind.ends_with("_tool_result"))
    };
    let result = blocks.iter().find(is_result)?;
    Some(result.get("content")?.to_string())
}

fn excerpt(text: &str) -> String {
    text.chars().take(MAX_EXCERPT_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome_class(status: u16, body: &str) -> String {
        let body = body.to_owned();
        RequestOutcome::from_response(Ok(BenchResponse { status, body }), "wanted").class()
    }

    #[test]
    fn an_answer_counts_by_its_status_its_content_and_its_error() {
        let error = r#"{"error":{"message":"the disk is full"}}"#;
        assert_eq!(outcome_class(200, "it is wanted"), "ok");
        assert_eq!(
            outcome_class(200, "the command failed"),
            "200 without a result"
        );
        assert_eq!(outcome_class(507, error), "refused 507");
        assert_eq!(outcome_class(500, "wanted"), "500 without a result");
        let closed = RequestOutcome::from_response(Err(anyhow::anyhow!("closed")), "wanted");
        assert_eq!(closed.class(), "no answer");
    }
}
