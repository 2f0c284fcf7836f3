//! One request of a batch, as each vendor writes it.

use prowess_store::NewBatchItem;
use prowess_wire::raw::RawObject;
use prowess_wire::{excerpt, parsed_excess};

use crate::kept_runs::secrets::names_secrets;
use crate::read_body::MAX_KEPT_EXCESS;

/// Characters of `custom_id` in Anthropic's API.
const MAX_MESSAGE_ID_CHARS: usize = 64;
/// Characters of `custom_id` in OpenAI's API.
const MAX_LINE_ID_CHARS: usize = 512;

/// What is wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ItemProblem {
    pub(crate) code: &'static str,
    /// The field at fault, within the request; empty for the request itself.
    pub(crate) field: &'static str,
    pub(crate) message: String,
}

impl ItemProblem {
    fn new(code: &'static str, field: &'static str, message: impl Into<String>) -> ItemProblem {
        ItemProblem {
            code,
            field,
            message: message.into(),
        }
    }

    /// A name that another request of the batch has.
    pub(crate) fn duplicate(custom_id: &str) -> ItemProblem {
        let message = format!(
            "`{}` is used by more than one request; each needs its own",
            excerpt(custom_id)
        );
        ItemProblem::new("duplicate_custom_id", "custom_id", message)
    }

    /// A request that does not fit in memory.
    pub(crate) fn too_large(max_bytes: usize) -> ItemProblem {
        let message = format!("the request has more than {max_bytes} bytes");
        ItemProblem::new("request_too_large", "", message)
    }
}

/// Reads `{"custom_id": …, "params": {…}}`.
pub(crate) fn parse_message_request(seq: i64, json: &[u8]) -> Result<NewBatchItem, ItemProblem> {
    let object = parse_object(json)?;
    let custom_id = parse_custom_id(&object)?;
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    if custom_id.len() > MAX_MESSAGE_ID_CHARS || !custom_id.bytes().all(allowed) {
        let message = format!(
            "`{}` is not 1 to {MAX_MESSAGE_ID_CHARS} letters, digits, `_` or `-`",
            excerpt(&custom_id)
        );
        return Err(ItemProblem::new("invalid_custom_id", "custom_id", message));
    }
    let body = parse_model_request(&object, "params")?;
    Ok(NewBatchItem {
        seq,
        custom_id,
        body,
    })
}

/// Reads `{"custom_id": …, "method": "POST", "url": …, "body": {…}}`.
pub(crate) fn parse_line(
    seq: i64,
    json: &[u8],
    endpoint: &str,
) -> Result<NewBatchItem, ItemProblem> {
    let object = parse_object(json)?;
    let custom_id = parse_custom_id(&object)?;
    if custom_id.chars().count() > MAX_LINE_ID_CHARS || custom_id.chars().any(char::is_control) {
        let message =
            format!("it must have 1 to {MAX_LINE_ID_CHARS} characters and no control characters");
        return Err(ItemProblem::new("invalid_custom_id", "custom_id", message));
    }
    if object.get_str("method").as_deref() != Some("POST") {
        return Err(ItemProblem::new(
            "invalid_method",
            "method",
            "it must be `POST`",
        ));
    }
    match object.get_str("url") {
        Some(url) if url == endpoint => {}
        found => {
            let found = found.unwrap_or_default();
            let message = format!(
                "`{}` is not the endpoint of the batch, `{endpoint}`",
                excerpt(&found)
            );
            return Err(ItemProblem::new("mismatched_endpoint", "url", message));
        }
    }
    let body = parse_model_request(&object, "body")?;
    Ok(NewBatchItem {
        seq,
        custom_id,
        body,
    })
}

fn parse_object(json: &[u8]) -> Result<RawObject<'_>, ItemProblem> {
    RawObject::parse(json).map_err(|error| {
        ItemProblem::new(
            "invalid_json",
            "",
            format!("it is not a JSON object: {error}"),
        )
    })
}

fn parse_custom_id(object: &RawObject<'_>) -> Result<String, ItemProblem> {
    match object.get_str("custom_id") {
        Some(id) if !id.is_empty() => Ok(id),
        _ => {
            let message = "it must be a string that is not empty";
            Err(ItemProblem::new("invalid_custom_id", "custom_id", message))
        }
    }
}

