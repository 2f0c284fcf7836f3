//! Servers that use the same containers at the same time.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures_util::future::join_all;
use prowess_skill::Digest;
use prowess_store::{
    BeginCommandOutcome, ClusterContainer, CommandCommit, CommitCommandOutcome,
    CreateContainerOutcome, EntryContent, NewClusterContainer, Store, TenantId,
};
use serde_json::json;

use super::setup::{HOLD, QUOTA, begin, change, create, file, skill, stage};
use crate::testbed::{TestBed, on_both_databases};

on_both_databases! {
    no_change_is_lost_and_nobody_locks_others_out,
}

const SERVERS: usize = 4;
const ROUNDS: usize = 6;
const CONTAINERS: [&str; 2] = ["container_1", "container_2"];

/// A command that appends a line to a file of its container.
async fn append_line(store: &Store, tenant: &TenantId, id: &str, command: &str) {
    let container = loop {
        match begin(store, tenant, id, command, HOLD).await {
            BeginCommandOutcome::Held(container) => break container,
            BeginCommandOutcome::Busy { .. } => tokio::task::yield_now().await,
            BeginCommandOutcome::NotFound => panic!("{id}"),
        }
    };
    let text = format!("{}{command}\n", read(store, tenant, &container).await);
    let digest = Digest::from_content(text.as_bytes());
    let contents = BTreeMap::from([(digest, Bytes::copy_from_slice(text.as_bytes()))]);
    let commit = CommandCommit {
        holder: command,
        worker: None,
        change: change(id, container.generation, vec![file("log", text.as_bytes())]),
        contents: store.stage_contents(contents).await.unwrap(),
        setup: None,
    };
    let committed = store.commit_command(tenant, commit).await.unwrap();
    let generation = container.generation + 1;
    assert_eq!(committed, CommitCommandOutcome::Committed { generation });
}

async fn read(store: &Store, tenant: &TenantId, container: &ClusterContainer) -> String {
    let files = store.container_files(tenant, &container.id).await;
    let files = files.unwrap().unwrap();
    assert_eq!(files.generation, container.generation);
    let Some(entry) = files.entries.first() else {
        return String::new();
    };
    let EntryContent::File(digest) = entry.content else {
        panic!("{entry:?}");
    };
    let content = store.container_content(tenant, &container.id, digest).await;
    let content = content.unwrap().collect().await.unwrap();
    String::from_utf8(content.to_vec()).unwrap()
}

/// What else happens to containers of the same tenant: new ones, deleted ones, new skills, and
/// expiry.
async fn disturb(store: &Store, tenant: &TenantId, server: usize, round: usize) {
    let id = format!("container_{server}_{round}");
    let setup = json!({});
    let new = NewClusterContainer {
        id: &id,
        setup: &setup,
        requirements: None,
        skills: &[skill("one", b"the skill one")],
        contents: stage(store, &[b"the skill one"]).await,
        quota: QUOTA,
    };
    let created = store.create_cluster_container(tenant, new).await.unwrap();
    let expected = CreateContainerOutcome::Created {
        generation: 0,
        evicted: None,
    };
    assert_eq!(created, expected);
    for id in CONTAINERS {
        let skills = [skill("two", b"second")];
        let contents = stage(store, &[b"second"]).await;
        let replaced = store.replace_cluster_skills(tenant, id, &skills, contents);
        replaced.await.unwrap();
    }
    let deleted = store.delete_cluster_container(tenant, &id).await;
    assert!(deleted.unwrap());
    let expired = store.expire_cluster_containers(HOLD, HOLD, 10).await;
    assert_eq!(expired.unwrap(), []);
}

async fn no_change_is_lost_and_nobody_locks_others_out(bed: TestBed) {
    let stores = [bed.open().await, bed.open().await];
    for id in CONTAINERS {
        create(&stores[0], &bed.tenant, id).await;
        append_line(&stores[0], &bed.tenant, id, &format!("first in {id}")).await;
    }
    let work = |server: usize| {
        let (store, tenant) = (stores[server % 2].clone(), bed.tenant.clone());
        tokio::spawn(async move {
            for round in 0..ROUNDS {
                for id in CONTAINERS {
                    let command = format!("{server} {round}");
                    append_line(&store, &tenant, id, &command).await;
                }
                disturb(&store, &tenant, server, round).await;
            }
        })
    };
    for done in join_all((0..SERVERS).map(work)).await {
        done.unwrap();
    }
    for id in CONTAINERS {
        let container = stores[0].cluster_container(&bed.tenant, id).await;
        let container = container.unwrap().unwrap();
        let text = read(&stores[0], &bed.tenant, &container).await;
        let mut lines: Vec<&str> = text.lines().collect();
        assert_eq!(container.generation, 1 + (SERVERS * ROUNDS) as i64);
        assert_eq!(container.stored_bytes, text.len() as u64);
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), 1 + SERVERS * ROUNDS, "{text}");
    }
}
