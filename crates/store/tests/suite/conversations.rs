//! Conversations and their items.

use std::time::Duration;

use prowess_store::{
    ConversationRecord, Error, NewConversation, NewItem, SortOrder, Store, TenantId,
};

use crate::testbed::{TestBed, on_both_databases};

on_both_databases! {
    items_are_listed_in_order_and_in_pages,
    an_item_that_is_there_is_not_added_again,
    a_conversation_is_updated_and_deleted,
    a_conversation_of_another_tenant_is_not_found,
    a_conversation_has_an_end,
    items_that_are_added_at_once_all_have_their_place,
    an_unused_conversation_is_forgotten,
    metadata_counts_for_the_size_of_a_conversation,
    metadata_that_is_counted_leaves_less_space_for_items,
    an_item_with_the_id_of_another_is_refused,
}

const DAY: Duration = Duration::from_secs(24 * 3_600);

async fn begin(bed: &TestBed, store: &Store, items: &[NewItem<'_>]) -> ConversationRecord {
    let new = NewConversation {
        id: "conv_1",
        metadata: r#"{"a":"b"}"#,
        items,
        expires_in: DAY,
    };
    store.create_conversation(&bed.tenant, &new).await.unwrap()
}

async fn add(bed: &TestBed, store: &Store, id: &str, time: Duration) {
    let items = [item(id)];
    let added = store.add_conversation_items(&bed.tenant, "conv_1", &items, time);
    added.await.unwrap();
}

fn item<'a>(id: &'a str) -> NewItem<'a> {
    NewItem { id, json: id }
}

async fn items_are_listed_in_order_and_in_pages(bed: TestBed) {
    let store = bed.open().await;
    assert_eq!(begin(&bed, &store, &[item("1"), item("2")]).await.items, 2);
    add(&bed, &store, "3", DAY).await;
    let all = store.conversation_with_items(&bed.tenant, "conv_1");
    assert_eq!(all.await.unwrap().1, ["1", "2", "3"]);
    let list = async |order, after, limit| {
        let items = store.conversation_items(&bed.tenant, "conv_1", order, after, limit);
        items.await
    };
    let up = SortOrder::Ascending;
    assert_eq!(list(up, None, 1).await.unwrap(), ["1", "2"]);
    assert_eq!(list(up, Some("2"), 5).await.unwrap(), ["3"]);
    let down = SortOrder::Descending;
    assert_eq!(list(down, None, 5).await.unwrap(), ["3", "2", "1"]);
    assert_eq!(list(down, Some("2"), 5).await.unwrap(), ["1"]);
    let unknown = list(down, Some("9"), 5).await.unwrap_err();
    assert_eq!(unknown.code(), "value-invalid");

    let deleted = store.delete_conversation_item(&bed.tenant, "conv_1", "2");
    deleted.await.unwrap();
    let gone = store.conversation_item(&bed.tenant, "conv_1", "2").await;
    assert_eq!(gone.unwrap_err().code(), "conversation-item-not-found");
    let again = store.delete_conversation_item(&bed.tenant, "conv_1", "2");
    assert!(again.await.is_err());
    let there = store.conversation_item(&bed.tenant, "conv_1", "3").await;
    assert_eq!(there.unwrap(), "3");
    let record = store.conversation(&bed.tenant, "conv_1").await.unwrap();
    assert_eq!(record.items, 2);
    // Later items follow the existing ones.
    add(&bed, &store, "4", DAY).await;
    assert_eq!(list(up, None, 5).await.unwrap(), ["1", "3", "4"]);
}

async fn an_item_that_is_there_is_not_added_again(bed: TestBed) {
    let store = bed.open().await;
    begin(&bed, &store, &[item("1")]).await;
    let twice = [item("1"), item("2"), item("2")];
    let added = store.add_conversation_items(&bed.tenant, "conv_1", &twice, DAY);
    added.await.unwrap();
    let all = store.conversation_with_items(&bed.tenant, "conv_1");
    assert_eq!(all.await.unwrap().1, ["1", "2"]);
    let record = store.conversation(&bed.tenant, "conv_1").await.unwrap();
    assert_eq!(record.items, 2);
}

