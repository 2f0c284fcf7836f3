//! What became of a request.

use anyhow::Result;
use serde_json::Value;

use crate::gateway::request::Answer;

/// The most of an unexpected answer that is kept for the report.
const MAX_EXCERPT_CHARS: usize = 300;

/// What became of a request.
#[derive(Debug, Clone)]
pub enum Outcome {
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

impl Outcome {
    /// Judges an answer: it is done if its status is good and its body holds `wanted`.
    pub fn judge(answer: Result<Answer>, wanted: &str) -> Outcome {
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return Outcome::NoAnswer(format!("{error:#}")),
        };
        let good = (200..300).contains(&answer.status);
        if good && answer.body.contains(wanted) {
            return Outcome::Done(answer.body);
        }
        let body = answer.json().unwrap_or_default();
        match (error_message(&body), tool_result(&body)) {
            (Some(message), _) if !good => Outcome::Refused(answer.status, excerpt(&message)),
            (_, Some(result)) => Outcome::Other(answer.status, excerpt(&result)),
            _ => Outcome::Other(answer.status, excerpt(&answer.body)),
        }
    }

    /// Whether it was done.
    pub fn is_done(&self) -> bool {
        matches!(self, Outcome::Done(_))
    }

    /// A value of the answer's JSON, if it was done.
    pub fn text(&self, pointer: &str) -> Option<String> {
        let Outcome::Done(body) = self else {
            return None;
        };
        let body: Value = serde_json::from_str(body).ok()?;
        Some(body.pointer(pointer)?.as_str()?.to_owned())
    }

    /// What it counts as in a report.
    pub fn class(&self) -> String {
        match self {
            Outcome::Done(_) => "ok".to_owned(),
            Outcome::Refused(status, _) => format!("refused {status}"),
            Outcome::Other(status, _) => format!("{status} without a result"),
            Outcome::NoAnswer(_) => "no answer".to_owned(),
        }
    }

    /// Why it was not done.
    pub fn reason(&self) -> &str {
        match self {
            Outcome::Done(_) => "",
            Outcome::Refused(_, why) | Outcome::Other(_, why) | Outcome::NoAnswer(why) => why,
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

    fn judged(status: u16, body: &str) -> String {
        let body = body.to_owned();
        Outcome::judge(Ok(Answer { status, body }), "wanted").class()
    }

    #[test]
    fn an_answer_counts_by_its_status_its_content_and_its_error() {
        let error = r#"{"error":{"message":"the disk is full"}}"#;
        assert_eq!(judged(200, "it is wanted"), "ok");
        assert_eq!(judged(200, "the command failed"), "200 without a result");
        assert_eq!(judged(507, error), "refused 507");
        assert_eq!(judged(500, "wanted"), "500 without a result");
        let closed = Outcome::judge(Err(anyhow::anyhow!("closed")), "wanted");
        assert_eq!(closed.class(), "no answer");
    }
}
