//! Items of stored responses, by id.

use std::collections::BTreeSet;
use std::time::Duration;

use prowess_store::{NewConversation, NewItem, NewResponse, TenantId};

use crate::testbed::{TestBed, on_both_databases};

on_both_databases! {
    an_item_is_found_by_its_id_and_only_by_its_tenant,
    items_go_with_their_answer,
    an_answer_that_is_stored_again_has_its_new_items,
    items_of_conversations_are_found_too,
    many_items_are_found_at_once,
}

fn answer<'a>(id: &'a str, items: &'a [NewItem<'a>], seconds: u64) -> NewResponse<'a> {
    NewResponse {
        id,
        conversation: "[]",
        response: "{}",
        items,
        expires_in: Duration::from_secs(seconds),
    }
}

const ITEM: NewItem<'static> = NewItem {
    id: "msg_1",
    json: r#"{"n":1}"#,
};

async fn an_item_is_found_by_its_id_and_only_by_its_tenant(bed: TestBed) {
    let store = bed.open().await;
    let new = answer("resp_1", &[ITEM], 60);
    store.save_response(&bed.tenant, &new).await.unwrap();
    let other = TenantId::new("other").unwrap();
    store.ensure_tenant(&other, "other").await.unwrap();
    let ids = BTreeSet::from(["msg_1", "msg_2"]);
    let sizes = store.item_sizes(&bed.tenant, &ids).await.unwrap();
    assert_eq!(
        sizes.into_iter().collect::<Vec<_>>(),
        [("msg_1".to_owned(), 7)]
    );
    let found = store.items(&bed.tenant, &ids).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found["msg_1"], ITEM.json);
    assert!(store.items(&other, &ids).await.unwrap().is_empty());
    assert!(store.item_sizes(&other, &ids).await.unwrap().is_empty());
}

async fn items_go_with_their_answer(bed: TestBed) {
    let store = bed.open().await;
    let ids = BTreeSet::from(["msg_1"]);
    let new = answer("resp_1", &[ITEM], 60);
    store.save_response(&bed.tenant, &new).await.unwrap();
    store.delete_response(&bed.tenant, "resp_1").await.unwrap();
    assert!(store.items(&bed.tenant, &ids).await.unwrap().is_empty());
    // An item of an expired response is not found, even before it is collected.
    let new = answer("resp_1", &[ITEM], 0);
    store.save_response(&bed.tenant, &new).await.unwrap();
    assert!(store.items(&bed.tenant, &ids).await.unwrap().is_empty());
    store.collect_garbage(Duration::ZERO).await.unwrap();
    let new = answer("resp_1", &[], 60);
    store.save_response(&bed.tenant, &new).await.unwrap();
    assert!(store.items(&bed.tenant, &ids).await.unwrap().is_empty());
}

async fn an_answer_that_is_stored_again_has_its_new_items(bed: TestBed) {
    let store = bed.open().await;
    let other = NewItem {
        id: "msg_2",
        json: "{}",
    };
    for items in [[ITEM], [other]] {
        let new = answer("resp_1", &items, 60);
        store.save_response(&bed.tenant, &new).await.unwrap();
    }
    let ids = BTreeSet::from(["msg_1", "msg_2"]);
    let found = store.items(&bed.tenant, &ids).await.unwrap();
    assert_eq!(found.into_keys().collect::<Vec<_>>(), ["msg_2"]);
}

async fn items_of_conversations_are_found_too(bed: TestBed) {
    let store = bed.open().await;
    let new = NewConversation {
        id: "conv_1",
        metadata: "{}",
        items: &[ITEM],
        expires_in: Duration::from_secs(60),
    };
    store.create_conversation(&bed.tenant, &new).await.unwrap();
    let ids = BTreeSet::from(["msg_1"]);
    let found = store.items(&bed.tenant, &ids).await.unwrap();
    assert_eq!(found["msg_1"], ITEM.json);
}

async fn many_items_are_found_at_once(bed: TestBed) {
    let store = bed.open().await;
    let ids: Vec<String> = (0..450).map(|n| format!("msg_{n}")).collect();
    let items: Vec<NewItem<'_>> = ids.iter().map(|id| NewItem { id, json: "{}" }).collect();
    let new = answer("resp_1", &items, 60);
    store.save_response(&bed.tenant, &new).await.unwrap();
    let ids: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
    assert_eq!(store.items(&bed.tenant, &ids).await.unwrap().len(), 450);
}