/// The request to a model. The rest of it is checked when it is run.
fn parse_model_request(
    object: &RawObject<'_>,
    field: &'static str,
) -> Result<Vec<u8>, ItemProblem> {
    let invalid = |message: &str| Err(ItemProblem::new("invalid_request", field, message));
    let Some(json) = object.get(field) else {
        return invalid("it is missing");
    };
    if parsed_excess(json.as_bytes()) > MAX_KEPT_EXCESS {
        return invalid("it has too many values: send fewer numbers and lists in one request");
    }
    let Ok(request) = RawObject::parse(json.as_bytes()) else {
        return invalid("it must be an object");
    };
    let fields = request.routing_fields();
    if fields.model.is_none_or(|model| model.is_empty()) {
        return invalid("its `model` must be the name of a model");
    }
    if fields.stream {
        return invalid("its `stream` must be false, as results of a batch are not streamed");
    }
    if names_secrets(json.as_bytes(), &request) {
        return invalid(
            "it cannot have `domain_secrets`, or tokens and headers for MCP servers, because \
             secrets are not stored",
        );
    }
    Ok(json.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(parsed: Result<NewBatchItem, ItemProblem>) -> (&'static str, &'static str) {
        let problem = parsed.unwrap_err();
        (problem.code, problem.field)
    }

    #[test]
    fn the_request_is_passed_on_as_it_was_written() {
        let json = br#"{ "params" : {"model":"m",  "max_tokens": 1.0}, "custom_id":"a-1_B" }"#;
        let item = parse_message_request(7, json).unwrap();
        assert_eq!((item.seq, item.custom_id.as_str()), (7, "a-1_B"));
        assert_eq!(item.body, br#"{"model":"m",  "max_tokens": 1.0}"#);
        let json =
            br#"{"custom_id":"a b","method":"POST","url":"/v1/responses","body":{"model":"m"}}"#;
        let item = parse_line(0, json, "/v1/responses").unwrap();
        assert_eq!(
            (item.custom_id.as_str(), &item.body[..]),
            ("a b", &br#"{"model":"m"}"#[..])
        );
    }

    #[test]
    fn a_request_whose_values_take_much_memory_is_refused() {
        let values = "[0],".repeat(1 << 20);
        let json = format!(r#"{{"custom_id":"a","params":{{"model":"m","a":[{values}0]}}}}"#);
        let problem = parse_message_request(0, json.as_bytes()).unwrap_err();
        assert!(
            problem.message.contains("too many values"),
            "{}",
            problem.message
        );
    }

    #[test]
    fn a_mistake_names_its_field() {
        let parse = |json: &str| code(parse_message_request(0, json.as_bytes()));
        assert_eq!(parse("[]"), ("invalid_json", ""));
        assert_eq!(
            parse("{\"custom_id\":1}"),
            ("invalid_custom_id", "custom_id")
        );
        assert_eq!(
            parse("{\"custom_id\":\"a b\"}"),
            ("invalid_custom_id", "custom_id")
        );
        let long = format!("{{\"custom_id\":\"{}\"}}", "a".repeat(65));
        assert_eq!(parse(&long), ("invalid_custom_id", "custom_id"));
        for params in [
            "1",
            "{}",
            r#"{"model":""}"#,
            r#"{"model":"m","stream":true}"#,
            r#"{"model":"m","mcp_servers":[{"authorization_token":"x"}]}"#,
        ] {
            let json = format!("{{\"custom_id\":\"a\",\"params\":{params}}}");
            assert_eq!(parse(&json), ("invalid_request", "params"), "{params}");
        }
        assert_eq!(
            parse("{\"custom_id\":\"a\"}"),
            ("invalid_request", "params")
        );
        let parse = |json: &str| code(parse_line(0, json.as_bytes(), "/v1/responses"));
        let get = r#"{"custom_id":"a","method":"GET"}"#;
        assert_eq!(parse(get), ("invalid_method", "method"));
        let other = r#"{"custom_id":"a","method":"POST","url":"/v1/embeddings"}"#;
        assert_eq!(parse(other), ("mismatched_endpoint", "url"));
    }
}
