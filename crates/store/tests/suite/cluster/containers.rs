//! Creating, listing, expiring and deleting containers.

use std::time::Duration;

use prowess_skill::Digest;
use prowess_store::{
    BeginCommandOutcome, ClusterSkillFile, CommitCommandOutcome, ContainerQuota, ContainerRecord,
    CreateContainerOutcome, TenantId, UpdateContainerOutcome,
};
use serde_json::json;

use super::setup::{
    HOLD, QUOTA, begin, busy, change, commit, create, create_with, file, put, put_file, skill,
    stage,
};
use crate::testbed::{TestBed, execute, on_both_databases};

on_both_databases! {
    a_container_has_its_setup_skills_and_files,
    a_tenant_has_a_limited_number_of_containers,
    containers_that_nobody_uses_expire,
    skills_are_replaced_folder_by_folder,
    another_tenant_has_no_part_in_a_container,
}

async fn a_container_has_its_setup_skills_and_files(bed: TestBed) {
    let store = bed.open().await;
    create(&store, &bed.tenant, "container_1").await;
    let read = async || {
        let other = bed.open().await;
        other
            .cluster_container(&bed.tenant, "container_1")
            .await
            .unwrap()
    };
    let found = read().await.unwrap();
    assert_eq!(found.setup, json!({"policy": 1}));
    assert_eq!(found.requirements.as_deref(), Some("numpy"));
    assert_eq!(found.skills, [skill("one", b"the skill one")]);
    assert_eq!((found.generation, found.stored_bytes), (0, 0));
    assert_eq!((found.files_digest, found.worker), (None, None));
    // It is recorded, and the record is completed later.
    let record = store.container(&bed.tenant, "container_1").await.unwrap();
    assert_eq!(record.unwrap().skills, json!([]));
    let record = ContainerRecord {
        id: "container_1".to_owned(),
        upstream: None,
        skills: json!(["one"]),
    };
    store.save_container(&bed.tenant, &record).await.unwrap();
    // Its id is taken.
    let again = create_with(&store, &bed.tenant, "container_1", QUOTA).await;
    assert_eq!(again, CreateContainerOutcome::Exists);

    put_file(&store, &bed.tenant, "container_1", "a", b"one").await;
    let listed = store.list_cluster_containers(&bed.tenant).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(
        (listed[0].id.as_str(), listed[0].stored_bytes),
        ("container_1", 3)
    );
    let setup = json!({"policy": 2});
    let set = store.set_cluster_setup(&bed.tenant, "container_1", &setup);
    assert!(set.await.unwrap());
    assert_eq!(read().await.unwrap().setup, json!({"policy": 2}));

    let deleted = store.delete_cluster_container(&bed.tenant, "container_1");
    assert!(deleted.await.unwrap());
    assert_eq!(read().await, None);
    let files = store.container_files(&bed.tenant, "container_1").await;
    assert_eq!(files.unwrap().unwrap().entries, []);
    assert_eq!(store.storage_usage(&bed.tenant).await.unwrap().bytes, 0);
    let deleted = store.delete_cluster_container(&bed.tenant, "container_1");
    assert!(!deleted.await.unwrap());
    // Its id may be used again: generations go on.
    let again = create_with(&store, &bed.tenant, "container_1", QUOTA).await;
    let expected = CreateContainerOutcome::Created {
        generation: 2,
        evicted: None,
    };
    assert_eq!(again, expected);
}

async fn a_tenant_has_a_limited_number_of_containers(bed: TestBed) {
    let store = bed.open().await;
    let other = TenantId::new("other").unwrap();
    store.ensure_tenant(&other, "Other").await.unwrap();
    let quota = |evict_idle| ContainerQuota {
        containers: 2,
        evict_idle,
    };
    create(&store, &other, "container_9").await;
    for id in ["container_1", "container_2"] {
        create(&store, &bed.tenant, id).await;
    }
    let refused = create_with(&store, &bed.tenant, "container_3", quota(HOLD)).await;
    assert_eq!(refused, CreateContainerOutcome::TooMany { limit: 2 });
    let record = store.container(&bed.tenant, "container_3").await.unwrap();
    assert_eq!(record, None);
    // The least recently used one makes room, unless a command uses it.
    begin(&store, &bed.tenant, "container_2", "command 2", HOLD).await;
    begin(
        &store,
        &bed.tenant,
        "container_1",
        "command 1",
        Duration::ZERO,
    )
    .await;
    let created = create_with(&store, &bed.tenant, "container_3", quota(Duration::ZERO)).await;
    let expected = CreateContainerOutcome::Created {
        generation: 0,
        evicted: Some("container_1".to_owned()),
    };
    assert_eq!(created, expected);
    let listed = store.list_cluster_containers(&bed.tenant).await.unwrap();
    let mut listed: Vec<_> = listed.iter().map(|found| found.id.as_str()).collect();
    listed.sort_unstable();
    assert_eq!(listed, ["container_2", "container_3"]);
    let others = store.list_cluster_containers(&other).await.unwrap();
    assert_eq!(others.len(), 1);
}

