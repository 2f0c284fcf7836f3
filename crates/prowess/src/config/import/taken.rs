//! Taking values out of a tree; what is left at the end was not understood.

use serde_json::{Map, Value};

use super::LeftOut;

/// A tree that is taken apart.
pub(super) struct Taken {
    rest: Value,
    pub(super) left_out: Vec<LeftOut>,
}

impl Taken {
    pub(super) fn new(root: Value) -> Taken {
        Taken {
            rest: root,
            left_out: Vec::new(),
        }
    }

    /// Says that something is left out.
    pub(super) fn leave(&mut self, path: &str, why: &str) {
        self.left_out.push(LeftOut {
            path: path.to_owned(),
            why: why.to_owned(),
        });
    }

    /// Takes a list; each item with its place.
    pub(super) fn list(&mut self, key: &str) -> Vec<(usize, Value)> {
        match self.value_at(&[key]) {
            Some(Value::Array(items)) => items.into_iter().enumerate().collect(),
            None | Some(Value::Null) => Vec::new(),
            Some(_) => {
                self.leave(key, "it is not a list");
                Vec::new()
            }
        }
    }

    /// Takes a value out of nested mappings.
    pub(super) fn value_at(&mut self, path: &[&str]) -> Option<Value> {
        let (last, outer) = path.split_last()?;
        let mut map = self.rest.as_object_mut()?;
        for key in outer {
            map = map.get_mut(*key)?.as_object_mut()?;
        }
        map.shift_remove(*last)
    }

    /// Takes a text.
    pub(super) fn text_at(&mut self, path: &[&str]) -> Option<String> {
        match self.value_at(path)? {
            Value::String(text) => Some(text),
            _ => {
                self.leave(&path.join("."), "it is not a text");
                None
            }
        }
    }

    /// Says of everything that is left that it was not understood.
    pub(super) fn leave_rest(&mut self) {
        let rest = std::mem::take(&mut self.rest);
        self.leave_all("", &rest);
    }

    /// Says of a value that it was not understood: of a mapping, key by key.
    pub(super) fn leave_all(&mut self, path: &str, value: &Value) {
        match value {
            Value::Null => {}
            Value::Object(map) if map.is_empty() => {}
            Value::Object(map) => self.leave_fields(path, map),
            _ => self.leave(path, equivalent(path)),
        }
    }

    fn leave_fields(&mut self, path: &str, map: &Map<String, Value>) {
        for (key, value) in map {
            match path {
                "" => self.leave_all(key, value),
                path => self.leave_all(&format!("{path}.{key}"), value),
            }
        }
    }
}

/// What does in Prowess what a setting of LiteLLM's does, for those that people have most.
fn equivalent(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or(path) {
        "num_retries" | "max_retries" => "set attempts under [providers.NAME] instead",
        "database_url" => "set url under [store] instead",
        "rpm" | "tpm" | "max_budget" | "budget_duration" => {
            "limits belong to keys: prowess keys create --rpm, --tpm, --budget"
        }
        "request_timeout" | "timeout" => "set answer_seconds under [providers.NAME] instead",
        "stream_timeout" => "set idle_seconds under [providers.NAME] instead",
        "max_parallel_requests" => "set concurrent under [[models]] instead",
        "default_fallbacks" | "fallbacks" => "set fallbacks under [[models]] instead",
        _ => "no equivalent in Prowess",
    }
}

/// The fields of one mapping.
pub(super) struct Fields {
    pub(super) map: Map<String, Value>,
}

impl Fields {
    /// The first of these keys that is there, as a text.
    pub(super) fn text(&mut self, keys: &[&str]) -> Option<String> {
        keys.iter().find_map(|key| match self.map.get(*key) {
            Some(Value::String(_)) => match self.map.shift_remove(*key) {
                Some(Value::String(text)) => Some(text),
                _ => None,
            },
            _ => None,
        })
    }

    /// A number, also one that is written as a text.
    pub(super) fn number(&mut self, key: &str) -> Option<f64> {
        let number = match self.map.get(key)? {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        let number = number.filter(|number| number.is_finite())?;
        self.map.shift_remove(key);
        Some(number)
    }

    /// A mapping of texts.
    pub(super) fn texts(&mut self, key: &str) -> Vec<(String, String)> {
        let Some(Value::Object(map)) = self.map.get(key) else {
            return Vec::new();
        };
        if !map.values().all(Value::is_string) {
            return Vec::new();
        }
        let texts = map.iter();
        let texts = texts
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect();
        self.map.shift_remove(key);
        texts
    }
}
