//! Stored chat completions.

use std::collections::BTreeMap;
use std::time::Duration;

use prowess_store::{ChatFilter, NewChat, SortOrder, Store, TenantId};

use crate::testbed::{TestBed, on_both_databases};

on_both_databases! {
    chats_are_listed_by_model_and_metadata_in_pages,
    a_chat_is_updated_and_deleted,
    a_chat_of_another_tenant_is_not_found,
    a_chat_is_kept_until_its_time_is_over,
    metadata_counts_for_the_size_of_a_chat,
    a_page_of_large_chats_has_fewer_of_them,
}

fn notes(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    pairs.iter().map(own).collect()
}

async fn save(bed: &TestBed, store: &Store, id: &str, model: &str, seconds: u64) {
    let metadata = notes(&[("n", id), ("all", "yes")]);
    let new = NewChat {
        id,
        model,
        metadata: &metadata,
        messages: "[]",
        completion: id,
        expires_in: Duration::from_secs(seconds),
    };
    store.save_chat(&bed.tenant, &new).await.unwrap();
}

async fn listed(bed: &TestBed, store: &Store, filter: ChatFilter) -> Vec<String> {
    let page = store.list_chats(&bed.tenant, &filter).await.unwrap();
    page.chats.into_iter().map(|chat| chat.completion).collect()
}

fn five() -> ChatFilter {
    ChatFilter {
        limit: 5,
        order: SortOrder::Ascending,
        ..ChatFilter::default()
    }
}

async fn chats_are_listed_by_model_and_metadata_in_pages(bed: TestBed) {
    let store = bed.open().await;
    for (id, model) in [("1", "m1"), ("2", "m2"), ("3", "m1")] {
        save(&bed, &store, id, model, 60).await;
    }
    assert_eq!(listed(&bed, &store, five()).await, ["1", "2", "3"]);
    let newest = ChatFilter {
        order: SortOrder::Descending,
        limit: 1,
        ..five()
    };
    assert_eq!(listed(&bed, &store, newest.clone()).await, ["3"]);
    let page = store.list_chats(&bed.tenant, &newest).await.unwrap();
    assert!(page.has_more);
    let page = store.list_chats(&bed.tenant, &five()).await.unwrap();
    assert!(!page.has_more);
    let after = |id: &str, filter: ChatFilter| ChatFilter {
        after: Some(id.to_owned()),
        ..filter
    };
    assert_eq!(listed(&bed, &store, after("3", newest)).await, ["2"]);
    assert_eq!(listed(&bed, &store, after("1", five())).await, ["2", "3"]);
    let of_model = ChatFilter {
        model: Some("m1".to_owned()),
        ..five()
    };
    assert_eq!(listed(&bed, &store, of_model).await, ["1", "3"]);
    let noted = |pairs: &[(&str, &str)]| ChatFilter {
        metadata: notes(pairs),
        ..five()
    };
    let both = noted(&[("n", "2"), ("all", "yes")]);
    assert_eq!(listed(&bed, &store, both).await, ["2"]);
    let neither = noted(&[("n", "2"), ("all", "no")]);
    assert!(listed(&bed, &store, neither).await.is_empty());
    let unknown = store.list_chats(&bed.tenant, &after("9", five())).await;
    assert_eq!(unknown.unwrap_err().code(), "value-invalid");
}

async fn a_chat_is_updated_and_deleted(bed: TestBed) {
    let store = bed.open().await;
    save(&bed, &store, "1", "m1", 60).await;
    let metadata = notes(&[("new", "note")]);
    let updated = store.update_chat(&bed.tenant, "1", &metadata).await;
    assert_eq!(updated.unwrap().metadata, metadata);
    let kept = store.chat(&bed.tenant, "1").await.unwrap();
    assert_eq!((kept.id.as_str(), &kept.metadata), ("1", &metadata));
    let messages = store.chat_messages(&bed.tenant, "1").await.unwrap();
    assert_eq!(messages, "[]");
    store.delete_chat(&bed.tenant, "1").await.unwrap();
    let gone = store.chat(&bed.tenant, "1").await.unwrap_err();
    assert_eq!(gone.code(), "chat-completion-not-found");
    assert!(store.delete_chat(&bed.tenant, "1").await.is_err());
}

