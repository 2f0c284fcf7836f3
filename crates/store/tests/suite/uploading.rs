//! New skills and new versions.

use std::collections::HashSet;

use proptest::prelude::*;
use prowess_store::{
    Database, Error, NewSkill, NewVersion, PageRequest, ScanRecord, SkillFilter, SkillSource,
    SortOrder, TenantId, UnchangedRule, UploadOutcome, VersionSelector,
};

use crate::testbed::{TestBed, described, on_both_databases, run, skill};

on_both_databases! {
    a_skill_reads_back_as_it_was_uploaded,
    what_was_read_at_upload_is_there_without_files,
    a_new_version_must_bear_the_name_of_its_skill,
    a_new_version_of_an_unknown_skill_is_not_found,
    unchanged_content_can_keep_the_latest_version,
    a_repeated_request_is_answered_and_not_done_again,
    the_same_request_many_times_at_once_makes_one_version,
    titles_can_be_required_to_be_unique,
    of_many_equal_titles_at_once_one_wins,
    an_unknown_tenant_cannot_own_a_skill,
    text_with_nul_is_refused_and_leaves_nothing,
    content_that_is_stored_already_is_not_written_again,
    uploads_of_shared_content_at_once_all_succeed,
    a_large_skill_goes_in_and_out,
}

async fn a_skill_reads_back_as_it_was_uploaded(bed: TestBed) {
    let store = bed.open().await;
    let large = vec![7; 5_000];
    let files: &[(&str, &[u8], bool)] = &[
        ("scripts/run.sh", b"#!/bin/sh\n", true),
        ("copy-of-run.txt", b"#!/bin/sh\n", false),
        ("data/large.bin", &large, false),
        ("data/empty", b"", false),
    ];
    let skill = described("report", "Writes reports.", "Body.", files);
    let new = NewSkill {
        title: Some("Quarterly report"),
        source: SkillSource::Plugin,
        ..NewSkill::from_skill(&skill)
    };
    let uploaded = store.create_skill(&bed.tenant, &new).await.unwrap();
    let (record, version) = (&uploaded.skill, &uploaded.version);
    assert_eq!(uploaded.outcome, UploadOutcome::Created);
    assert_eq!(record.name, "report");
    assert_eq!(record.display_name(), "Quarterly report");
    assert_eq!(record.source, SkillSource::Plugin);
    assert_eq!(record.latest, record.default);
    assert_eq!(record.latest.as_ref().unwrap().id, version.id);
    assert_eq!(
        (version.ordinal, version.number),
        (1, record.created_at.as_micros())
    );
    assert_eq!(
        (version.file_count, version.total_bytes),
        (5, skill.manifest.total_bytes() as i64)
    );
    assert_eq!(&store.skill(&bed.tenant, &record.id).await.unwrap(), record);
    let found = store.version(&bed.tenant, &record.id, &VersionSelector::Latest);
    assert_eq!(&found.await.unwrap(), version);
    bed.assert_intact(&record.id, &version.id, &skill).await;
}

async fn what_was_read_at_upload_is_there_without_files(bed: TestBed) {
    let store = bed.open().await;
    let skill = described("report", "Writes reports.", "Body.", &[]);
    let scan = ScanRecord {
        status: "review".to_owned(),
        report: serde_json::json!({"findings": [{"rule": "x"}]}),
    };
    let version = NewVersion {
        scan: Some(&scan),
        ..NewVersion::from_skill(&skill)
    };
    let new = NewSkill {
        version,
        ..NewSkill::from_skill(&skill)
    };
    let id = store
        .create_skill(&bed.tenant, &new)
        .await
        .unwrap()
        .skill
        .id;
    let latest = VersionSelector::Latest;
    let detail = store
        .version_detail(&bed.tenant, &id, &latest)
        .await
        .unwrap();
    assert_eq!(detail.frontmatter, skill.frontmatter);
    assert_eq!(detail.manifest, skill.manifest);
    assert_eq!(detail.body, skill.body);
    assert_eq!(detail.scan, Some(scan));
    assert_eq!(detail.version.scan_status.as_deref(), Some("review"));

    let version = detail.version.id.as_str();
    let versions = [version, "skver_none"];
    let known = store.version_frontmatter(&bed.tenant, &versions).await;
    let known = known.unwrap();
    assert_eq!(known.len(), 1);
    assert_eq!(known[version], skill.frontmatter);
    let other = TenantId::new("other").unwrap();
    let theirs = store.version_frontmatter(&other, &versions).await;
    assert_eq!(theirs.unwrap().len(), 0);
}

