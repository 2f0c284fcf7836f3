//! Generated images, as items of the image tool.

use serde_json::{Value, json};

use super::item_event::ItemEvent;
use super::source_item;
use crate::fields::{JsonFields, put};
use crate::generated_images::{image_format, image_media_type};
use crate::neutral::{Block, Content, Map, MediaSource, without_dialect_fields};

pub(super) const IMAGE_CALL: &str = "image_generation_call";

/// The image of an item; `None` for one without a result.
pub(super) fn read(fields: &mut JsonFields<'_>) -> Option<Content> {
    let data = fields.peek("result")?.as_str()?.to_owned();
    let format = fields.peek("output_format").and_then(Value::as_str);
    let media_type = image_media_type(format.unwrap_or("png"));
    fields.take("result");
    Some(Content::Image(MediaSource::Base64 { media_type, data }))
}

/// The item of an image; `None` for one whose bytes are elsewhere.
pub(super) fn write(block: &Block, id: &str) -> Option<Value> {
    let Content::Image(MediaSource::Base64 { media_type, data }) = &block.content else {
        return None;
    };
    let mut map = Map::from_iter([
        ("id".to_owned(), id.into()),
        ("type".to_owned(), IMAGE_CALL.into()),
        ("status".to_owned(), "completed".into()),
        ("result".to_owned(), data.as_str().into()),
    ]);
    // OpenAI's own items have the field already, or omit it.
    if !source_item::is_own(block) || block.rest.contains_key("output_format") {
        put(&mut map, "output_format", image_format(media_type));
    }
    // OpenAI's own items keep their other fields.
    map.extend(without_dialect_fields(&block.rest));
    Some(Value::Object(map))
}

/// The item before the image is there.
pub(super) fn pending(block: &Block, id: &str) -> Value {
    let mut item = write(block, id).unwrap_or_default();
    if let Some(map) = item.as_object_mut() {
        map.insert("status".to_owned(), "in_progress".into());
        map.insert("result".to_owned(), Value::Null);
    }
    item
}

/// The events between the item's start and its end.
pub(super) fn progress_events(id: &str) -> Vec<ItemEvent> {
    [
        "response.image_generation_call.in_progress",
        "response.image_generation_call.generating",
        "response.image_generation_call.completed",
    ]
    .into_iter()
    .map(|name| (name, json!({"item_id": id})))
    .collect()
}
