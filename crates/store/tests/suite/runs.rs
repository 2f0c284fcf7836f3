//! Records of runs, containers and hidden turns.

use std::time::Duration;

use prowess_store::{ContainerRecord, NewRun, PageRequest, RunFilter, Store, TenantId, Timestamp};
use serde_json::json;

use crate::testbed::{TestBed, on_both_databases};

on_both_databases! {
    a_run_is_listed_newest_first_and_read_back_whole,
    runs_are_found_by_model_skill_state_and_time,
    a_container_is_saved_for_its_tenant_only,
    turns_are_kept_under_every_call_until_their_time_is_over,
}

fn ended(model: &str) -> NewRun {
    let now = Timestamp::now();
    NewRun {
        id: Store::new_run_id().unwrap(),
        model: model.to_owned(),
        provider: Some("acme".to_owned()),
        dialect: "messages",
        status: "completed",
        turns: 2,
        calls: 1,
        input_tokens: 10,
        output_tokens: 5,
        started_at: now,
        ended_at: now.after(Duration::from_millis(3)),
        container: None,
        error: None,
        usage: json!({"input_tokens": 10}),
        skills: json!([{"name": "forms"}]),
        files: json!([]),
        events: json!([{"kind": "turn"}]),
    }
}

async fn other(store: &Store) -> TenantId {
    let other = TenantId::new("other").unwrap();
    store.ensure_tenant(&other, "other").await.unwrap();
    other
}

async fn a_run_is_listed_newest_first_and_read_back_whole(bed: TestBed) {
    let store = bed.open().await;
    let runs = [ended("first"), ended("second")];
    for run in &runs {
        store.record_run(&bed.tenant, run).await.unwrap();
    }
    let page = store
        .list_runs(&bed.tenant, &PageRequest::default())
        .await
        .unwrap();
    let models: Vec<_> = page.items.iter().map(|run| run.model.as_str()).collect();
    assert_eq!(models, ["second", "first"]);
    let run = store.run(&bed.tenant, &runs[0].id).await.unwrap();
    assert_eq!((run.run.turns, run.events), (2, json!([{"kind": "turn"}])));
    let other = other(&store).await;
    let missing = store.run(&other, &runs[0].id).await.unwrap_err();
    assert_eq!(missing.code(), "run-not-found");
}

async fn a_container_is_saved_for_its_tenant_only(bed: TestBed) {
    let store = bed.open().await;
    let mut container = ContainerRecord {
        id: "container_1".to_owned(),
        upstream: None,
        skills: json!([{"skill_id": "skill_1"}]),
    };
    store.save_container(&bed.tenant, &container).await.unwrap();
    container.upstream = Some("container_theirs".to_owned());
    store.save_container(&bed.tenant, &container).await.unwrap();
    let found = store.container(&bed.tenant, "container_1").await.unwrap();
    assert_eq!(found.as_ref(), Some(&container));
    let other = other(&store).await;
    store
        .save_container(
            &other,
            &ContainerRecord {
                skills: json!([]),
                ..container.clone()
            },
        )
        .await
        .unwrap();
    assert_eq!(store.container(&other, "container_1").await.unwrap(), None);
    let found = store.container(&bed.tenant, "container_1").await.unwrap();
    assert_eq!(found, Some(container), "another tenant changes nothing");
}

async fn turns_are_kept_under_every_call_until_their_time_is_over(bed: TestBed) {
    let store = bed.open().await;
    let (tenant, hour) = (&bed.tenant, Duration::from_secs(3600));
    store
        .save_hidden_turns(tenant, &[("call_1", "[1]"), ("call_2", "[1]")], hour)
        .await
        .unwrap();
    store
        .save_hidden_turns(tenant, &[("call_2", "[2]")], hour)
        .await
        .unwrap();
    store
        .save_hidden_turns(tenant, &[("call_3", "[3]")], Duration::ZERO)
        .await
        .unwrap();
    let kept = async |call: &str| store.hidden_turns(tenant, call).await.unwrap();
    assert_eq!(kept("call_1").await.as_deref(), Some("[1]"));
    assert_eq!(kept("call_2").await.as_deref(), Some("[2]"));
    assert_eq!(kept("call_3").await, None);
    let other = other(&store).await;
    assert_eq!(store.hidden_turns(&other, "call_1").await.unwrap(), None);
    let long = "x".repeat((8 << 20) + 1);
    let refused = store
        .save_hidden_turns(tenant, &[("call_4", &long)], hour)
        .await;
    assert_eq!(refused.unwrap_err().code(), "value-invalid");
}

async fn runs_are_found_by_model_skill_state_and_time(bed: TestBed) {
    let store = bed.open().await;
    let first = NewRun {
        skills: json!([{"name": "forms", "id": "skill_1"}]),
        ..ended("small")
    };
    store.record_run(&bed.tenant, &first).await.unwrap();
    let between = Timestamp::now().after(Duration::from_micros(1));
    while Timestamp::now() <= between {
        std::hint::spin_loop();
    }
    let second = NewRun {
        status: "failed",
        skills: json!([{"name": "tables", "id": "skill_2"}]),
        ..ended("large")
    };
    store.record_run(&bed.tenant, &second).await.unwrap();
    let other = other(&store).await;
    store.record_run(&other, &ended("small")).await.unwrap();

    let all = RunFilter::default();
    let models = async |filter: RunFilter<'_>| {
        let page = PageRequest::default();
        let page = store.list_filtered_runs(&bed.tenant, &filter, &page).await;
        let runs = page.unwrap().items.into_iter();
        runs.map(|run| run.model).collect::<Vec<_>>()
    };
    assert_eq!(models(all.clone()).await, ["large", "small"]);
    for (filter, found) in [
        (
            RunFilter {
                model: Some("small"),
                ..all.clone()
            },
            "small",
        ),
        (
            RunFilter {
                skill: Some("skill_1"),
                ..all.clone()
            },
            "small",
        ),
        (
            RunFilter {
                skill: Some("tables"),
                ..all.clone()
            },
            "large",
        ),
        (
            RunFilter {
                state: Some("failed"),
                ..all.clone()
            },
            "large",
        ),
        (
            RunFilter {
                since: Some(between),
                ..all.clone()
            },
            "large",
        ),
        (
            RunFilter {
                until: Some(between),
                ..all.clone()
            },
            "small",
        ),
    ] {
        assert_eq!(models(filter.clone()).await, [found], "{filter:?}");
    }
    for skill in ["form", "%", "skill_", "\\", "'"] {
        let none = RunFilter {
            skill: Some(skill),
            ..all.clone()
        };
        assert!(models(none).await.is_empty(), "{skill}");
    }
}