async fn a_conversation_is_updated_and_deleted(bed: TestBed) {
    let store = bed.open().await;
    let made = begin(&bed, &store, &[item("1")]).await;
    assert_eq!(
        store.conversation(&bed.tenant, "conv_1").await.unwrap(),
        made
    );
    let updated = store.update_conversation(&bed.tenant, "conv_1", "{}").await;
    assert_eq!(updated.unwrap().metadata, "{}");
    let deleted = store.delete_conversation(&bed.tenant, "conv_1").await;
    deleted.unwrap();
    let gone = store.conversation(&bed.tenant, "conv_1").await.unwrap_err();
    assert_eq!(gone.code(), "conversation-not-found");
    for failed in [
        store.delete_conversation(&bed.tenant, "conv_1").await,
        store
            .add_conversation_items(&bed.tenant, "conv_1", &[item("2")], DAY)
            .await,
    ] {
        assert_eq!(failed.unwrap_err().code(), "conversation-not-found");
    }
    // Its items were deleted with it.
    assert_eq!(begin(&bed, &store, &[item("1")]).await.items, 1);
}

async fn a_conversation_of_another_tenant_is_not_found(bed: TestBed) {
    let store = bed.open().await;
    begin(&bed, &store, &[item("1")]).await;
    let other = TenantId::new("other").unwrap();
    store.ensure_tenant(&other, "other").await.unwrap();
    let id = "conv_1";
    let down = SortOrder::Descending;
    for failed in [
        store.conversation(&other, id).await.map(drop),
        store.update_conversation(&other, id, "{}").await.map(drop),
        store.delete_conversation(&other, id).await,
        store.conversation_with_items(&other, id).await.map(drop),
        store
            .conversation_items(&other, id, down, None, 5)
            .await
            .map(drop),
        store.conversation_item(&other, id, "1").await.map(drop),
        store.delete_conversation_item(&other, id, "1").await,
        store
            .add_conversation_items(&other, id, &[item("2")], DAY)
            .await,
    ] {
        assert_eq!(failed.unwrap_err().code(), "conversation-not-found");
    }
    let all = store.conversation_with_items(&bed.tenant, id).await;
    assert_eq!(all.unwrap().1, ["1"]);
}

async fn a_conversation_has_an_end(bed: TestBed) {
    let store = bed.open().await;
    begin(&bed, &store, &[item("1")]).await;
    let large = "x".repeat(9 << 20);
    let add = async |id| {
        let new = NewItem { id, json: &large };
        store
            .add_conversation_items(&bed.tenant, "conv_1", &[new], DAY)
            .await
    };
    add("2").await.unwrap();
    assert_eq!(add("3").await.unwrap_err().code(), "conversation-full");
    let record = store.conversation(&bed.tenant, "conv_1").await.unwrap();
    assert_eq!(record.items, 2);
    let ids: Vec<String> = (0..10_001).map(|n| format!("n{n}")).collect();
    let many: Vec<NewItem<'_>> = ids.iter().map(|id| item(id)).collect();
    let added = store.add_conversation_items(&bed.tenant, "conv_1", &many, DAY);
    assert_eq!(added.await.unwrap_err().code(), "conversation-full");
    // Deleting an item frees space.
    let deleted = store.delete_conversation_item(&bed.tenant, "conv_1", "2");
    deleted.await.unwrap();
    add("3").await.unwrap();
}

async fn items_that_are_added_at_once_all_have_their_place(bed: TestBed) {
    let store = bed.open().await;
    begin(&bed, &store, &[]).await;
    let add = async |id: &str| {
        let items = [item(id)];
        store
            .add_conversation_items(&bed.tenant, "conv_1", &items, DAY)
            .await
    };
    let (a, b, c) = tokio::join!(add("a"), add("b"), add("c"));
    for added in [a, b, c] {
        added.unwrap();
    }
    let all = store.conversation_with_items(&bed.tenant, "conv_1");
    let (_, mut all) = all.await.unwrap();
    all.sort();
    assert_eq!(all, ["a", "b", "c"]);
}

