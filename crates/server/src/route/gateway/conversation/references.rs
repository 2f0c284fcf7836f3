//! Input items that only name another: `{"type": "item_reference", "id": "msg_…"}`, or the id
//! alone. They are replaced by the items stored here under their ids.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::fmt;

use memchr::memmem;
use prowess_store::{Store, TenantId};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::{MAX_HISTORY_BYTES, errors};
use crate::error::HttpError;
use crate::route::gateway::error::GatewayError;
use crate::route::gateway::request_memory::RequestMemory;

/// References in one request.
const MAX_REFERENCES: usize = 2_000;

/// The references in an input: index and id. The input is parsed only if any item has an id.
pub(super) fn find_references(input: Option<&str>) -> Vec<(usize, String)> {
    let Some(input) = input.filter(|input| memmem::find(input.as_bytes(), b"\"id\"").is_some())
    else {
        return Vec::new();
    };
    // Errors are reported when the whole input is read.
    let found: Result<References, _> = serde_json::from_str(input);
    found.map(|found| found.0).unwrap_or_default()
}

/// The stored items among the references, by id. They are counted.
pub(super) async fn look_up(
    store: &Store,
    tenant: &TenantId,
    references: &[(usize, String)],
    memory: &mut RequestMemory<'_>,
) -> Result<HashMap<String, Value>, GatewayError> {
    if references.is_empty() {
        return Ok(HashMap::new());
    }
    if references.len() > MAX_REFERENCES {
        return Err(errors::too_many_references(MAX_REFERENCES));
    }
    let ids: BTreeSet<&str> = references.iter().map(|(_, id)| id.as_str()).collect();
    // The store rejects ids with a NUL.
    let ids: BTreeSet<&str> = ids.into_iter().filter(|id| !id.contains('\0')).collect();
    let sizes = store.item_sizes(tenant, &ids).await.map_err(store_error)?;
    let sizes = references.iter().filter_map(|(_, id)| sizes.get(id));
    let bytes = sizes.fold(0_u64, |sum, size| sum.saturating_add(*size));
    if bytes > MAX_HISTORY_BYTES as u64 {
        return Err(errors::too_long());
    }
    let items = store.items(tenant, &ids).await.map_err(store_error)?;
    // Each reference is replaced by an item of its own.
    let found = references.iter().filter_map(|(_, id)| items.get(id));
    memory.count(found.map(String::as_str)).await?;
    let read = |(id, item): (String, String)| Ok((id, serde_json::from_str(&item)?));
    let items: Result<_, serde_json::Error> = items.into_iter().map(read).collect();
    items.map_err(|error| errors::malformed_record(&error))
}

fn store_error(error: prowess_store::Error) -> GatewayError {
    HttpError::from(error).into()
}

/// The references of an input.
struct References(Vec<(usize, String)>);

impl<'de> Deserialize<'de> for References {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items;
        impl<'de> Visitor<'de> for Items {
            type Value = References;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of items")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<References, A::Error> {
                let (mut found, mut index) = (Vec::new(), 0);
                while let Some(Reference(id)) = items.next_element()? {
                    // Those beyond the limit are counted, to be rejected.
                    if let Some(id) = id.filter(|_| found.len() <= MAX_REFERENCES) {
                        found.push((index, id.into_owned()));
                    }
                    index += 1;
                }
                Ok(References(found))
            }
        }
        deserializer.deserialize_seq(Items)
    }
}

/// The id that an item refers to, if it contains nothing else.
struct Reference<'a>(Option<Cow<'a, str>>);

impl<'de: 'a, 'a> Deserialize<'de> for Reference<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Item;
        impl<'de> Visitor<'de> for Item {
            type Value = Reference<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an item")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let (mut id, mut kind, mut more) = (None, None, false);
                while let Some(Text(key)) = map.next_key()? {
                    match &*key {
                        "id" => id = map.next_value::<MaybeText<'de>>()?.0,
                        "type" => kind = Some(map.next_value::<MaybeText<'de>>()?.0),
                        _ => {
                            more = true;
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                let refers = match kind {
                    Some(Some(kind)) => kind == "item_reference",
                    // `type: null`, or missing.
                    Some(None) | None => !more,
                };
                Ok(Reference(id.filter(|_| refers)))
            }
        }
        deserializer.deserialize_map(Item)
    }
}

#[derive(serde::Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// A string; none for any other value.
struct MaybeText<'a>(Option<Cow<'a, str>>);

impl<'de: 'a, 'a> Deserialize<'de> for MaybeText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value: &'de serde_json::value::RawValue = Deserialize::deserialize(deserializer)?;
        let text: Option<Text<'de>> = serde_json::from_str(value.get()).ok();
        Ok(MaybeText(text.map(|Text(text)| text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(input: &str) -> Vec<(usize, String)> {
        find_references(Some(input))
    }

    #[test]
    fn references_are_found_by_their_type_and_as_ids_alone() {
        let input = r#"[
            {"role": "user", "content": "hi"},
            {"type": "item_reference", "id": "msg_1"},
            {"id": "fc_2"},
            {"id": "fc\u005f3", "type": null},
            {"id": "msg_4", "role": "user", "content": "hi"},
            {"id": "rs_5", "type": "reasoning"},
            {"type": "message", "content": [{"id": "x"}], "role": "user"}
        ]"#;
        let expected = [(1, "msg_1"), (2, "fc_2"), (3, "fc_3")];
        assert_eq!(found(input), expected.map(|(at, id)| (at, id.to_owned())));
    }

    #[test]
    fn what_is_no_list_of_items_has_no_references() {
        for input in [r#""id""#, r#"{"id":"x"}"#, r#"[1,{"id":"x"}]"#, r#"["id"]"#] {
            assert!(found(input).is_empty(), "{input}");
        }
        assert!(find_references(None).is_empty());
    }

    #[test]
    fn more_references_than_there_may_be_are_noticed() {
        let many = vec![r#"{"id":"x"}"#; MAX_REFERENCES + 9].join(",");
        assert_eq!(found(&format!("[{many}]")).len(), MAX_REFERENCES + 1);
    }
}
