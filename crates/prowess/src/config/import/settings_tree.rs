//! Takes values out of a tree; the rest was not understood.

use serde_json::{Map, Value};

use super::IgnoredSetting;
use super::equivalents::explain;

/// A tree of settings, from which values are taken.
pub(super) struct SettingsTree {
    rest: Value,
    pub(super) ignored: Vec<IgnoredSetting>,
}

impl SettingsTree {
    pub(super) fn new(root: Value) -> SettingsTree {
        SettingsTree {
            rest: root,
            ignored: Vec::new(),
        }
    }

    /// Reports that a setting is ignored.
    pub(super) fn ignore(&mut self, path: &str, why: &str) {
        self.ignored.push(IgnoredSetting {
            path: path.to_owned(),
            why: why.to_owned(),
        });
    }

    /// Takes a list; each item with its index.
    pub(super) fn take_list(&mut self, key: &str) -> Vec<(usize, Value)> {
        match self.take_value(&[key]) {
            Some(Value::Array(items)) => items.into_iter().enumerate().collect(),
            None | Some(Value::Null) => Vec::new(),
            Some(_) => {
                self.ignore(key, "it is not a list");
                Vec::new()
            }
        }
    }

    /// Takes a value out of nested mappings.
    pub(super) fn take_value(&mut self, path: &[&str]) -> Option<Value> {
        let (last, outer) = path.split_last()?;
        let mut map = self.rest.as_object_mut()?;
        for key in outer {
            map = map.get_mut(*key)?.as_object_mut()?;
        }
        map.shift_remove(*last)
    }

    /// Takes a string.
    pub(super) fn take_text(&mut self, path: &[&str]) -> Option<String> {
        match self.take_value(path)? {
            Value::String(text) => Some(text),
            _ => {
                self.ignore(&path.join("."), "it is not a string");
                None
            }
        }
    }

    /// Takes a number, or a string that contains one.
    pub(super) fn take_number(&mut self, path: &[&str]) -> Option<f64> {
        let value = self.take_value(path)?;
        let number = read_number(&value);
        if number.is_none() && !value.is_null() {
            self.ignore(&path.join("."), "it is not a number");
        }
        number
    }

    /// Reports everything that was not taken.
    pub(super) fn ignore_rest(&mut self) {
        let rest = std::mem::take(&mut self.rest);
        self.ignore_all("", &rest);
    }

    /// Reports a value that was not understood; a mapping key by key.
    pub(super) fn ignore_all(&mut self, path: &str, value: &Value) {
        match value {
            Value::Null => {}
            Value::Object(map) if map.is_empty() => {}
            Value::Object(map) => self.ignore_fields(path, map),
            _ => self.ignore(path, &explain(path)),
        }
    }

    fn ignore_fields(&mut self, path: &str, map: &Map<String, Value>) {
        for (key, value) in map {
            match path {
                "" => self.ignore_all(key, value),
                path => self.ignore_all(&format!("{path}.{key}"), value),
            }
        }
    }
}

/// The fields of one mapping.
pub(super) struct SettingFields {
    pub(super) map: Map<String, Value>,
}

impl SettingFields {
    /// The first of these keys that is a text. An empty one is not set, as in LiteLLM.
    pub(super) fn take_text(&mut self, keys: &[&str]) -> Option<String> {
        let is_empty = |value: &Value| value.as_str().is_some_and(|text| text.trim().is_empty());
        self.map
            .retain(|key, value| !keys.contains(&key.as_str()) || !is_empty(value));
        keys.iter().find_map(|key| match self.map.get(*key) {
            Some(Value::String(_)) => match self.map.shift_remove(*key) {
                Some(Value::String(text)) => Some(text),
                _ => None,
            },
            _ => None,
        })
    }

    /// A number, or a string that contains one.
    pub(super) fn take_number(&mut self, key: &str) -> Option<f64> {
        let number = read_number(self.map.get(key)?)?;
        self.map.shift_remove(key);
        Some(number)
    }

    /// A mapping of strings.
    pub(super) fn take_texts(&mut self, key: &str) -> Vec<(String, String)> {
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

fn read_number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        // LiteLLM's parser of YAML knows `20_000`.
        Value::String(text) => text.replace('_', "").parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}
