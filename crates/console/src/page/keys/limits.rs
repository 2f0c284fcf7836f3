//! Limits of keys, as a form has them: an empty field is no limit.

use serde_json::{Map, Value, json};

use crate::api::PageError;
use crate::query::Fields;

/// The fields of a form as the API takes them. With `is_change`, an empty field takes a limit
/// away; otherwise it is left out.
pub(super) fn read(form: &Fields, is_change: bool) -> Result<Map<String, Value>, PageError> {
    let mut body = Map::new();
    let mut set = |name: &str, value: Option<Value>| match value {
        Some(value) => drop(body.insert(name.to_owned(), value)),
        None if is_change => drop(body.insert(name.to_owned(), Value::Null)),
        None => {}
    };
    let requests: Option<u64> = form.number("requests_per_minute")?;
    set("requests_per_minute", requests.map(Value::from));
    let tokens: Option<u64> = form.number("tokens_per_minute")?;
    set("tokens_per_minute", tokens.map(Value::from));
    let amount: Option<f64> = form.number("budget")?;
    let period = form.get("period").unwrap_or("month");
    let budget = amount.map(|amount| json!({ "amount": amount, "period": period }));
    set("budget", budget);
    // A change that names no models permits all; a list cannot be null.
    let models = form.get("models").unwrap_or_default();
    let models = models.split([',', '\n']).map(str::trim);
    let models: Vec<&str> = models.filter(|model| !model.is_empty()).collect();
    if is_change || !models.is_empty() {
        body.insert("models".to_owned(), json!(models));
    }
    let scopes: Vec<&str> = form.all("scope").collect();
    body.insert("scopes".to_owned(), json!(scopes));
    Ok(body)
}