async fn a_new_version_must_bear_the_name_of_its_skill(bed: TestBed) {
    let store = bed.open().await;
    let id = bed.create(&store, "one").await.skill.id;
    let other = skill("two", "text");
    let new = NewVersion::from_skill(&other);
    let error = store
        .create_version(&bed.tenant, &id, &new)
        .await
        .unwrap_err();
    assert_eq!(error.code(), "skill-name-mismatch");
    let message = error.to_string();
    assert!(
        message.contains("`one`") && message.contains("`two`"),
        "{message}"
    );
}

async fn a_new_version_of_an_unknown_skill_is_not_found(bed: TestBed) {
    let store = bed.open().await;
    let upload = skill("one", "text");
    let new = NewVersion::from_skill(&upload);
    let error = store.create_version(&bed.tenant, "skill_none", &new);
    assert_eq!(error.await.unwrap_err().code(), "skill-not-found");
}

async fn unchanged_content_can_keep_the_latest_version(bed: TestBed) {
    let store = bed.open().await;
    let first = bed.create(&store, "one").await;
    let same = skill("one", "first");
    let keep = NewVersion {
        unchanged: UnchangedRule::KeepLatest,
        ..NewVersion::from_skill(&same)
    };
    let id = &first.skill.id;
    let again = store.create_version(&bed.tenant, id, &keep).await.unwrap();
    assert_eq!(again.outcome, UploadOutcome::Unchanged);
    assert_eq!(again.version, first.version);
    let new = NewVersion::from_skill(&same);
    let created = store.create_version(&bed.tenant, id, &new);
    assert_eq!(created.await.unwrap().version.ordinal, 2);
    let changed = skill("one", "second");
    let keep = NewVersion {
        skill: &changed,
        ..keep
    };
    let changed = store.create_version(&bed.tenant, id, &keep).await.unwrap();
    assert_eq!(
        (changed.outcome, changed.version.ordinal),
        (UploadOutcome::Created, 3)
    );
}

async fn a_repeated_request_is_answered_and_not_done_again(bed: TestBed) {
    let store = bed.open().await;
    let upload = skill("one", "text");
    let with_key = |skill| NewVersion {
        request_key: Some("retry-1"),
        ..NewVersion::from_skill(skill)
    };
    let new = |skill| NewSkill {
        version: with_key(skill),
        ..NewSkill::from_skill(skill)
    };
    let first = store
        .create_skill(&bed.tenant, &new(&upload))
        .await
        .unwrap();
    let second = store
        .create_skill(&bed.tenant, &new(&upload))
        .await
        .unwrap();
    assert_eq!(second.outcome, UploadOutcome::Repeated);
    assert_eq!(second.version, first.version);
    let other = skill("one", "other text");
    let error = store
        .create_skill(&bed.tenant, &new(&other))
        .await
        .unwrap_err();
    assert_eq!(error.code(), "request-key-reused");
}

