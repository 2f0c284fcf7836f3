//! What a block remembers of the Responses item it was read from: whose part it is, and
//! the item's fields that no road understands (its id, `phase`, …).

use serde_json::{Value, json};

use crate::neutral::{Block, DIALECT_FIELDS, Map};

/// Marks a block as the part of a message item. The parts of one message follow each
/// other; the first has the number 0.
pub(super) fn mark_part(block: &mut Block, part: usize, is_last: bool, item: &Map) {
    let own = json!({"part": part, "last": is_last, "item": item});
    block.rest.insert(DIALECT_FIELDS.to_owned(), own);
}

/// Marks blocks as the parts of one message item.
pub(super) fn mark_parts(blocks: &mut [Block], item: &Map) {
    let last = blocks.len().saturating_sub(1);
    for (part, block) in blocks.iter_mut().enumerate() {
        mark_part(block, part, part == last, item);
    }
}

/// Marks a block as a whole item; of fields that stand nowhere else in the block.
pub(super) fn mark_item(block: &mut Block, item: Map) {
    let own = json!({ "item": item });
    block.rest.insert(DIALECT_FIELDS.to_owned(), own);
}

/// Whether a block was read from this dialect.
pub(super) fn is_own(block: &Block) -> bool {
    block.rest.contains_key(DIALECT_FIELDS)
}

/// The fields of the item that a block was read from.
pub(super) fn item(block: &Block) -> Option<&Map> {
    block.rest.get(DIALECT_FIELDS)?.get("item")?.as_object()
}

/// The id of the item that a block was read from.
pub(super) fn id(block: &Block) -> Option<&str> {
    let own = item(block).and_then(|item| item.get("id"));
    let id = own.or_else(|| block.rest.get("id").filter(|_| is_own(block)));
    id?.as_str().filter(|id| !id.is_empty())
}

/// The place of a block among the parts of its message.
pub(super) fn part(block: &Block) -> Option<u64> {
    block.rest.get(DIALECT_FIELDS)?.get("part")?.as_u64()
}

/// Whether a block goes on with the message of the block before it.
pub(super) fn continues(block: &Block) -> bool {
    part(block).is_some_and(|part| part > 0)
}

/// Whether the message of a block ends with it; of a block that is no part of a larger
/// message, always.
pub(super) fn ends_message(block: &Block) -> bool {
    let own = block.rest.get(DIALECT_FIELDS);
    let last = own.and_then(|own| own.get("last")?.as_bool());
    last.unwrap_or(part(block).is_none())
}

/// What is told at the end of a message of the block that tells it.
pub(super) fn end_of_message(item: &Map) -> Map {
    let own = json!({"last": true, "item": item});
    Map::from_iter([(DIALECT_FIELDS.to_owned(), own)])
}

/// Fields that the writer of an item says itself.
const WRITER_FIELDS: [&str; 4] = ["id", "type", "role", "content"];

/// Puts the item's own fields into an item that was written anew. What it says itself
/// stays.
pub(super) fn restore(block: &Block, written: &mut Map) {
    for (key, value) in item(block).into_iter().flatten() {
        if !WRITER_FIELDS.contains(&key.as_str()) {
            written.insert(key.clone(), value.clone());
        }
    }
}

/// Whether an id is one that [`super::response_out::item_id`] made: no provider has an
/// item of this id.
pub(super) fn is_generated_id(id: &str) -> bool {
    let parts: Vec<&str> = id.split('_').collect();
    let number = parts.last().copied().unwrap_or_default();
    parts.len() > 2 && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// An object without some of its fields.
pub(super) fn without(map: &Map, keys: &[&str]) -> Map {
    let kept = map.iter().filter(|(key, _)| !keys.contains(&key.as_str()));
    kept.map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// The whole item of a block that is nothing else in any dialect.
pub(super) fn whole(kind: &str, block: &Block) -> Value {
    let mut map = Map::new();
    let id = block.rest.get("id").cloned();
    map.extend(id.map(|id| ("id".to_owned(), id)));
    map.insert("type".to_owned(), kind.into());
    map.extend(without(&block.rest, &[DIALECT_FIELDS, "id"]));
    Value::Object(map)
}