async fn containers_that_nobody_uses_expire(bed: TestBed) {
    let store = bed.open().await;
    let ids = ["container_1", "container_2", "container_3", "container_4"];
    for id in ids {
        create(&store, &bed.tenant, id).await;
        put_file(&store, &bed.tenant, id, "a", b"content").await;
    }
    let hour = Duration::from_secs(3_600);
    let expire = async |limit| {
        let expired = store.expire_cluster_containers(hour, 10 * hour, limit);
        let mut expired: Vec<_> = expired
            .await
            .unwrap()
            .into_iter()
            .map(|(_, id)| id)
            .collect();
        expired.sort();
        expired
    };
    assert_eq!(expire(10).await, [""; 0]);
    // The first three were not used for two hours, and a command uses the third. The fourth is
    // used, and old.
    let micros = |hours: i64| hours * 3_600_000_000;
    let first = format!(
        "UPDATE cluster_containers SET used_at = used_at - {} WHERE id <> 'container_4';
         UPDATE cluster_containers SET created_at = created_at - {} WHERE id = 'container_4';",
        micros(2),
        micros(20)
    );
    begin(&store, &bed.tenant, "container_3", "command 1", HOLD).await;
    execute(&bed, &first).await;
    let mut expired = expire(1).await;
    assert_eq!(expired.len(), 1);
    expired.extend(expire(10).await);
    expired.sort();
    assert_eq!(expired, ["container_1", "container_2", "container_4"]);
    assert_eq!(expire(10).await, [""; 0]);
    let files = async |id| {
        let files = store.container_files(&bed.tenant, id).await.unwrap();
        files.unwrap().entries.len()
    };
    assert_eq!(
        (files("container_1").await, files("container_3").await),
        (0, 1)
    );
    assert_eq!(store.storage_usage(&bed.tenant).await.unwrap().bytes, 7);
    // The end of a command is a use.
    let ended = store.end_command(&bed.tenant, "container_3", "command 1", None);
    ended.await.unwrap();
    assert_eq!(expire(10).await, [""; 0]);
}

async fn skills_are_replaced_folder_by_folder(bed: TestBed) {
    let store = bed.open().await;
    let (tenant, id) = (&bed.tenant, "container_1");
    create(&store, tenant, id).await;
    let mut new = [skill("one", b"changed"), skill("two", b"second")];
    new[1].files.push(ClusterSkillFile {
        path: "run \"it\" ü.sh".to_owned(),
        digest: Digest::from_content(b"run"),
        size: 3,
        executable: true,
    });
    let contents = stage(&store, &[b"changed", b"second", b"run"]).await;
    let replaced = store.replace_cluster_skills(tenant, id, &new, contents);
    assert!(replaced.await.unwrap());
    let third = [skill("three", b"third")];
    let contents = stage(&store, &[b"third"]).await;
    let replaced = store.replace_cluster_skills(tenant, id, &third, contents);
    assert!(replaced.await.unwrap());
    let found = store.cluster_container(tenant, id).await.unwrap().unwrap();
    let [one, two] = new;
    let [three] = third;
    assert_eq!(found.skills, [one, three, two]);
    let held = begin(&store, tenant, id, "command 1", HOLD).await;
    let BeginCommandOutcome::Held(held) = held else {
        panic!("{held:?}");
    };
    assert_eq!(held.skills, found.skills);
    let missing = store.replace_cluster_skills(tenant, "container_9", &[], Vec::new());
    assert!(!missing.await.unwrap());
}

async fn another_tenant_has_no_part_in_a_container(bed: TestBed) {
    let store = bed.open().await;
    let other = TenantId::new("other").unwrap();
    store.ensure_tenant(&other, "Other").await.unwrap();
    let id = "container_1";
    create(&store, &bed.tenant, id).await;
    put_file(&store, &bed.tenant, id, "a", b"content").await;
    begin(&store, &bed.tenant, id, "command 1", HOLD).await;
    let before = store.cluster_container(&bed.tenant, id).await.unwrap();

    let outcome = create_with(&store, &other, id, QUOTA).await;
    assert_eq!(outcome, CreateContainerOutcome::Exists);
    assert_eq!(store.cluster_container(&other, id).await.unwrap(), None);
    assert_eq!(store.list_cluster_containers(&other).await.unwrap(), []);
    let held = begin(&store, &other, id, "command 1", HOLD).await;
    assert_eq!(held, BeginCommandOutcome::NotFound);
    let renewed = store.renew_command(&other, id, "command 1", HOLD).await;
    assert!(!renewed.unwrap());
    let ended = store.end_command(&other, id, "command 1", None);
    ended.await.unwrap();
    let contents = stage(&store, &[b"x"]).await;
    let commit = commit("command 1", change(id, 1, vec![file("a", b"x")]), contents);
    let committed = store.commit_command(&other, commit).await.unwrap();
    assert_eq!(committed, CommitCommandOutcome::NotFound);
    let known = store.committed_generation(&other, id, "command 1").await;
    assert_eq!(known.unwrap(), None);
    let changed = put(&store, &other, id, "a", b"x").await.unwrap();
    assert_eq!(changed, UpdateContainerOutcome::NotFound);
    assert!(
        !store
            .set_cluster_setup(&other, id, &json!(1))
            .await
            .unwrap()
    );
    let replaced = store.replace_cluster_skills(&other, id, &[], Vec::new());
    assert!(!replaced.await.unwrap());
    let digest = Digest::from_content(b"content");
    let refused = store.signed_content(&other, id, &[digest], HOLD).await;
    assert_eq!(refused.unwrap_err().code(), "file-not-found");
    let deleted = store.delete_cluster_container(&other, id).await;
    assert!(!deleted.unwrap());

    let after = store.cluster_container(&bed.tenant, id).await.unwrap();
    assert_eq!(after, before);
    let held = begin(&store, &bed.tenant, id, "command 2", HOLD).await;
    assert_eq!(held, busy("command 1"));
}
