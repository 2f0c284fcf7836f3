//! The JSON schema for editors, `docs/prowess.schema.json`, of the definition.

use serde_json::{Map, Value};

use super::definition::Definition;

/// The schema for editors: earlier names are keys of their own that are deprecated, and what
/// only this program knows is left out.
pub(super) fn render() -> Value {
    let mut schema = Definition::file().json().clone();
    publish(&mut schema);
    schema
}

fn publish(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::Object(properties)) = fields.get_mut("properties") {
                add_old_names(properties);
            }
            describe_unit(fields);
            fields.retain(|name, _| !name.starts_with("x-"));
            fields.values_mut().for_each(publish);
        }
        Value::Array(values) => values.iter_mut().for_each(publish),
        _ => {}
    }
}

fn add_old_names(properties: &mut Map<String, Value>) {
    let mut earlier = Vec::new();
    for (name, value) in properties.iter() {
        let names = value.get("x-old-names").and_then(Value::as_array);
        for old in names.into_iter().flatten().filter_map(Value::as_str) {
            let mut deprecated = value.clone();
            if let Some(fields) = deprecated.as_object_mut() {
                let about = format!("Earlier name of `{name}`.");
                fields.insert("description".to_owned(), about.into());
                fields.insert("deprecated".to_owned(), true.into());
                fields.shift_remove("default");
                fields.shift_remove("x-old-names");
            }
            earlier.push((old.to_owned(), deprecated));
        }
    }
    properties.extend(earlier);
}

/// Says how a value with a unit is written, and a default in words.
fn describe_unit(fields: &mut Map<String, Value>) {
    let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    let written = match (text("x-value").as_deref(), text("x-plain-unit")) {
        (Some("duration"), Some(unit)) => Some(format!(
            "A length of time such as \"30s\" (ms, s, m, h, d); a plain number is in {unit}."
        )),
        (Some("size"), _) => {
            Some("A size such as \"512M\" (K, M, G, T); a plain number is in bytes.".to_owned())
        }
        _ => None,
    };
    let default = text("x-default").map(|default| format!("Default: {default}."));
    let parts = [text("description"), written, default];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    if !parts.is_empty() {
        fields.insert("description".to_owned(), parts.join(" ").into());
    }
}
