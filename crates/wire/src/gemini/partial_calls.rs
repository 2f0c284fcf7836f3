//! Calls whose arguments Gemini streams in pieces: each piece names its place in the arguments
//! by a path such as `$.items[0].name`. Knows nothing of parts and events.

use serde_json::Value;

use crate::neutral::Map;

/// Maximum bytes of one call: of its pieces, and of the lists and objects that they are in.
const MAX_BYTES: usize = 32 << 20;
/// What a value inside a list or an object takes at most.
const VALUE_BYTES: usize = 512;
/// Maximum depth of the arguments.
const MAX_DEPTH: usize = 64;

const NO_PLACE: &str = "a piece of a tool call's arguments without a valid place";

/// What one part has of a call. The last one of a call has nothing.
#[derive(Debug)]
pub(super) struct CallPiece {
    /// The call, where one begins.
    pub(super) begins: Option<PartialCall>,
    /// Pieces of the arguments, each with its place.
    pub(super) places: Vec<Value>,
}

/// A call so far.
#[derive(Debug)]
pub(super) struct PartialCall {
    id: Option<String>,
    name: String,
    args: Value,
    bytes: usize,
    /// The place of a text that has not ended.
    open_text: Option<String>,
}

impl PartialCall {
    pub(super) fn new(id: Option<String>, name: String, args: Value) -> Self {
        PartialCall {
            id,
            name,
            args,
            bytes: 0,
            open_text: None,
        }
    }

    /// Adds pieces; returns what is wrong if the stream is invalid.
    pub(super) fn grow(&mut self, places: Vec<Value>) -> Result<(), &'static str> {
        for place in places {
            self.add(&place)?;
        }
        Ok(())
    }

    fn add(&mut self, place: &Value) -> Result<(), &'static str> {
        let path = place
            .get("jsonPath")
            .and_then(Value::as_str)
            .ok_or(NO_PLACE)?;
        let value = value_of(place);
        let text = value.as_str().map_or(0, str::len);
        self.bytes = self.bytes.saturating_add(path.len()).saturating_add(text);
        let goes_on = self.open_text.as_deref() == Some(path);
        let mut created = 0;
        let target = find(&mut self.args, path, &mut created)?;
        self.bytes = self.bytes.saturating_add(created * VALUE_BYTES);
        if self.bytes > MAX_BYTES {
            return Err("the arguments of the tool calls are too large");
        }
        match (target, value) {
            (Value::String(known), Value::String(more)) if goes_on => known.push_str(&more),
            (target, value) => *target = value,
        }
        let is_open = place.get("willContinue").and_then(Value::as_bool) == Some(true);
        self.open_text = is_open.then(|| path.to_owned());
        Ok(())
    }

    /// Its id, its name and its arguments.
    pub(super) fn into_parts(self) -> (Option<String>, String, Value) {
        (self.id, self.name, self.args)
    }
}

/// The value of a piece. A null has a word of its own.
fn value_of(place: &Value) -> Value {
    let known = ["stringValue", "numberValue", "boolValue"];
    let mut values = known.iter().filter_map(|key| place.get(key));
    values.next().cloned().unwrap_or(Value::Null)
}

/// The place of a path, created where it does not exist. `created` counts the values that did not.
fn find<'v>(
    args: &'v mut Value,
    path: &str,
    created: &mut usize,
) -> Result<&'v mut Value, &'static str> {
    let mut rest = path.strip_prefix('$').ok_or(NO_PLACE)?;
    let mut target = args;
    let mut depth = 0;
    while !rest.is_empty() {
        depth += 1;
        let (step, after) = next_step(rest)
            .filter(|_| depth <= MAX_DEPTH)
            .ok_or(NO_PLACE)?;
        target = enter(target, step, created).ok_or(NO_PLACE)?;
        rest = after;
    }
    Ok(target)
}

/// One step of a path.
enum PathStep {
    Key(String),
    Index(usize),
}

fn next_step(path: &str) -> Option<(PathStep, &str)> {
    if let Some(rest) = path.strip_prefix('.') {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (key, after) = rest.split_at_checked(end)?;
        return (!key.is_empty()).then(|| (PathStep::Key(key.to_owned()), after));
    }
    let rest = path.strip_prefix('[')?;
    for quote in ['\'', '"'] {
        if let Some(quoted) = rest.strip_prefix(quote) {
            let (key, after) = quoted.split_once(quote)?;
            return Some((PathStep::Key(key.to_owned()), after.strip_prefix(']')?));
        }
    }
    let (index, after) = rest.split_once(']')?;
    Some((PathStep::Index(index.parse().ok()?), after))
}

/// The value one step further. A list grows by one item at a time.
fn enter<'v>(target: &'v mut Value, step: PathStep, created: &mut usize) -> Option<&'v mut Value> {
    match step {
        PathStep::Key(key) => {
            if !target.is_object() {
                *target = Value::Object(Map::new());
            }
            let map = target.as_object_mut()?;
            *created += usize::from(!map.contains_key(&key));
            Some(map.entry(key).or_insert(Value::Null))
        }
        PathStep::Index(index) => {
            if !target.is_array() {
                *target = Value::Array(Vec::new());
            }
            let items = target.as_array_mut()?;
            if index == items.len() {
                *created += 1;
                items.push(Value::Null);
            }
            items.get_mut(index)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call() -> PartialCall {
        PartialCall::new(None, "t".to_owned(), json!({}))
    }

    #[test]
    fn pieces_are_put_in_their_places() {
        let mut call = call();
        call.grow(vec![
            json!({"jsonPath": "$.items[0].name", "stringValue": "a", "willContinue": true}),
            json!({"jsonPath": "$.items[0].name", "stringValue": "b"}),
            json!({"jsonPath": "$.items[0].price", "numberValue": 0.5}),
            json!({"jsonPath": "$.items[1]['full name']", "stringValue": "c"}),
            json!({"jsonPath": "$.all", "boolValue": true}),
            json!({"jsonPath": "$.none", "nullValue": "NULL_VALUE"}),
        ])
        .unwrap();
        let (_, _, args) = call.into_parts();
        assert_eq!(
            args,
            json!({"items": [{"name": "ab", "price": 0.5}, {"full name": "c"}],
                "all": true, "none": null})
        );
    }

    #[test]
    fn values_that_are_created_count() {
        let mut call = call();
        let deep = "[0]".repeat(MAX_DEPTH - 1);
        let mut refused = None;
        for n in 0..=MAX_BYTES / VALUE_BYTES / MAX_DEPTH {
            let place = json!({"jsonPath": format!("$[{n}]{deep}"), "stringValue": ""});
            refused = call.grow(vec![place]).err();
        }
        assert_eq!(
            refused,
            Some("the arguments of the tool calls are too large")
        );
    }

    #[test]
    fn a_place_that_would_leave_a_gap_or_is_too_deep_is_refused() {
        for path in [
            "name".to_owned(),
            "$.".to_owned(),
            "$[x]".to_owned(),
            "$.items[7]".to_owned(),
            format!("${}", ".a".repeat(MAX_DEPTH + 1)),
        ] {
            let place = json!({"jsonPath": path, "stringValue": "a"});
            assert_eq!(call().grow(vec![place]), Err(NO_PLACE), "{path}");
        }
    }
}
