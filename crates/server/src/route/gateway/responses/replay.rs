//! Replays a stored response as the events of a stream.

use prowess_wire::sse::write_json;
use serde_json::{Map, Value, json};

/// The events of a response after `starting_after`, as bytes of a stream.
pub(in crate::route::gateway) fn replay_events(
    response: &Value,
    starting_after: Option<u64>,
) -> Vec<u8> {
    let mut replay = Replay {
        out: Vec::new(),
        next: 0,
        starting_after,
    };
    let mut in_progress = response.clone();
    if let Some(fields) = in_progress.as_object_mut() {
        fields.insert("status".to_owned(), "in_progress".into());
        fields.insert("output".to_owned(), json!([]));
        for key in ["usage", "incomplete_details", "completed_at"] {
            fields.entry(key).and_modify(|value| *value = Value::Null);
        }
    }
    replay.emit("response.created", json!({ "response": in_progress }));
    replay.emit("response.in_progress", json!({ "response": in_progress }));
    let output = response.get("output").and_then(Value::as_array);
    for (index, item) in output.into_iter().flatten().enumerate() {
        Item { index, item }.emit_events(&mut replay);
    }
    let last = match response.get("status").and_then(Value::as_str) {
        Some("incomplete") => "response.incomplete",
        Some("failed") => "response.failed",
        _ => "response.completed",
    };
    replay.emit(last, json!({ "response": response }));
    replay.out
}

struct Replay {
    out: Vec<u8>,
    next: u64,
    starting_after: Option<u64>,
}

impl Replay {
    fn emit(&mut self, name: &str, fields: Value) {
        let number = self.next;
        self.next += 1;
        if self.starting_after.is_some_and(|after| number <= after) {
            return;
        }
        let mut event = Map::new();
        event.insert("type".to_owned(), name.into());
        event.insert("sequence_number".to_owned(), number.into());
        if let Value::Object(fields) = fields {
            event.extend(fields);
        }
        write_json(&mut self.out, name, &event);
    }
}

/// One item of a response.
struct Item<'a> {
    index: usize,
    item: &'a Value,
}