async fn the_same_request_many_times_at_once_makes_one_version(bed: TestBed) {
    let store = bed.open().await;
    let upload = skill("one", "text");
    let new = NewSkill {
        version: NewVersion {
            request_key: Some("retry-1"),
            ..NewVersion::from_skill(&upload)
        },
        ..NewSkill::from_skill(&upload)
    };
    let attempts = (0..8).map(|_| store.create_skill(&bed.tenant, &new));
    let answers = futures_util::future::try_join_all(attempts).await.unwrap();
    let versions: HashSet<_> = answers.iter().map(|a| a.version.id.clone()).collect();
    assert_eq!(versions.len(), 1);
    let made = answers
        .iter()
        .filter(|a| a.outcome == UploadOutcome::Created);
    assert_eq!(made.count(), 1);
}

async fn titles_can_be_required_to_be_unique(bed: TestBed) {
    let store = bed.open().await;
    let upload = skill("one", "text");
    let unique = NewSkill {
        title: Some("Same"),
        unique_title: true,
        ..NewSkill::from_skill(&upload)
    };
    let free = NewSkill {
        unique_title: false,
        ..unique.clone()
    };
    store.create_skill(&bed.tenant, &unique).await.unwrap();
    store.create_skill(&bed.tenant, &free).await.unwrap();
    let error = store.create_skill(&bed.tenant, &unique).await.unwrap_err();
    assert_eq!(error.code(), "skill-title-taken");
    assert!(
        error
            .to_string()
            .starts_with("Skill cannot reuse an existing display_title")
    );
    let elsewhere = TenantId::new("elsewhere").unwrap();
    store.ensure_tenant(&elsewhere, "Elsewhere").await.unwrap();
    store.create_skill(&elsewhere, &unique).await.unwrap();
}

async fn of_many_equal_titles_at_once_one_wins(bed: TestBed) {
    let (here, there) = (bed.open().await, bed.open().await);
    let upload = skill("one", "text");
    let new = NewSkill {
        title: Some("Same"),
        unique_title: true,
        ..NewSkill::from_skill(&upload)
    };
    let attempts = (0..8).map(|at| if at % 2 == 0 { &here } else { &there });
    let attempts = attempts.map(|store| store.create_skill(&bed.tenant, &new));
    let answers = futures_util::future::join_all(attempts).await;
    let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!(won.len(), 1);
    for error in lost {
        assert_eq!(error.unwrap_err().code(), "skill-title-taken");
    }
}

async fn an_unknown_tenant_cannot_own_a_skill(bed: TestBed) {
    let store = bed.open().await;
    let upload = skill("one", "text");
    let nobody = TenantId::new("nobody").unwrap();
    let error = store
        .create_skill(&nobody, &NewSkill::from_skill(&upload))
        .await
        .unwrap_err();
    assert_eq!(error.code(), "tenant-not-found");
}

async fn text_with_nul_is_refused_and_leaves_nothing(bed: TestBed) {
    let store = bed.open().await;
    let upload = skill("one", "a \0 in the body");
    let error = store
        .create_skill(&bed.tenant, &NewSkill::from_skill(&upload))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::NulInText), "{error}");
    let filter = SkillFilter {
        include_empty: true,
        ..SkillFilter::default()
    };
    let page = PageRequest::default();
    let list = store.list_skills(&bed.tenant, &filter, &page);
    assert_eq!(list.await.unwrap().items, []);
}

async fn content_that_is_stored_already_is_not_written_again(bed: TestBed) {
    let store = bed.open().await;
    let large = vec![1; 5_000];
    for name in ["one", "two", "three"] {
        let skill = described(name, "Same file.", "x", &[("large.bin", &large, false)]);
        store
            .create_skill(&bed.tenant, &NewSkill::from_skill(&skill))
            .await
            .unwrap();
    }
    assert_eq!(bed.objects(), 1);
}

