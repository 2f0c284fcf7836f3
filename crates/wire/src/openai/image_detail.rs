//! How closely a model is to look at an image: OpenAI's two dialects have the same values, at
//! different places of a part.

use serde_json::Value;

use crate::neutral::{Block, Content, Map};

const DETAIL: &str = "detail";
/// The object of Chat's part that contains it.
const IMAGE_URL: &str = "image_url";

/// Takes the detail of an image out of the other fields of its block, which are returned.
pub(crate) fn take_detail(block: &Block) -> (Option<Value>, Map) {
    let mut rest = block.rest.clone();
    if !matches!(block.content, Content::Image(_)) {
        return (None, rest);
    }
    let is_detail = |value: &Value| value.is_string();
    if rest.get(DETAIL).is_some_and(is_detail) {
        return (rest.shift_remove(DETAIL), rest);
    }
    let Some(Value::Object(inner)) = rest.get_mut(IMAGE_URL) else {
        return (None, rest);
    };
    let detail = if inner.get(DETAIL).is_some_and(is_detail) {
        inner.shift_remove(DETAIL)
    } else {
        None
    };
    if inner.is_empty() {
        rest.shift_remove(IMAGE_URL);
    }
    (detail, rest)
}
