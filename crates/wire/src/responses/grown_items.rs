//! Which items of a Responses stream have grown by deltas. Some servers send nothing but the end
//! of an item, which then has all of its content; others, such as llama.cpp, send the ends of all
//! items after all content. So each item is tracked by itself.

use serde_json::Value;

use crate::fields::{JsonFields, as_whole_number};

/// The most items without an end that are tracked.
const MAX_TRACKED_ITEMS: usize = 1024;

/// The items that grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GrowingItemKind {
    Message,
    Reasoning,
    Call,
}

/// How an event names its item. Not every server sends all of it, or the same id every time.
#[derive(Debug, Clone, Copy)]
pub(super) struct ItemKey<'a> {
    id: Option<&'a str>,
    call_id: Option<&'a str>,
    index: Option<u64>,
}

impl<'a> ItemKey<'a> {
    /// The item that a delta is for.
    pub(super) fn from_delta(fields: &'a JsonFields<'_>) -> Self {
        let id = fields.peek("item_id").and_then(Value::as_str);
        ItemKey {
            id: id.filter(|id| !id.is_empty()),
            call_id: None,
            index: fields.peek("output_index").and_then(as_whole_number),
        }
    }

    /// An item that begins or ends.
    pub(super) fn from_item(item: &'a Value, index: Option<u64>) -> Self {
        let text = |key: &str| item.get(key).and_then(Value::as_str);
        ItemKey {
            id: text("id").filter(|id| !id.is_empty()),
            call_id: text("call_id").filter(|id| !id.is_empty()),
            index,
        }
    }
}

/// What deltas contained of an item that ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemGrowth {
    /// Nothing: its content comes with its end.
    Nothing,
    /// All of it, and no other item has grown since.
    Latest,
    /// All of it, and another item has grown since.
    Earlier,
}

/// The items without an end so far.
#[derive(Debug, Default)]
pub(super) struct GrownItems {
    items: Vec<TrackedItem>,
    /// How many have started.
    started: u64,
    /// The number of the item that grew last.
    latest: u64,
}

#[derive(Debug)]
struct TrackedItem {
    number: u64,
    kind: GrowingItemKind,
    id: Option<String>,
    call_id: Option<String>,
    index: Option<u64>,
    grown: bool,
}

impl TrackedItem {
    /// Some servers name the item of a call by the id of the call.
    fn has_id(&self, key: &ItemKey<'_>) -> bool {
        let own = [&self.id, &self.call_id];
        let ids = [key.id, key.call_id].into_iter().flatten();
        ids.into_iter()
            .any(|id| own.iter().any(|own| own.as_deref() == Some(id)))
    }
}

impl GrownItems {
    /// An item begins.
    pub(super) fn begin(&mut self, kind: GrowingItemKind, key: &ItemKey<'_>) {
        if self.items.len() >= MAX_TRACKED_ITEMS {
            self.items.remove(0);
        }
        self.started += 1;
        self.items.push(TrackedItem {
            number: self.started,
            kind,
            id: key.id.map(str::to_owned),
            call_id: key.call_id.map(str::to_owned),
            index: key.index,
            grown: false,
        });
    }

    /// An item grows by a delta; returns whether it is the first one.
    pub(super) fn grow(&mut self, kind: GrowingItemKind, key: &ItemKey<'_>) -> bool {
        if self.find(kind, key).is_none() {
            self.begin(kind, key);
        }
        let at = self.find(kind, key);
        let Some(item) = at.and_then(|at| self.items.get_mut(at)) else {
            return true;
        };
        self.latest = item.number;
        !std::mem::replace(&mut item.grown, true)
    }

    /// An item ends.
    pub(super) fn end(&mut self, kind: GrowingItemKind, key: &ItemKey<'_>) -> ItemGrowth {
        let Some(at) = self.find(kind, key) else {
            return ItemGrowth::Nothing;
        };
        let item = self.items.remove(at);
        match (item.grown, item.number == self.latest) {
            (false, _) => ItemGrowth::Nothing,
            (true, true) => ItemGrowth::Latest,
            (true, false) => ItemGrowth::Earlier,
        }
    }

    /// The item of a key: by its id, else by its index. Without both it is the last one of its
    /// kind.
    fn find(&self, kind: GrowingItemKind, key: &ItemKey<'_>) -> Option<usize> {
        let last = |fits: &dyn Fn(&TrackedItem) -> bool| {
            let fits = |item: &TrackedItem| item.kind == kind && fits(item);
            self.items.iter().rposition(fits)
        };
        last(&|item| item.has_id(key))
            .or_else(|| last(&|item| key.index.is_some() && item.index == key.index))
            .or_else(|| last(&|item| key.index.is_none() || item.index.is_none()))
    }
}

#[cfg(test)]
mod tests {
    use super::GrowingItemKind::{Call, Message, Reasoning};
    use super::*;

    fn key(id: Option<&'static str>, index: Option<u64>) -> ItemKey<'static> {
        ItemKey {
            id,
            call_id: None,
            index,
        }
    }

    #[test]
    fn items_are_found_by_id_by_index_or_as_the_last_of_their_kind() {
        for (thought, text) in [
            (key(Some("a"), None), key(Some("b"), None)),
            (key(None, Some(0)), key(None, Some(1))),
            (key(Some("a"), Some(0)), key(Some("b"), Some(0))),
            (key(None, None), key(None, None)),
        ] {
            let mut items = GrownItems::default();
            items.begin(Reasoning, &thought);
            assert!(items.grow(Reasoning, &thought));
            assert!(!items.grow(Reasoning, &thought));
            items.begin(Message, &text);
            assert!(items.grow(Message, &text));
            assert_eq!(items.end(Reasoning, &thought), ItemGrowth::Earlier);
            assert_eq!(items.end(Message, &text), ItemGrowth::Latest);
            assert_eq!(items.end(Message, &text), ItemGrowth::Nothing);
        }
    }

    #[test]
    fn an_item_without_deltas_has_not_grown_beside_one_that_has() {
        let mut items = GrownItems::default();
        let (first, second) = (key(Some("a"), Some(0)), key(Some("b"), Some(1)));
        items.grow(Message, &first);
        assert_eq!(items.end(Message, &second), ItemGrowth::Nothing);
        items.begin(Call, &second);
        assert_eq!(items.end(Call, &second), ItemGrowth::Nothing);
        // An id that is another in every event, as some gateways send it.
        assert_eq!(
            items.end(Message, &key(Some("c"), Some(0))),
            ItemGrowth::Latest
        );
    }
}
