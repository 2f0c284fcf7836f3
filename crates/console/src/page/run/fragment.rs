//! One event of a run as HTML, for a page that follows the run. Events are only added to the
//! page, so each is rendered once.

use askama::Template;

use super::step::WatchedStep;
use crate::format;
use crate::preview::terminal_html;

/// An event that is added to the page.
#[derive(Template)]
#[template(path = "run_event.html")]
pub(crate) struct EventFragment<'a> {
    step: &'a WatchedStep,
}

impl<'a> EventFragment<'a> {
    pub(crate) fn new(step: &'a WatchedStep) -> Self {
        EventFragment { step }
    }

    fn kind(&self) -> &str {
        &self.step.kind
    }

    /// The result of a call, with its colours.
    fn output(&self) -> String {
        terminal_html(self.step.shown.as_deref().unwrap_or_default())
    }

    fn command(&self) -> String {
        self.step.command().unwrap_or_default()
    }

    fn text(&self) -> &str {
        self.step.text.as_deref().unwrap_or_default()
    }

    /// What a call or a wait took, if that is known.
    fn took(&self) -> String {
        let millis = self.step.millis.or(self.step.wait_ms);
        let millis = millis.and_then(|millis| u64::try_from(millis).ok());
        millis.map(format::duration).unwrap_or_default()
    }

    fn skill_names(&self) -> String {
        let names = self.step.skills.iter().map(|skill| skill.name.as_str());
        names.collect::<Vec<_>>().join(", ")
    }

    fn tokens(&self) -> String {
        let count = |number: Option<u64>| format::count(number.unwrap_or_default());
        let (input, output) = (self.step.input_tokens, self.step.output_tokens);
        format!("{} tokens in, {} out", count(input), count(output))
    }
}

/// An event of the stream to the browser. Its data is HTML, one line at a time.
pub(crate) fn stream_event(number: u64, html: &str) -> String {
    let mut event = format!("id: {number}\n");
    for line in html.split(['\n', '\r']) {
        event.push_str("data: ");
        event.push_str(line);
        event.push('\n');
    }
    event.push('\n');
    event
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn rendered(step: Value) -> String {
        let step: WatchedStep = serde_json::from_value(step).unwrap();
        EventFragment::new(&step).render().unwrap()
    }

    #[test]
    fn every_kind_of_event_is_shown() {
        let shown = [
            json!({"kind": "request", "input": "Make a card", "skills": [{"name": "pdf"}]}),
            json!({"kind": "skills_offered", "count": 12}),
            json!({"kind": "turn", "number": 1, "provider": "p", "model": "m", "wait_ms": 80,
                "dropped": ["top_k"],
                "failures": [{"provider": "q", "model": "n", "error": "busy"}]}),
            json!({"kind": "text", "text": "Let me see.\nSo"}),
            json!({"kind": "thinking", "text": "Hm"}),
            json!({"kind": "turn_ended", "number": 1, "input_tokens": 1200, "output_tokens": 9}),
            json!({"kind": "tool_started", "id": "a", "name": "bash_code_execution",
                "input": "{\"command\":\"ls <b>\"}"}),
            json!({"kind": "tool_ended", "id": "a", "name": "bash_code_execution", "millis": 12,
                "shown": "\u{1b}[32mok\u{1b}[0m <b>"}),
            json!({"kind": "tool_ended", "id": "a", "name": "bash_code_execution",
                "is_error": true, "shown": "no"}),
            json!({"kind": "skill_loaded", "name": "pdf"}),
            json!({"kind": "file_made", "file": {"file_id": "file_1", "filename": "card.png",
                "mime_type": "image/png", "size_bytes": 2048}}),
            json!({"kind": "limit_met", "limit": "turns"}),
            json!({"kind": "client_call", "name": "weather"}),
            json!({"kind": "abandoned"}),
            json!({"kind": "error", "message": "the model is <gone>"}),
            json!({"kind": "ended", "status": "completed", "at_ms": 1200}),
            json!({"kind": "of a later version"}),
        ];
        let shown: Vec<String> = shown.into_iter().map(rendered).collect();
        insta::assert_snapshot!(shown.join("\n----\n"));
    }

    #[test]
    fn lines_of_an_event_stay_in_it() {
        let event = stream_event(7, "<p>a\r\n\nid: 9\rdata</p>");
        let lines: Vec<&str> = event.trim_end().lines().collect();
        assert_eq!(lines.first(), Some(&"id: 7"));
        assert!(lines.iter().skip(1).all(|line| line.starts_with("data: ")));
        assert!(event.ends_with("\n\n"));
    }
}
