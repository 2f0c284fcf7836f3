//! Neighbouring releases in one cluster.

use std::collections::BTreeSet;
use std::path::Path;

use crate::bed::{ClusterBed, script, send_until_whole};
use crate::durable::observation::container_id;
use crate::durable::poll::wait_for;
use crate::raw_nats::RawNats;
use prowess_testkit::fleet::Fleet;

/// Messages of releases that this one does not know are ignored, and disturb nothing.
#[tokio::test(flavor = "multi_thread")]
async fn messages_of_other_releases_disturb_nothing() {
    let bed = ClusterBed::start_with("", |mut plan| {
        plan.gateways = 2;
        plan.workers = 1;
        plan
    })
    .await;
    let (user, password) = Fleet::gateway_credentials();
    let mut nats = RawNats::connect(bed.fleet.nats.port(), user, password);
    let newer = "{\"id\":\"worker-9\",\"boot\":\"b\",\"version\":\"99.0.0\",\"protocol\":9}";
    for subject in [
        "prowess.hb.w",
        "prowess.hb.g",
        "prowess.w.worker-0.do",
        "prowess.w.worker-0.in.x",
        "prowess.g.gateway-0.in.x",
        "prowess.run.x.ev",
        "prowess.run.x.ctl",
        "prowess.wake.runs",
        "prowess.drop",
        "prowess.rates.gateway-9",
    ] {
        for first in [b"".as_slice(), b"\0", b"\x01", b"\x02", b"\xff"] {
            for rest in ["", "{", "[]", "{}", "{\"Unheard\":{\"of\":1}}", newer] {
                nats.publish(subject, &[first, rest.as_bytes()].concat());
            }
        }
    }
    assert_eq!(nats.errors(), Vec::<String>::new());
    for gateway in &bed.fleet.gateways {
        let ran = bed.script(&gateway.url(), None, &["echo still here"]).await;
        assert!(ran.output.contains("still here"), "{}", ran.output);
    }
    // What announced itself in another protocol gets no command: these ran.
    let status = bed.status(&bed.fleet.url()).await;
    let workers = status["workers"].as_array().unwrap();
    let known = workers.iter().find(|worker| worker["id"] == "worker-0");
    assert_ne!(known.unwrap()["state"], "lost", "{status}");
}

/// With the previous release's binary: each half of a cluster is replaced, in both directions, while
/// a kept run is under way.
#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_upgraded_and_downgraded_member_by_member() {
    let Some(previous) = std::env::var_os("PROWESS_PREVIOUS_BINARY") else {
        println!(
            "NOT_RUN a_cluster_is_upgraded_and_downgraded_member_by_member: \
             PROWESS_PREVIOUS_BINARY names no binary"
        );
        return;
    };
    let previous = Path::new(&previous);
    let current = Path::new(env!("CARGO_BIN_EXE_prowess"));
    let mut bed = ClusterBed::start().await;
    let url = bed.fleet.url();
    let mut container = None;
    let mut lines = 0;
    let mut files_of_crossed = BTreeSet::new();
    for (binary, direction) in [(previous, "back"), (current, "forth")] {
        for number in 0..6 {
            let key = format!("{direction}-{number}");
            let commands = ["echo one >> log.txt; sleep 1", "echo two >> log.txt"];
            let crossing = bed.kept_request(&url, &script(&commands), &key);
            let crossing = tokio::spawn(send_until_whole(crossing));
            wait_for("the run has begun", async || bed.kept_run(&key).await).await;
            let (list, number) = match number {
                0..3 => (&mut bed.fleet.gateways, number),
                _ => (&mut bed.fleet.workers, number - 3),
            };
            list[number].terminate();
            list[number].wait();
            list[number].set_binary(binary);
            list[number].restart(&[]);
            list[number].wait_until_ready();
            crossing.await.unwrap();
            let crossed = bed.ended_run(&key).await;
            assert_eq!(crossed.state, "completed", "{key}");
            let files = bed.files(&container_id(&crossed.result)).await;
            files_of_crossed.insert(files);
            let command = ["echo line >> log.txt; wc -l < log.txt"];
            let ran = bed.script(&url, container.as_deref(), &command).await;
            lines += 1;
            assert!(ran.output.contains(&lines.to_string()), "{}", ran.output);
            container = Some(ran.container);
        }
    }
    // Whoever ran their commands, they have the same lines.
    assert_eq!(files_of_crossed.len(), 1, "{files_of_crossed:?}");
}