impl Item<'_> {
    fn text(&self, key: &str) -> &str {
        self.item.get(key).and_then(Value::as_str).unwrap_or("")
    }

    fn parts(&self, key: &str) -> &[Value] {
        let parts = self.item.get(key).and_then(Value::as_array);
        parts.map(Vec::as_slice).unwrap_or_default()
    }

    fn emit_events(&self, replay: &mut Replay) {
        let index = self.index;
        let in_progress = self.in_progress();
        let added = json!({ "output_index": index, "item": in_progress });
        replay.emit("response.output_item.added", added);
        match self.text("type") {
            "message" => self.emit_message(replay),
            "reasoning" => self.emit_reasoning(replay),
            "function_call" => {
                let name = "response.function_call_arguments";
                self.emit_input(replay, name, "arguments");
            }
            "custom_tool_call" => {
                self.emit_input(replay, "response.custom_tool_call_input", "input");
            }
            _ => {}
        }
        let done = json!({ "output_index": index, "item": self.item });
        replay.emit("response.output_item.done", done);
    }

    /// The item before any of its content.
    fn in_progress(&self) -> Value {
        let mut in_progress = self.item.clone();
        let empty: &[(&str, Value)] = match self.text("type") {
            "message" => &[("content", json!([]))],
            "reasoning" => &[("summary", json!([])), ("content", json!([]))],
            "function_call" => &[("arguments", "".into())],
            "custom_tool_call" => &[("input", "".into())],
            _ => return in_progress,
        };
        if let Some(fields) = in_progress.as_object_mut() {
            for (key, value) in empty {
                fields.entry(*key).and_modify(|old| *old = value.clone());
            }
            fields
                .entry("status")
                .and_modify(|status| *status = "in_progress".into());
        }
        in_progress
    }

    /// An event about the item; `fields` are those of the event alone.
    fn emit_item_event(&self, replay: &mut Replay, name: &str, fields: Value) {
        let mut event = Map::new();
        event.insert("item_id".to_owned(), self.text("id").into());
        event.insert("output_index".to_owned(), self.index.into());
        if let Value::Object(fields) = fields {
            event.extend(fields);
        }
        replay.emit(name, Value::Object(event));
    }

    fn emit_message(&self, replay: &mut Replay) {
        for (at, part) in self.parts("content").iter().enumerate() {
            let kind = part.get("type").and_then(Value::as_str).unwrap_or("");
            let (field, name) = match kind {
                "output_text" => ("text", "response.output_text"),
                "refusal" => ("refusal", "response.refusal"),
                _ => continue,
            };
            let text = part.get(field).and_then(Value::as_str).unwrap_or("");
            let mut empty_part = part.clone();
            if let Some(fields) = empty_part.as_object_mut() {
                fields.insert(field.to_owned(), "".into());
                fields
                    .entry("annotations")
                    .and_modify(|annotations| *annotations = json!([]));
            }
            let fields = json!({ "content_index": at, "part": empty_part });
            self.emit_item_event(replay, "response.content_part.added", fields);
            let fields = json!({ "content_index": at, "delta": text, "logprobs": [] });
            self.emit_item_event(replay, &format!("{name}.delta"), fields);
            self.emit_annotations(replay, at, part);
            let mut fields = json!({ "content_index": at, "logprobs": [] });
            if let Some(fields) = fields.as_object_mut() {
                fields.insert(field.to_owned(), text.into());
            }
            self.emit_item_event(replay, &format!("{name}.done"), fields);
            let fields = json!({ "content_index": at, "part": part });
            self.emit_item_event(replay, "response.content_part.done", fields);
        }
    }

    fn emit_annotations(&self, replay: &mut Replay, at: usize, part: &Value) {
        let annotations = part.get("annotations").and_then(Value::as_array);
        for (n, annotation) in annotations.into_iter().flatten().enumerate() {
            let fields = json!({
                "content_index": at,
                "annotation_index": n,
                "annotation": annotation,
            });
            self.emit_item_event(replay, "response.output_text.annotation.added", fields);
        }
    }

    fn emit_reasoning(&self, replay: &mut Replay) {
        for (at, part) in self.parts("summary").iter().enumerate() {
            let text = part.get("text").and_then(Value::as_str).unwrap_or("");
            let empty_part = json!({ "type": "summary_text", "text": "" });
            for (name, key, value) in [
                ("part.added", "part", empty_part),
                ("text.delta", "delta", text.into()),
                ("text.done", "text", text.into()),
                ("part.done", "part", part.clone()),
            ] {
                let fields = json!({ "summary_index": at, key: value });
                self.emit_item_event(
                    replay,
                    &format!("response.reasoning_summary_{name}"),
                    fields,
                );
            }
        }
        for (at, part) in self.parts("content").iter().enumerate() {
            let text = part.get("text").and_then(Value::as_str).unwrap_or("");
            for (name, key) in [("delta", "delta"), ("done", "text")] {
                let fields = json!({ "content_index": at, key: text });
                self.emit_item_event(replay, &format!("response.reasoning_text.{name}"), fields);
            }
        }
    }

    fn emit_input(&self, replay: &mut Replay, name: &str, key: &str) {
        let text = self.text(key);
        self.emit_item_event(replay, &format!("{name}.delta"), json!({ "delta": text }));
        self.emit_item_event(replay, &format!("{name}.done"), json!({ key: text }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replayed(response: &Value, after: Option<u64>) -> Vec<(String, Value)> {
        let text = String::from_utf8(replay_events(response, after)).unwrap();
        let events = text.split("\n\n").filter(|event| !event.is_empty());
        let read = |event: &str| {
            let (name, data) = event.split_once('\n').unwrap();
            let data = data.strip_prefix("data: ").unwrap();
            let name = name.strip_prefix("event: ").unwrap();
            (name.to_owned(), serde_json::from_str(data).unwrap())
        };
        events.map(read).collect()
    }

    fn answer() -> Value {
        json!({
            "id": "resp_1", "status": "completed", "usage": {"input_tokens": 1},
            "output": [
                {"type": "reasoning", "id": "rs_1", "summary": [
                    {"type": "summary_text", "text": "hm"},
                ]},
                {"type": "message", "id": "msg_1", "status": "completed", "content": [
                    {"type": "output_text", "text": "Hi", "annotations": [{"type": "url_citation"}]},
                    {"type": "refusal", "refusal": "No"},
                ]},
                {"type": "function_call", "id": "fc_1", "arguments": "{}", "name": "f"},
                {"type": "web_search_call", "id": "ws_1", "status": "completed"},
            ],
        })
    }

    #[test]
    fn an_answer_is_replayed_as_the_events_of_a_stream() {
        let events = replayed(&answer(), None);
        let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
        insta::assert_snapshot!(names.join("\n"));
        for (at, (name, event)) in events.iter().enumerate() {
            assert_eq!(event["sequence_number"], at);
            assert_eq!(event["type"], name.as_str());
        }
        let first = &events[0].1["response"];
        assert_eq!(first["status"], "in_progress");
        assert_eq!(first["usage"], Value::Null);
        assert_eq!(events.last().unwrap().1["response"], answer());
    }

    #[test]
    fn it_goes_on_after_an_event() {
        let all = replayed(&answer(), None);
        assert_eq!(replayed(&answer(), Some(3)), all[4..]);
        assert!(replayed(&answer(), Some(99)).is_empty());
    }
}