async fn an_unused_conversation_is_forgotten(bed: TestBed) {
    let store = bed.open().await;
    begin(&bed, &store, &[]).await;
    add(&bed, &store, "1", Duration::ZERO).await;
    assert!(store.conversation(&bed.tenant, "conv_1").await.is_err());
    store.collect_garbage(Duration::ZERO).await.unwrap();
    // Its id can be used again.
    begin(&bed, &store, &[]).await;
}

async fn metadata_counts_for_the_size_of_a_conversation(bed: TestBed) {
    let store = bed.open().await;
    let made = begin(&bed, &store, &[item("12345")]).await;
    assert_eq!(made.size, 1_024 + 9 + 5);
    let size = async || {
        let record = store.conversation(&bed.tenant, "conv_1").await;
        record.unwrap().size
    };
    assert_eq!(size().await, made.size);
    // Bytes, not characters; and the previous metadata no longer counts.
    for metadata in [r#"{"a":"äöü"}"#.repeat(100), "{}".to_owned()] {
        let updated = store.update_conversation(&bed.tenant, "conv_1", &metadata);
        let expected = 1_024 + metadata.len() as u64 + 5;
        assert_eq!(updated.await.unwrap().size, expected);
        assert_eq!(size().await, expected);
    }
    add(&bed, &store, "678", DAY).await;
    assert_eq!(size().await, 1_024 + 2 + 5 + 3);
}

async fn metadata_that_is_counted_leaves_less_space_for_items(bed: TestBed) {
    let store = bed.open().await;
    let large = "x".repeat(16 << 20);
    let items = [NewItem {
        id: "1",
        json: &large,
    }];
    let new = NewConversation {
        id: "conv_1",
        metadata: "{}",
        items: &items,
        expires_in: DAY,
    };
    let full = store.create_conversation(&bed.tenant, &new).await;
    assert_eq!(full.unwrap_err().code(), "conversation-full");
    assert!(store.conversation(&bed.tenant, "conv_1").await.is_err());
}

async fn an_item_with_the_id_of_another_is_refused(bed: TestBed) {
    let store = bed.open().await;
    let item = |id, item| NewItem { id, json: item };
    begin(&bed, &store, &[item("a", r#"{"x":1,"y":2}"#)]).await;
    let add = async |items: &[NewItem<'_>]| {
        let added = store.add_conversation_items(&bed.tenant, "conv_1", items, DAY);
        match added.await {
            Ok(()) => Vec::new(),
            Err(Error::ItemIdsTaken { indexes, .. }) => indexes,
            Err(error) => panic!("{error}"),
        }
    };
    let others = [
        item("b", "1"),
        item("a", r#"{"x":1}"#),
        item("b", "1"),
        item("b", "2"),
    ];
    assert_eq!(add(&others).await, [1, 3]);
    // Then none is added.
    let all = store.conversation_with_items(&bed.tenant, "conv_1");
    let (record, all) = all.await.unwrap();
    assert_eq!((record.items, all.len()), (1, 1));
    // The same fields in another order are the same item.
    let same = [item("a", r#"{"y":2, "x":1}"#), item("b", "1")];
    assert!(add(&same).await.is_empty());
    let all = store.conversation_with_items(&bed.tenant, "conv_1");
    assert_eq!(all.await.unwrap().1, [r#"{"x":1,"y":2}"#, "1"]);
    let twice = NewConversation {
        id: "conv_2",
        metadata: "{}",
        items: &[item("a", "1"), item("a", "2")],
        expires_in: DAY,
    };
    let refused = store.create_conversation(&bed.tenant, &twice).await;
    assert_eq!(refused.unwrap_err().code(), "item-id-taken");
}