async fn a_chat_of_another_tenant_is_not_found(bed: TestBed) {
    let store = bed.open().await;
    save(&bed, &store, "1", "m1", 60).await;
    let other = TenantId::new("other").unwrap();
    store.ensure_tenant(&other, "other").await.unwrap();
    for failed in [
        store.chat(&other, "1").await.map(drop),
        store.chat_messages(&other, "1").await.map(drop),
        store.update_chat(&other, "1", &notes(&[])).await.map(drop),
        store.delete_chat(&other, "1").await,
    ] {
        assert_eq!(failed.unwrap_err().code(), "chat-completion-not-found");
    }
    assert!(
        store
            .list_chats(&other, &five())
            .await
            .unwrap()
            .chats
            .is_empty()
    );
    assert!(store.chat(&bed.tenant, "1").await.is_ok());
}

async fn a_chat_is_kept_until_its_time_is_over(bed: TestBed) {
    let store = bed.open().await;
    save(&bed, &store, "1", "m1", 0).await;
    assert!(store.chat(&bed.tenant, "1").await.is_err());
    assert!(listed(&bed, &store, five()).await.is_empty());
    store.collect_garbage(Duration::ZERO).await.unwrap();
    save(&bed, &store, "1", "m2", 60).await;
    assert!(store.chat(&bed.tenant, "1").await.is_ok());
}

async fn metadata_counts_for_the_size_of_a_chat(bed: TestBed) {
    let store = bed.open().await;
    save(&bed, &store, "1", "m1", 60).await;
    // Its id, model, messages and completion.
    let bare = 1_024 + 1 + 2 + 2 + 1;
    let size = async || store.chat(&bed.tenant, "1").await.unwrap().size;
    assert_eq!(size().await, bare + 256 + 2 + 256 + 6);
    for (value, counted) in [("ä".repeat(500), 1_000), (String::new(), 0)] {
        let metadata = notes(&[("key", &value)]);
        let updated = store.update_chat(&bed.tenant, "1", &metadata).await;
        let expected = bare + 256 + 3 + counted;
        assert_eq!(updated.unwrap().size, expected);
        assert_eq!(size().await, expected);
    }
    let updated = store.update_chat(&bed.tenant, "1", &notes(&[])).await;
    assert_eq!(updated.unwrap().size, bare);
    // One that is stored again counts once.
    save(&bed, &store, "1", "m1", 60).await;
    assert_eq!(size().await, bare + 256 + 2 + 256 + 6);
}

async fn a_page_of_large_chats_has_fewer_of_them(bed: TestBed) {
    let store = bed.open().await;
    let metadata = notes(&[("n", "yes")]);
    for (id, bytes) in [("1", 7 << 20), ("2", 7 << 20), ("3", 18 << 20), ("4", 5)] {
        let new = NewChat {
            id,
            model: "m1",
            metadata: &metadata,
            messages: "[]",
            completion: &"x".repeat(bytes),
            expires_in: Duration::from_secs(60),
        };
        store.save_chat(&bed.tenant, &new).await.unwrap();
    }
    let mut filter = five();
    for (ids, has_more) in [
        (&["1", "2"][..], true),
        // A single one is listed, however large.
        (&["3"], true),
        (&["4"], false),
    ] {
        let page = store.list_chats(&bed.tenant, &filter).await.unwrap();
        let found: Vec<&str> = page.chats.iter().map(|chat| chat.id.as_str()).collect();
        assert_eq!((found.as_slice(), page.has_more), (ids, has_more));
        assert!(page.chats.iter().all(|chat| chat.metadata == metadata));
        filter.after = page.chats.last().map(|chat| chat.id.clone());
    }
}
