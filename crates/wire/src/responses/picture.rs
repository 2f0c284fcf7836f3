//! Pictures that a model made, as items of the image tool.

use serde_json::{Value, json};

use super::own_item;
use super::stream_item::Told;
use crate::fields::{Fields, put};
use crate::neutral::{Block, Content, Map, Source, without_own};
use crate::pictures::format_of;

pub(super) const KIND: &str = "image_generation_call";

/// The picture of an item; none for one that is not made yet, or was not made.
pub(super) fn read(fields: &mut Fields<'_>) -> Option<Content> {
    let data = fields.peek("result")?.as_str()?.to_owned();
    let format = fields.peek("output_format").and_then(Value::as_str);
    let media_type = format!("image/{}", format.unwrap_or("png"));
    fields.take("result");
    Some(Content::Image(Source::Base64 { media_type, data }))
}

/// The item of a picture; none for one whose bytes are elsewhere.
pub(super) fn write(block: &Block, id: &str) -> Option<Value> {
    let Content::Image(Source::Base64 { media_type, data }) = &block.content else {
        return None;
    };
    let mut map = Map::from_iter([
        ("id".to_owned(), id.into()),
        ("type".to_owned(), KIND.into()),
        ("status".to_owned(), "completed".into()),
        ("result".to_owned(), data.as_str().into()),
    ]);
    // One of OpenAI's own says by itself what it is, or leaves it out.
    if !own_item::is_own(block) || block.rest.contains_key("output_format") {
        put(&mut map, "output_format", format_of(media_type));
    }
    // An item of OpenAI's keeps what else it says.
    map.extend(without_own(&block.rest));
    Some(Value::Object(map))
}

/// The item before the picture is there.
pub(super) fn empty(block: &Block, id: &str) -> Value {
    let mut item = write(block, id).unwrap_or_default();
    if let Some(map) = item.as_object_mut() {
        map.insert("status".to_owned(), "in_progress".into());
        map.insert("result".to_owned(), Value::Null);
    }
    item
}

/// The events between the item's start and its end.
pub(super) fn told(id: &str) -> Vec<Told> {
    [
        "response.image_generation_call.in_progress",
        "response.image_generation_call.generating",
        "response.image_generation_call.completed",
    ]
    .into_iter()
    .map(|name| (name, json!({"item_id": id})))
    .collect()
}
