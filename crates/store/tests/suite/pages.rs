//! Pagination.

use prowess_store::{
    NewSkill, PageCursor, PagePosition, PageRequest, SkillDeleteRule, SkillFilter, SkillSource,
    SortOrder, Store,
};

use crate::testbed::{TestBed, on_both_databases, skill};

on_both_databases! {
    every_skill_is_on_exactly_one_page_in_either_order,
    pages_survive_insertions_and_deletions,
    a_page_can_be_requested_backwards,
    a_list_is_filtered_by_name_and_source,
    versions_come_in_pages_too,
    a_limit_outside_its_bounds_is_moved_inside,
}

async fn ids(bed: &TestBed, store: &Store, count: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for at in 0..count {
        ids.push(bed.create(store, &format!("skill-{at}")).await.skill.id);
    }
    ids
}

fn request(limit: u32, order: SortOrder, from: PagePosition) -> PageRequest {
    PageRequest { limit, order, from }
}

async fn page(
    bed: &TestBed,
    store: &Store,
    request: &PageRequest,
) -> (Vec<String>, Option<PageCursor>) {
    let filter = SkillFilter::default();
    let page = store
        .list_skills(&bed.tenant, &filter, request)
        .await
        .unwrap();
    let next = page
        .next
        .as_ref()
        .map(|next| PageCursor::decode(&next.encode()).unwrap());
    (page.items.into_iter().map(|skill| skill.id).collect(), next)
}

/// All pages from the first to the last.
async fn walk(bed: &TestBed, store: &Store, limit: u32, order: SortOrder) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut from = PagePosition::Start;
    loop {
        let (items, next) = page(bed, store, &request(limit, order, from)).await;
        pages.push(items);
        match next {
            Some(next) => from = PagePosition::After(next),
            None => return pages,
        }
    }
}

async fn every_skill_is_on_exactly_one_page_in_either_order(bed: TestBed) {
    let store = bed.open().await;
    let mut ids = ids(&bed, &store, 7).await;
    for limit in [1, 3, 7, 20] {
        let pages = walk(&bed, &store, limit, SortOrder::Ascending).await;
        assert_eq!(pages.len(), 7_usize.div_ceil(limit as usize));
        assert_eq!(pages.concat(), ids);
    }
    ids.reverse();
    assert_eq!(
        walk(&bed, &store, 2, SortOrder::Descending).await.concat(),
        ids
    );
}

async fn pages_survive_insertions_and_deletions(bed: TestBed) {
    let store = bed.open().await;
    let ids = ids(&bed, &store, 6).await;
    let (first, next) = page(
        &bed,
        &store,
        &request(3, SortOrder::Descending, PagePosition::Start),
    )
    .await;
    assert_eq!(first, [&*ids[5], &ids[4], &ids[3]]);
    // The item of the cursor is deleted, and a new one is added at the start.
    for id in [&ids[3], &ids[1]] {
        store
            .delete_skill(&bed.tenant, id, SkillDeleteRule::Cascade)
            .await
            .unwrap();
    }
    bed.create(&store, "new").await;
    let from = PagePosition::After(next.unwrap());
    let (second, next) = page(&bed, &store, &request(3, SortOrder::Descending, from)).await;
    assert_eq!(second, [&*ids[2], &ids[0]]);
    assert_eq!(next, None);
}

async fn a_page_can_be_requested_backwards(bed: TestBed) {
    let store = bed.open().await;
    let ids = ids(&bed, &store, 5).await;
    let before = |id: &str| PagePosition::Before(PageCursor::from_id(id));
    let (items, next) = page(
        &bed,
        &store,
        &request(2, SortOrder::Descending, before(&ids[1])),
    )
    .await;
    assert_eq!(items, [&*ids[3], &ids[2]]);
    assert!(next.is_some());
    let (items, next) = page(
        &bed,
        &store,
        &request(2, SortOrder::Ascending, before(&ids[2])),
    )
    .await;
    assert_eq!(items, [&*ids[0], &ids[1]]);
    assert_eq!(next, None);
}

async fn a_list_is_filtered_by_name_and_source(bed: TestBed) {
    let store = bed.open().await;
    bed.create(&store, "one").await;
    let two = bed.create(&store, "two").await.skill.id;
    let upload = skill("two", "theirs");
    let new = NewSkill {
        source: SkillSource::Anthropic,
        ..NewSkill::from_skill(&upload)
    };
    let theirs = store
        .create_skill(&bed.tenant, &new)
        .await
        .unwrap()
        .skill
        .id;
    let list = async |name: Option<&str>, source| {
        let name = name.map(str::to_owned);
        let filter = SkillFilter {
            name,
            source,
            ..SkillFilter::default()
        };
        let page = store
            .list_skills(&bed.tenant, &filter, &PageRequest::default())
            .await;
        let ids = page.unwrap().items.into_iter().map(|skill| skill.id);
        ids.collect::<Vec<_>>()
    };
    assert_eq!(list(Some("two"), None).await, [&*theirs, &two]);
    assert_eq!(list(None, Some(SkillSource::Anthropic)).await, [&*theirs]);
    assert_eq!(list(Some("two"), Some(SkillSource::Custom)).await, [&*two]);
    assert!(list(Some("three"), None).await.is_empty());
}

async fn versions_come_in_pages_too(bed: TestBed) {
    let store = bed.open().await;
    let id = bed.create(&store, "one").await.skill.id;
    for text in ["second", "third", "fourth"] {
        bed.update(&store, &id, text).await;
    }
    let ordinals = async |request: &PageRequest| {
        let page = store
            .list_versions(&bed.tenant, &id, request)
            .await
            .unwrap();
        let ordinals: Vec<_> = page.items.iter().map(|version| version.ordinal).collect();
        (ordinals, page.next)
    };
    let (newest, next) = ordinals(&request(3, SortOrder::Descending, PagePosition::Start)).await;
    assert_eq!(newest, [4, 3, 2]);
    let from = PagePosition::After(next.unwrap());
    let (rest, next) = ordinals(&request(3, SortOrder::Descending, from)).await;
    assert_eq!((rest, next), (vec![1], None));
    let (oldest, _) = ordinals(&request(2, SortOrder::Ascending, PagePosition::Start)).await;
    assert_eq!(oldest, [1, 2]);
}

async fn a_limit_outside_its_bounds_is_moved_inside(bed: TestBed) {
    let store = bed.open().await;
    ids(&bed, &store, 3).await;
    for (limit, expected) in [(0, 1), (u32::MAX, 3)] {
        let (items, _) = page(
            &bed,
            &store,
            &request(limit, SortOrder::Ascending, PagePosition::Start),
        )
        .await;
        assert_eq!(items.len(), expected);
    }
}
