//! Parses YAML into JSON values, within a size limit.
//!
//! Anchors are resolved and `<<` merged. Plain scalars are typed as in YAML 1.2.

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

/// Maximum values in a file, with aliases expanded.
const MAX_VALUES: usize = 100_000;
const MAX_DEPTH: usize = 64;

/// Why a YAML text could not be parsed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportYamlError {
    /// It is not YAML.
    #[error("line {line}: {message}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The parser's message.
        message: String,
    },
    /// It is too large or nested too deeply.
    #[error("it has more than {MAX_VALUES} values")]
    TooBig,
    /// It is not a mapping.
    #[error("not a LiteLLM configuration: expected keys such as model_list")]
    NoMapping,
}

/// The first document of a text, which must be a mapping.
pub(super) fn read(text: &str) -> Result<Value, ImportYamlError> {
    let options = granit_parser::options! {
        emit_comments: false,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut builder = ValueBuilder {
        left: MAX_VALUES,
        ..ValueBuilder::default()
    };
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, _) = event.map_err(|error| ImportYamlError::Syntax {
            line: error.marker().line(),
            message: error.to_string(),
        })?;
        builder.handle_event(event)?;
    }
    match builder.root {
        Some(Value::Object(map)) => Ok(Value::Object(map)),
        _ => Err(ImportYamlError::NoMapping),
    }
}

#[derive(Default)]
struct ValueBuilder {
    root: Option<Value>,
    open: Vec<OpenValue>,
    anchors: HashMap<usize, Value>,
    left: usize,
}

/// A collection that is not closed yet.
struct OpenValue {
    anchor: usize,
    value: Value,
    /// A mapping's key whose value is next.
    key: Option<String>,
}

impl ValueBuilder {
    fn handle_event(&mut self, event: Event<'_>) -> Result<(), ImportYamlError> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain && tag.is_none();
                let value = if plain {
                    plain_value(&text)
                } else {
                    Value::String(text.into_owned())
                };
                self.finish(value, anchor)
            }
            Event::SequenceStart(_, anchor, _) => {
                self.begin(Value::Array(Vec::new()), anchor);
                Ok(())
            }
            Event::MappingStart(_, anchor, _) => {
                self.begin(Value::Object(Map::new()), anchor);
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(closed) => self.finish(closed.value, closed.anchor),
                None => Ok(()),
            },
            Event::Alias(target) => {
                let value = self.anchors.get(&target).cloned().unwrap_or_default();
                self.spend_values(count_values(&value))?;
                self.finish(value, 0)
            }
            _ => Ok(()),
        }
    }

    fn begin(&mut self, value: Value, anchor: usize) {
        self.open.push(OpenValue {
            anchor,
            value,
            key: None,
        });
    }

    /// A value is complete: add it to its collection.
    fn finish(&mut self, value: Value, anchor: usize) -> Result<(), ImportYamlError> {
        self.spend_values(1)?;
        if anchor > 0 {
            self.spend_values(count_values(&value))?;
            self.anchors.insert(anchor, value.clone());
        }
        let Some(around) = self.open.last_mut() else {
            self.root.get_or_insert(value);
            return Ok(());
        };
        match (&mut around.value, around.key.take()) {
            (Value::Array(items), _) => items.push(value),
            (Value::Object(map), Some(key)) if key == "<<" => merge(map, value),
            (Value::Object(map), Some(key)) => drop(map.insert(key, value)),
            (_, _) => around.key = Some(scalar_key(&value)),
        }
        Ok(())
    }

    fn spend_values(&mut self, values: usize) -> Result<(), ImportYamlError> {
        self.left = self
            .left
            .checked_sub(values)
            .ok_or(ImportYamlError::TooBig)?;
        Ok(())
    }
}

/// A mapping's own keys take precedence over merged ones.
fn merge(map: &mut Map<String, Value>, value: Value) {
    match value {
        Value::Object(more) => {
            for (key, value) in more {
                map.entry(key).or_insert(value);
            }
        }
        Value::Array(list) => list.into_iter().for_each(|one| merge(map, one)),
        _ => {}
    }
}

fn count_values(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count_values).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(count_values).sum::<usize>(),
        _ => 1,
    }
}

fn scalar_key(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn plain_value(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(number), _) => number.into(),
            (_, Ok(number))
                if text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) =>
            {
                serde_json::Number::from_f64(number).map_or_else(|| text.into(), Value::Number)
            }
            _ => text.into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn anchors_and_merges_are_resolved_and_words_are_what_they_look_like() {
        let text =
            "a: &base {x: 1, y: yes}\nb:\n  <<: *base\n  x: 0.5\n  z: [~, true, 'no', 1e-6]\n";
        let read = read(text).unwrap();
        let expected = json!({
            "a": {"x": 1, "y": "yes"},
            "b": {"y": "yes", "x": 0.5, "z": [null, true, "no", 1e-6]},
        });
        assert_eq!(read, expected);
    }

    #[test]
    fn what_is_no_configuration_is_refused() {
        assert_eq!(read("- a\n").unwrap_err(), ImportYamlError::NoMapping);
        assert_eq!(read("").unwrap_err(), ImportYamlError::NoMapping);
        assert!(matches!(
            read("a: [").unwrap_err(),
            ImportYamlError::Syntax { .. }
        ));
        let mut bomb = "a0: &a0 [x]\n".to_owned();
        for n in 1..30 {
            bomb.push_str(&format!("a{n}: &a{n} [*a{}, *a{}]\n", n - 1, n - 1));
        }
        assert_eq!(read(&bomb).unwrap_err(), ImportYamlError::TooBig);
        assert!(read(&"[".repeat(20_000)).is_err());
    }
}
