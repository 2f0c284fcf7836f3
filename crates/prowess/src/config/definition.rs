//! What the file may have, as a JSON schema: made once of the types that read it. Everything
//! else that knows keys asks here: unknown keys and earlier names (`keys`), what is shown
//! (`shown`), the schema for editors (`schema`) and the documentation (`docs`).
//!
//! Besides what JSON Schema has, a key can have:
//!
//! | field | meaning |
//! |---|---|
//! | `x-old-names` | earlier names of the key, which are still read |
//! | `x-default` | the default in words, where it depends on something else |
//! | `x-value`, `x-plain-unit` | a value with a unit, and the unit of a plain number |
//! | `x-shown` | its text is no secret: `true`, or `"address"` for a URL that may hold one |

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::file::ConfigToml;

/// References may lead to others, but no definition contains itself this deep.
const MAX_REFERENCES: usize = 8;

static ROOT: LazyLock<Value> = LazyLock::new(|| {
    let mut schema = schemars::schema_for!(ConfigToml).to_value();
    remove_null(&mut schema);
    schema
});

/// A part of the definition: the file, a table, or the value of a key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Definition(&'static Value);

/// The keys that a table may have.
#[derive(Debug, Default)]
pub(super) struct TableKeys {
    /// In the order of the definition.
    pub(super) known: Vec<(&'static str, Definition)>,
    /// Keys of the same table with another tag (another kind of provider).
    pub(super) of_other_tags: Vec<&'static str>,
    /// The value of keys of any name.
    pub(super) any: Option<Definition>,
    /// Whether keys that are not known are refused.
    closed: bool,
}

impl TableKeys {
    pub(super) fn find(&self, key: &str) -> Option<Definition> {
        let mut known = self.known.iter();
        let known = known.find_map(|(name, value)| (*name == key).then_some(*value));
        known.or(self.any)
    }

    /// The present name of a key, if this is an earlier one.
    pub(super) fn present_name(&self, old: &str) -> Option<&'static str> {
        let mut known = self.known.iter();
        known.find_map(|(name, value)| value.old_names().any(|name| name == old).then_some(*name))
    }

    pub(super) fn is_unknown(&self, key: &str) -> bool {
        self.closed && self.find(key).is_none() && !self.of_other_tags.contains(&key)
    }

    fn add(&mut self, name: &'static str, value: &'static Value) {
        if !self.known.iter().any(|(known, _)| *known == name) {
            self.known.push((name, Definition(value)));
        }
    }
}

impl Definition {
    /// The definition of the whole file.
    pub(super) fn file() -> Self {
        Definition(&ROOT)
    }

