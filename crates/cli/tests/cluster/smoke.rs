//! A run through the load balancer: its files are the same at every gateway, its container is used
//! again from all of them, and its trace has the spans of gateways and workers.

use std::collections::BTreeSet;
use std::process::Command;

use opentelemetry_proto::tonic::trace::v1::Span;
use prowess_testkit::fleet::{Fleet, FleetPlan};
use serde_json::Value;

use crate::bed::ClusterBed;
use crate::durable::bed::Bed;
use crate::server::prowess;
use crate::spans;

#[tokio::test(flavor = "multi_thread")]
async fn a_run_behind_a_load_balancer_has_its_files_at_every_gateway() {
    let collector = spans::start_collector().await;
    let telemetry = format!("[telemetry]\notlp_endpoint = \"{}\"\n", collector.url());
    let bed = ClusterBed::start_with(&telemetry, |plan| FleetPlan {
        worker_config: telemetry.clone(),
        ..plan
    });
    let bed = bed.await;
    let commands = [
        "grep -c logs /skills/logs/SKILL.md; seq 1 50000 > numbers.txt",
        "echo one >> log.txt; wc -l < numbers.txt",
    ];
    let first = bed.script(&bed.fleet.url(), None, &commands).await;
    assert!(first.output.contains("50000"), "{}", first.output);
    let container = &first.container;
    let outputs = file_ids(&first.response);
    assert_eq!(outputs.len(), 2, "{}", first.response);
    for (number, gateway) in bed.fleet.gateways.iter().enumerate() {
        let url = gateway.url();
        assert_eq!(numbers_of(&bed, &url, container).await, numbers());
        for id in &outputs {
            let content = bed.get(&url, &format!("/v1/files/{id}/content"));
            let content = Bed::text(content).await;
            assert!(content == "one\n" || content == numbers(), "{content}");
        }
        let append = format!("echo {number} >> log.txt; tr '\\n' , < log.txt");
        let again = bed.script(&url, Some(container), &[&append]).await;
        assert_eq!(&again.container, container);
        let expected: String = (0..=number).map(|number| format!("{number},")).collect();
        let expected = format!("one,{expected}");
        assert!(again.output.contains(&expected), "{}", again.output);
    }
    assert_status(&bed);
    assert_metrics(&bed).await;
    let commands = commands.len() + bed.fleet.gateways.len();
    assert_traces(&spans::wait_for_commands(&collector, commands).await);
}

/// Every command of a gateway has that of its worker below it.
fn assert_traces(all: &[Span]) {
    for command in all.iter().filter(|span| span.name == "sandbox command") {
        let below = spans::below(all, command);
        let [at_worker] = below.as_slice() else {
            panic!("{below:?}");
        };
        assert_eq!(at_worker.name, "worker command");
        assert_eq!(at_worker.trace_id, command.trace_id);
        for key in ["prowess.worker", "prowess.run"] {
            let value = spans::text(command, key);
            assert!(value.is_some(), "{key}");
            assert_eq!(value, spans::text(at_worker, key));
        }
        spans::assert_parts(all, at_worker);
    }
}

/// The ids of all files that a response names.
fn file_ids(response: &Value) -> BTreeSet<String> {
    let text = response.to_string();
    let ids = text.split("\"file_id\":\"").skip(1);
    ids.filter_map(|rest| rest.split('"').next())
        .map(str::to_owned)
        .collect()
}

fn numbers() -> String {
    (1..=50_000).map(|number| format!("{number}\n")).collect()
}

/// The content of a file that is larger than what is stored in the database.
async fn numbers_of(bed: &ClusterBed, url: &str, container: &str) -> String {
    let files = Bed::json(bed.get(url, &format!("/v1/containers/{container}/files"))).await;
    let files = files["data"].as_array().unwrap();
    let is_numbers = |file: &&Value| file["path"].as_str().unwrap().ends_with("numbers.txt");
    let id = files.iter().find(is_numbers).unwrap()["id"]
        .as_str()
        .unwrap();
    let path = format!("/v1/containers/{container}/files/{id}/content");
    Bed::text(bed.get(url, &path)).await
}

/// The metrics of every gateway count all gateways and workers.
async fn assert_metrics(bed: &ClusterBed) {
    for gateway in &bed.fleet.gateways {
        let metrics = Bed::text(bed.get(&gateway.url(), "/metrics")).await;
        for line in [
            "prowess_cluster_gateways{state=\"ready\"} 3\n",
            "prowess_cluster_workers{state=\"ready\"} 3\n",
            "prowess_cluster_slots 12\n",
            "prowess_bus_connected 1\n",
        ] {
            assert!(metrics.contains(line), "{line}{metrics}");
        }
    }
}

/// `prowess cluster status` knows all gateways and workers, at any gateway.
fn assert_status(bed: &ClusterBed) {
    for gateway in &bed.fleet.gateways {
        let mut status: Command = prowess(gateway.folder());
        status
            .args(["cluster", "status", "--json"])
            .env("PROWESS_URL", gateway.url())
            .env("PROWESS_API_KEY", Fleet::MASTER);
        let output = status.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let status: Value = serde_json::from_slice(&output.stdout).unwrap();
        for (list, members) in [
            ("gateways", &bed.fleet.gateways),
            ("workers", &bed.fleet.workers),
        ] {
            let shown = status[list].as_array().unwrap().iter();
            let mut shown: Vec<&str> = shown.filter_map(|one| one["id"].as_str()).collect();
            shown.sort_unstable();
            let members: Vec<&str> = members.iter().map(|member| member.name()).collect();
            assert_eq!(shown, members, "{status}");
        }
    }
}
