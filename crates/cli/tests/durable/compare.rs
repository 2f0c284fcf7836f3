//! Compares what two runs gave their clients, apart from ids and times.

use std::collections::BTreeMap;

use serde_json::Value;

use super::events::NumberedEvent;

/// Fields that differ between two equal runs.
const TIMES: [&str; 6] = [
    "created",
    "created_at",
    "completed_at",
    "expires_at",
    "average_ms",
    "sandbox_ms",
];
/// Places of events and items, which an abandoned item moves.
const PLACES: [&str; 3] = ["sequence_number", "output_index", "index"];

/// The same value, with ids numbered in the order in which they appear, and without times.
pub(crate) fn normalised(value: &Value) -> Value {
    Normaliser::default().value(value)
}

/// The events of a stream for comparison.
fn normalised_events<'a>(events: impl IntoIterator<Item = &'a Value>) -> Vec<Value> {
    let mut normaliser = Normaliser {
        removes_places: true,
        ..Normaliser::default()
    };
    let events = events.into_iter();
    events.map(|event| normaliser.value(event)).collect()
}

#[derive(Default)]
struct Normaliser {
    ids: BTreeMap<String, usize>,
    removes_places: bool,
    /// Whether all ids with the same prefix are equal.
    merges_ids: bool,
}

impl Normaliser {
    fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(values) => values.iter().map(|value| self.value(value)).collect(),
            Value::Object(fields) => {
                let fields = fields.iter().filter(|(name, _)| {
                    let name = name.as_str();
                    let is_place = self.removes_places && PLACES.contains(&name);
                    !is_place && !TIMES.contains(&name)
                });
                let fields: Vec<_> = fields.collect();
                let fields = fields.into_iter();
                fields
                    .map(|(name, value)| (name.clone(), self.value(value)))
                    .collect()
            }
            other => other.clone(),
        }
    }

    fn text(&mut self, text: &str) -> String {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let mut out = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let (word, tail) = rest.split_at(end);
            out += &self.word(word);
            let skip = tail.find(is_word).unwrap_or(tail.len());
            let (between, tail) = tail.split_at(skip);
            out += between;
            rest = tail;
        }
        out
    }

    /// An id is a prefix, a random part, and perhaps the place of an item.
    fn word(&mut self, word: &str) -> String {
        let mut prefix = String::new();
        for part in word.split_inclusive(['_', '-']) {
            let name = part.trim_end_matches(['_', '-']);
            let has_digit = name.contains(|c: char| c.is_ascii_digit());
            if name.len() >= 20 || name.len() >= 16 && has_digit {
                let next = self.ids.len();
                let number = match self.merges_ids {
                    true => 0,
                    false => *self.ids.entry(word.to_owned()).or_insert(next),
                };
                return format!("{prefix}{number}");
            }
            prefix += part;
        }
        prefix
    }
}

/// Stops the test unless two streams are equal, except for one abandoned item in the second.
/// Returns the events of that item.
pub(crate) fn assert_same_events(
    case: &str,
    undisturbed: &[NumberedEvent],
    events: &[NumberedEvent],
) -> Vec<Value> {
    let merged = |events: &[NumberedEvent]| -> Vec<Value> {
        let mut normaliser = Normaliser {
            removes_places: true,
            merges_ids: true,
            ..Normaliser::default()
        };
        let events = events.iter().map(|event| without_incomplete(&event.data));
        events.map(|event| normaliser.value(&event)).collect()
    };
    let (expected, found) = (merged(undisturbed), merged(events));
    // From the end: a repeated item begins as the abandoned one does.
    let pairs = expected.iter().rev().zip(found.iter().rev());
    let suffix = pairs.take_while(|(a, b)| a == b).count();
    let prefix = expected.len() - suffix;
    assert!(
        found.len() >= expected.len() && found.starts_with(expected.get(..prefix).unwrap()),
        "{case}: the streams differ in more than one item before event {prefix}:\n{}\n\
         expected\n{}",
        show(&found),
        show(&expected),
    );
    let abandoned = prefix..found.len() - suffix;
    let places = events.iter().enumerate();
    let remaining = places.filter(|(place, _)| !abandoned.contains(place));
    let remaining: Vec<Value> = remaining
        .map(|(_, event)| without_incomplete(&event.data))
        .collect();
    let expected: Vec<Value> = undisturbed.iter().map(|event| event.data.clone()).collect();
    let (expected, found) = (normalised_events(&expected), normalised_events(&remaining));
    assert!(
        expected == found,
        "{case}: ids differ:\n{}\nexpected\n{}",
        show(&found),
        show(&expected)
    );
    let abandoned = events.get(abandoned).unwrap();
    abandoned.iter().map(|event| event.data.clone()).collect()
}

/// An event of the Responses API without items of its response that are incomplete.
fn without_incomplete(event: &Value) -> Value {
    let mut event = event.clone();
    if let Some(items) = event
        .pointer_mut("/response/output")
        .and_then(Value::as_array_mut)
    {
        let count = items.len();
        items.retain(|item| item["status"] != "incomplete");
        assert!(items.len() + 1 >= count, "two incomplete items: {items:?}");
    }
    event
}

/// One line for each event.
pub(crate) fn show(events: &[Value]) -> String {
    events.iter().map(|event| format!("{event}\n")).collect()
}
