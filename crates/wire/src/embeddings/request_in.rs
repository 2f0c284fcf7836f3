//! Reads a client's request for embeddings.

use serde_json::Value;

use super::{
    EmbeddingEncoding, EmbeddingInput, EmbeddingPurpose, EmbeddingRequest, MAX_EMBEDDING_INPUTS,
};
use crate::error::WireError;
use crate::fields::{JsonFields, as_whole_number, parse, wrong_value};
use crate::json_path::JsonPath;

const INPUT_FORMS: &str = "a string, a list of strings, or lists of token numbers";

/// Reads a request in OpenAI's format. The model is the caller's business.
///
/// `input_type`, which several vendors and gateways add to that format, is understood too.
///
/// # Errors
/// When it is not JSON, or a field has the wrong form.
pub fn read_embedding_request(body: &[u8]) -> Result<EmbeddingRequest, WireError> {
    let path = JsonPath::Root;
    let mut fields = JsonFields::from_value(parse(body)?, &path)?;
    fields.take("model");
    let input = fields.require("input")?;
    let input = read_input(input, &path.key("input"))?;
    let dimensions = match fields.opt_u64("dimensions")? {
        Some(0) => {
            let expected = "a positive number";
            return Err(wrong_value(&path.key("dimensions"), expected, &0.into()));
        }
        dimensions => dimensions,
    };
    let encoding = match fields.opt_string("encoding_format")?.as_deref() {
        None | Some("float") => EmbeddingEncoding::Float,
        Some("base64") => EmbeddingEncoding::Base64,
        Some(other) => {
            let path = path.key("encoding_format");
            return Err(wrong_value(&path, "`float` or `base64`", &other.into()));
        }
    };
    let purpose = match fields.opt_string("input_type")?.as_deref() {
        None => EmbeddingPurpose::Unspecified,
        Some("query" | "search_query") => EmbeddingPurpose::Query,
        Some("document" | "search_document" | "passage") => EmbeddingPurpose::Document,
        Some(other) => {
            let path = path.key("input_type");
            let expected = "`search_query` or `search_document`";
            return Err(wrong_value(&path, expected, &other.into()));
        }
    };
    Ok(EmbeddingRequest {
        input,
        dimensions,
        encoding,
        purpose,
        user: fields.opt_string("user")?,
        unknown: fields.rest().into_iter().map(|(name, _)| name).collect(),
    })
}

fn read_input(input: Value, path: &JsonPath<'_>) -> Result<EmbeddingInput, WireError> {
    let items = match input {
        Value::String(text) => return Ok(EmbeddingInput::Texts(vec![checked_text(text, path)?])),
        Value::Array(items) => items,
        other => return Err(wrong_value(path, INPUT_FORMS, &other)),
    };
    match items.first() {
        None => Err(WireError::Incomplete {
            field: path.to_string(),
            why: "it must not be empty",
        }),
        // One text, as the numbers of its tokens.
        Some(Value::Number(_)) => Ok(EmbeddingInput::Tokens(vec![read_tokens(items, path)?])),
        Some(_) if items.len() > MAX_EMBEDDING_INPUTS => Err(WireError::WrongValue {
            field: path.to_string(),
            expected: "at most 2048 inputs",
            found: items.len().to_string(),
        }),
        Some(Value::Array(_)) => {
            let lists = items.into_iter().enumerate().map(|(at, item)| match item {
                Value::Array(list) => read_tokens(list, &path.index(at)),
                other => Err(wrong_value(&path.index(at), INPUT_FORMS, &other)),
            });
            Ok(EmbeddingInput::Tokens(lists.collect::<Result<_, _>>()?))
        }
        Some(_) => {
            let texts = items.into_iter().enumerate().map(|(at, item)| match item {
                Value::String(text) => checked_text(text, &path.index(at)),
                other => Err(wrong_value(&path.index(at), "a string", &other)),
            });
            Ok(EmbeddingInput::Texts(texts.collect::<Result<_, _>>()?))
        }
    }
}

fn checked_text(text: String, path: &JsonPath<'_>) -> Result<String, WireError> {
    match text.is_empty() {
        false => Ok(text),
        true => Err(WireError::Incomplete {
            field: path.to_string(),
            why: "it must not be empty",
        }),
    }
}

fn read_tokens(list: Vec<Value>, path: &JsonPath<'_>) -> Result<Vec<u32>, WireError> {
    if list.is_empty() {
        return Err(WireError::Incomplete {
            field: path.to_string(),
            why: "it must not be empty",
        });
    }
    let numbers = list.iter().enumerate().map(|(at, item)| {
        let number = as_whole_number(item).and_then(|number| u32::try_from(number).ok());
        number.ok_or_else(|| wrong_value(&path.index(at), "a token number", item))
    });
    numbers.collect()
}