async fn uploads_of_shared_content_at_once_all_succeed(bed: TestBed) {
    let (here, there) = (bed.open().await, bed.open().await);
    let contents: Vec<_> = (0..6_u8)
        .map(|n| vec![n; 400 + 400 * usize::from(n)])
        .collect();
    let skills: Vec<_> = (0..12_usize)
        .map(|at| {
            let mut files: Vec<(String, &[u8])> = (0..6)
                .map(|n| (format!("file-{n}"), contents[(n + at) % 6].as_slice()))
                .collect();
            files.truncate(4);
            let files: Vec<_> = files.iter().map(|(p, d)| (p.as_str(), *d, false)).collect();
            described(&format!("skill-{at}"), "Shares files.", "x", &files)
        })
        .collect();
    let uploads = skills.iter().enumerate().map(|(at, skill)| {
        let store = if at % 2 == 0 { &here } else { &there };
        let (tenant, new) = (&bed.tenant, NewSkill::from_skill(skill));
        async move { store.create_skill(tenant, &new).await.unwrap() }
    });
    let uploaded = futures_util::future::join_all(uploads).await;
    for (uploaded, skill) in uploaded.iter().zip(&skills) {
        bed.assert_intact(&uploaded.skill.id, &uploaded.version.id, skill)
            .await;
    }
}

async fn a_large_skill_goes_in_and_out(bed: TestBed) {
    let store = bed.open().await;
    let contents: Vec<_> = (0..600)
        .map(|n| format!("{n}").repeat(1 + n % 700))
        .collect();
    let names: Vec<_> = (0..600)
        .map(|n| format!("dir-{}/file-{n}.txt", n % 7))
        .collect();
    let files: Vec<_> = names
        .iter()
        .zip(&contents)
        .map(|(name, data)| (name.as_str(), data.as_bytes(), false))
        .collect();
    let skill = described("large", "Many files.", "x", &files);
    let uploaded = store
        .create_skill(&bed.tenant, &NewSkill::from_skill(&skill))
        .await
        .unwrap();
    bed.assert_intact(&uploaded.skill.id, &uploaded.version.id, &skill)
        .await;
}

/// However writers of several processes interleave, a skill's versions are numbered 1 to
/// n without a gap, in the order of strictly increasing epoch numbers, and every writer
/// sees its own numbers increase.
async fn numbers_hold(bed: &TestBed, writers: &[usize]) {
    let store = bed.open().await;
    let id = bed.create(&store, "one").await.skill.id;
    let upload = skill("one", "next");
    let work = writers.iter().map(|versions| {
        let (id, upload) = (&id, &upload);
        async move {
            let store = bed.open().await;
            let mut given = Vec::new();
            for _ in 0..*versions {
                let new = NewVersion::from_skill(upload);
                let made = store.create_version(&bed.tenant, id, &new).await.unwrap();
                given.push((made.version.number, made.version.ordinal));
            }
            store.close().await;
            given
        }
    });
    for given in futures_util::future::join_all(work).await {
        assert!(
            given.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1),
            "{given:?}"
        );
    }
    let all = PageRequest {
        limit: 1_000,
        order: SortOrder::Ascending,
        ..PageRequest::default()
    };
    let versions = store
        .list_versions(&bed.tenant, &id, &all)
        .await
        .unwrap()
        .items;
    let ordinals: Vec<_> = versions.iter().map(|version| version.ordinal).collect();
    let expected: Vec<_> = (1..=1 + writers.iter().sum::<usize>() as i64).collect();
    assert_eq!(ordinals, expected);
    assert!(versions.is_sorted_by(|a, b| a.number < b.number));
    store.close().await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn version_numbers_hold_under_concurrent_writers_on_sqlite(
        writers in prop::collection::vec(1..6_usize, 1..5)
    ) {
        run(async { numbers_hold(&TestBed::new(Database::Sqlite), &writers).await });
    }

    #[test]
    fn version_numbers_hold_under_concurrent_writers_on_postgres(
        writers in prop::collection::vec(1..6_usize, 1..5)
    ) {
        run(async { numbers_hold(&TestBed::new(Database::Postgres), &writers).await });
    }
}