    /// It as a JSON schema.
    pub(super) fn json(self) -> &'static Value {
        self.0
    }

    /// A field of the definition itself, or of what it refers to.
    pub(super) fn field(self, name: &str) -> Option<&'static Value> {
        self.0.get(name).or_else(|| self.resolved().0.get(name))
    }

    /// A field that is a text.
    pub(super) fn text(self, name: &str) -> Option<&'static str> {
        self.field(name).and_then(Value::as_str)
    }

    pub(super) fn old_names(self) -> impl Iterator<Item = &'static str> {
        let names = self.field("x-old-names").and_then(Value::as_array);
        names.into_iter().flatten().filter_map(Value::as_str)
    }

    /// The alternatives of a choice (`oneOf`, `anyOf`).
    pub(super) fn alternatives(self) -> Vec<Definition> {
        let lists = ["oneOf", "anyOf"].map(|name| self.field(name).and_then(Value::as_array));
        let all = lists.into_iter().flatten().flatten();
        all.map(Definition).collect()
    }

    /// The words that a text may be, each with what it means; empty if it may be any.
    pub(super) fn words(self) -> Vec<(&'static str, &'static str)> {
        let listed = self.field("enum").and_then(Value::as_array);
        let listed = listed.into_iter().flatten().filter_map(Value::as_str);
        let listed = listed.map(|word| (word, ""));
        let described = self.alternatives().into_iter().flat_map(|one| {
            let about = one.text("description").unwrap_or_default();
            match one.text("const") {
                Some(word) => vec![(word, about)],
                None => one.words(),
            }
        });
        listed.chain(described).collect()
    }

    /// What the elements of a list are.
    pub(super) fn items(self) -> Option<Definition> {
        self.field("items").map(Definition)
    }

    /// The keys of a table. `tag_of` is the text of a key in it, which may decide which
    /// alternative applies; without that, the keys of all alternatives are known.
    pub(super) fn table_keys(self, tag_of: &dyn Fn(&str) -> Option<String>) -> TableKeys {
        let mut keys = TableKeys::default();
        self.collect_keys(tag_of, &mut keys, 0);
        keys
    }

    /// The property that tells alternatives apart, and its value here.
    pub(super) fn tag(self) -> Option<(&'static str, &'static str)> {
        let properties = self.field("properties")?.as_object()?;
        let mut properties = properties.iter();
        properties.find_map(|(name, value)| Some((name.as_str(), value.get("const")?.as_str()?)))
    }

    fn collect_keys(
        self,
        tag_of: &dyn Fn(&str) -> Option<String>,
        keys: &mut TableKeys,
        depth: usize,
    ) {
        if depth > MAX_REFERENCES {
            return;
        }
        if let Some(properties) = self.field("properties").and_then(Value::as_object) {
            keys.closed = true;
            for (name, value) in properties {
                keys.add(name, value);
            }
        }
        if let Some(any @ Value::Object(_)) = self.field("additionalProperties") {
            keys.any = Some(Definition(any));
        }
        let parts = self.field("allOf").and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            Definition(part).collect_keys(tag_of, keys, depth + 1);
        }
        let alternatives = self.alternatives();
        let is_chosen = |one: &Definition| {
            let tag = one.tag();
            tag.is_some_and(|(name, value)| tag_of(name).is_some_and(|tag| tag == value))
        };
        let any_chosen = alternatives.iter().any(is_chosen);
        for one in alternatives {
            if !any_chosen || is_chosen(&one) {
                one.collect_keys(tag_of, keys, depth + 1);
            } else {
                let mut others = TableKeys::default();
                one.collect_keys(tag_of, &mut others, depth + 1);
                let others = others.known.into_iter();
                keys.of_other_tags.extend(others.map(|(name, _)| name));
            }
        }
    }

    /// What a reference leads to, or itself.
    fn resolved(self) -> Self {
        let mut place = self.0;
        for _ in 0..MAX_REFERENCES {
            let name = place.get("$ref").and_then(Value::as_str);
            let name = name.and_then(|name| name.strip_prefix('#'));
            match name.and_then(|name| ROOT.pointer(name)) {
                Some(next) => place = next,
                None => break,
            }
        }
        Definition(place)
    }
}

/// TOML has no null: what may be left out is not required, which says the same.
fn remove_null(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("default").is_some_and(Value::is_null) {
                fields.shift_remove("default");
            }
            if let Some(Value::Array(types)) = fields.get_mut("type") {
                types.retain(|one| one != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    fields.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(words)) = fields.get_mut("enum") {
                words.retain(|word| !word.is_null());
            }
            remove_null_alternative(fields);
            fields.values_mut().for_each(remove_null);
        }
        Value::Array(values) => values.iter_mut().for_each(remove_null),
        _ => {}
    }
}

/// A choice between something and null is that something.
fn remove_null_alternative(fields: &mut Map<String, Value>) {
    let Some(Value::Array(alternatives)) = fields.get_mut("anyOf") else {
        return;
    };
    alternatives.retain(|one| one.get("type").is_none_or(|kind| kind != "null"));
    let only = match alternatives.as_slice() {
        [Value::Object(only)] => only.clone(),
        _ => return,
    };
    fields.shift_remove("anyOf");
    for (name, value) in only {
        // What is said of the key is more exact than what is said of its type.
        fields.entry(name).or_insert(value);
    }
}
