//! Unreferenced content is collected; referenced content stays, whatever happens.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{future, stream};
use prowess_skill::Skill;
use prowess_store::{
    GarbageReport, NewFile, NewSkill, NewVersion, SkillDeleteRule, Store, VersionDeleteRule,
    VersionSelector,
};

use crate::testbed::{TestBed, described, on_both_databases};

on_both_databases! {
    what_is_referred_to_stays,
    what_was_deleted_goes_after_the_grace_period,
    content_shared_by_a_file_and_a_skill_goes_with_the_last_of_them,
    uploads_that_race_with_the_collector_end_up_whole,
}

fn sample(name: &str, seed: u8) -> Skill {
    let (small, large) = (vec![seed; 100], vec![seed; 3_000]);
    let files: &[(&str, &[u8], bool)] = &[("small", &small, false), ("large", &large, false)];
    described(name, "Some files.", "x", files)
}

async fn collect(store: &Store) -> GarbageReport {
    store.collect_garbage(Duration::ZERO).await.unwrap()
}

async fn what_is_referred_to_stays(bed: TestBed) {
    let store = bed.open().await;
    let skill = sample("one", 1);
    let made = store
        .create_skill(&bed.tenant, &NewSkill::from_skill(&skill))
        .await
        .unwrap();
    assert_eq!(collect(&store).await, GarbageReport::default());
    bed.assert_intact(&made.skill.id, &made.version.id, &skill)
        .await;
}

async fn what_was_deleted_goes_after_the_grace_period(bed: TestBed) {
    let store = bed.open().await;
    let (old, new) = (sample("one", 1), sample("one", 2));
    let made = store
        .create_skill(&bed.tenant, &NewSkill::from_skill(&old))
        .await
        .unwrap();
    let id = &made.skill.id;
    let kept = store
        .create_version(&bed.tenant, id, &NewVersion::from_skill(&new))
        .await
        .unwrap();
    let first = VersionSelector::Ordinal(1);
    let rule = VersionDeleteRule::ANTHROPIC;
    store
        .delete_version(&bed.tenant, id, &first, rule)
        .await
        .unwrap();
    let waiting = store
        .collect_garbage(Duration::from_secs(3_600))
        .await
        .unwrap();
    assert_eq!(waiting, GarbageReport::default());
    // Both versions have the same SKILL.md; the other two files are collected.
    let collected = collect(&store).await;
    assert_eq!((collected.blobs, collected.bytes), (2, 3_100));
    assert_eq!(bed.objects(), 1);
    bed.assert_intact(id, &kept.version.id, &new).await;
    store
        .delete_skill(&bed.tenant, id, SkillDeleteRule::Cascade)
        .await
        .unwrap();
    assert_eq!(collect(&store).await.blobs, 3);
    assert_eq!(bed.objects(), 0);
}

async fn content_shared_by_a_file_and_a_skill_goes_with_the_last_of_them(bed: TestBed) {
    let store = bed.open().await;
    let skill = sample("one", 1);
    let made = store
        .create_skill(&bed.tenant, &NewSkill::from_skill(&skill))
        .await
        .unwrap();
    let new = NewFile {
        name: "large",
        mime: "application/octet-stream",
        purpose: "user_data",
        scope: None,
        downloadable: true,
        expires_in: None,
        limit: 10_000,
    };
    let content = stream::iter([Ok(Bytes::from(vec![1; 3_000]))]);
    let file = store.create_file(&bed.tenant, &new, content).await.unwrap();
    // The second copy, which was written before its digest was known, is collected first.
    collect(&store).await;
    assert_eq!(bed.objects(), 1);
    let id = &made.skill.id;
    store
        .delete_skill(&bed.tenant, id, SkillDeleteRule::Cascade)
        .await
        .unwrap();
    collect(&store).await;
    let (_, content) = store.read_file(&bed.tenant, &file.id).await.unwrap();
    assert_eq!(content.collect().await.unwrap(), vec![1; 3_000]);
    store.delete_file(&bed.tenant, &file.id).await.unwrap();
    collect(&store).await;
    assert_eq!(bed.objects(), 0);
}

/// Uploads and deletions of the same few contents, and collectors without a grace period,
/// all concurrently and through several handles: the hardest case.
async fn uploads_that_race_with_the_collector_end_up_whole(bed: TestBed) {
    let stores = future::join_all((0..3).map(|_| bed.open())).await;
    let done = AtomicBool::new(false);
    let collectors = stores.iter().take(2).map(|store| {
        let done = &done;
        async move {
            while !done.load(Ordering::Acquire) {
                collect(store).await;
                tokio::task::yield_now().await;
            }
        }
    });
    let writers = future::join_all(stores.iter().enumerate().map(|(at, store)| {
        let bed = &bed;
        async move { write_and_delete(bed, store, at).await }
    }));
    let writers = async {
        let kept = writers.await;
        done.store(true, Ordering::Release);
        kept
    };
    let (kept, _) = future::join(writers, future::join_all(collectors)).await;
    let kept = kept.concat();
    assert!(!kept.is_empty());
    for (id, version, skill) in &kept {
        bed.assert_intact(id, version, skill).await;
    }
    for (id, ..) in &kept {
        let gone = stores[0].delete_skill(&bed.tenant, id, SkillDeleteRule::Cascade);
        gone.await.unwrap();
    }
    collect(&stores[0]).await;
    assert_eq!(bed.objects(), 0);
    assert_eq!(collect(&stores[0]).await, GarbageReport::default());
}

/// Every third skill is kept. An upload may give up when the collector keeps winning; it
/// must never succeed and be incomplete.
async fn write_and_delete(
    bed: &TestBed,
    store: &Store,
    writer: usize,
) -> Vec<(String, String, Skill)> {
    let mut kept = Vec::new();
    for round in 0..12 {
        let skill = sample("shared", (round % 4) as u8);
        let made = match store
            .create_skill(&bed.tenant, &NewSkill::from_skill(&skill))
            .await
        {
            Ok(made) => made,
            Err(error) if error.code() == "store-busy" => continue,
            Err(error) => panic!("{error}"),
        };
        if (round + writer).is_multiple_of(3) {
            kept.push((made.skill.id, made.version.id, skill));
        } else {
            let gone = store.delete_skill(&bed.tenant, &made.skill.id, SkillDeleteRule::Cascade);
            gone.await.unwrap();
        }
    }
    kept
}
