//! Which keys a file sets. Values are kept as hashes, so that a change is noticed and no secret
//! is kept.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::LazyLock;

use toml::{Table, Value};

/// One for the process: hashes of different readings are compared.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// Keys with their tables, such as `server.listen`, and the hashes of their values.
#[derive(Debug, Clone, Default)]
pub(super) struct WrittenKeys(BTreeMap<String, u64>);

impl WrittenKeys {
    /// The keys of a file.
    pub(super) fn of_table(file: &Table) -> WrittenKeys {
        let mut keys = WrittenKeys::default();
        for (section, value) in file {
            keys.add(section.clone(), value);
        }
        keys
    }

    /// The keys that only one of both sets, or that have different values, in order.
    pub(super) fn differences(&self, other: &WrittenKeys) -> Vec<String> {
        let changed = self.0.iter();
        let changed = changed.filter(|(key, hash)| other.0.get(*key) != Some(*hash));
        let added = other.0.keys().filter(|key| !self.0.contains_key(*key));
        let mut all: Vec<String> = changed.map(|(key, _)| key).chain(added).cloned().collect();
        all.sort();
        all
    }

    fn add(&mut self, key: String, value: &Value) {
        match value {
            Value::Table(table) if !table.is_empty() => {
                for (name, value) in table {
                    self.add(format!("{key}.{name}"), value);
                }
            }
            Value::Array(values) if !values.is_empty() && values.iter().all(Value::is_table) => {
                for (at, value) in values.iter().enumerate() {
                    let mut below = format!("{key}.{}", element_name(at, value));
                    if self.has_table(&below) {
                        below = format!("{below}#{}", at + 1);
                    }
                    self.add(below, value);
                }
            }
            value => {
                let mut hasher = HASHER.build_hasher();
                hash_value(value, &mut hasher);
                self.0.insert(key, hasher.finish());
            }
        }
    }

    /// Whether there are keys of this table, as of an earlier entry of the same name.
    fn has_table(&self, table: &str) -> bool {
        let prefix = format!("{table}.");
        let mut after = self.0.range(prefix.clone()..);
        after
            .next()
            .is_some_and(|(key, _)| key.starts_with(&prefix))
    }
}

/// An entry of a list: by its name, or counted from 1.
fn element_name(at: usize, value: &Value) -> String {
    let name = value.get("name").and_then(Value::as_str);
    name.map_or_else(|| (at + 1).to_string(), str::to_owned)
}

/// A hash to be compared with others of this process.
pub(super) fn hash_text(text: &str) -> u64 {
    HASHER.hash_one(text)
}

fn hash_value(value: &Value, hasher: &mut impl Hasher) {
    value.type_str().hash(hasher);
    match value {
        Value::String(text) => text.hash(hasher),
        Value::Integer(number) => number.hash(hasher),
        Value::Float(number) => number.to_bits().hash(hasher),
        Value::Boolean(flag) => flag.hash(hasher),
        Value::Datetime(time) => time.to_string().hash(hasher),
        Value::Array(values) => {
            values.len().hash(hasher);
            for value in values {
                hash_value(value, hasher);
            }
        }
        Value::Table(table) => {
            table.len().hash(hasher);
            for (name, value) in table {
                name.hash(hasher);
                hash_value(value, hasher);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differences(one: &str, other: &str) -> Vec<String> {
        let keys = |text: &str| WrittenKeys::of_table(&text.parse().unwrap());
        keys(one).differences(&keys(other))
    }

    #[test]
    fn changes_are_named_without_their_values() {
        let before = "[server]\nlisten = \"127.0.0.1:1\"\nuploads = 1\n\
                      [providers.acme]\nkind = \"openai\"\napi_key = \"canary-one\"\n\
                      headers = { x-team = \"a\" }\n\
                      [[models]]\nname = \"small\"\nprovider = \"acme\"\n\
                      [[models]]\nname = \"large\"\nprovider = \"acme\"\n";
        assert_eq!(differences(before, before), Vec::<String>::new());
        let after = before
            .replace("canary-one", "canary-two")
            .replace("uploads = 1", "console = false")
            .replace("x-team = \"a\"", "x-team = \"b\"")
            .replace("name = \"large\"", "name = \"huge\"");
        insta::assert_debug_snapshot!(differences(before, &after), @r#"
        [
            "models.huge.name",
            "models.huge.provider",
            "models.large.name",
            "models.large.provider",
            "providers.acme.api_key",
            "providers.acme.headers.x-team",
            "server.console",
            "server.uploads",
        ]
        "#);
    }

    #[test]
    fn entries_of_one_name_are_distinguished() {
        let entry =
            |provider: &str| format!("[[models]]\nname = \"m\"\nprovider = \"{provider}\"\n");
        let before = format!("{}{}", entry("a"), entry("b"));
        let after = format!("{}{}", entry("a"), entry("c"));
        assert_eq!(differences(&before, &after), ["models.m#2.provider"]);
    }
}
