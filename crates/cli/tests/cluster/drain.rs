//! Gateways and workers are stopped one by one under load, as in an upgrade: no run fails, and no
//! command is started twice.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use prowess_testkit::fleet::FleetMember;

use crate::bed::{ClusterBed, script, send_until_whole};
use crate::commands_seen::{CommandsSeen, nap};
use crate::durable::bed::Bed;
use crate::durable::poll::wait_for;

/// Clients that wait for foreground runs, and as many for kept ones.
const CLIENTS: usize = 3;

/// Runs that the load consists of.
struct Load {
    is_over: AtomicBool,
    /// Commands so far.
    commands: AtomicUsize,
    runs: AtomicUsize,
}

impl Load {
    /// Two commands that no other run has.
    fn commands(&self) -> [String; 2] {
        [(); 2].map(|()| {
            let number = self.commands.fetch_add(1, Ordering::Relaxed);
            format!("echo {number} >> log.txt; sleep {}; echo done", nap(number))
        })
    }
}

async fn foreground_runs(bed: Arc<ClusterBed>, load: Arc<Load>) {
    while !load.is_over.load(Ordering::Relaxed) {
        let commands = load.commands();
        let commands = commands.each_ref().map(String::as_str);
        let request = bed.script_request(&bed.fleet.url(), None, &commands);
        Bed::text(request).await;
        load.runs.fetch_add(1, Ordering::Relaxed);
    }
}

async fn kept_runs(bed: Arc<ClusterBed>, load: Arc<Load>, client: usize) {
    for number in 0.. {
        if load.is_over.load(Ordering::Relaxed) {
            return;
        }
        let commands = load.commands();
        let prompt = script(&commands.each_ref().map(String::as_str));
        let key = format!("kept-{client}-{number}");
        send_until_whole(bed.kept_request(&bed.fleet.url(), &prompt, &key)).await;
        load.runs.fetch_add(1, Ordering::Relaxed);
    }
}

/// Waits until more runs have ended, so that each member takes part in some.
async fn more_runs(load: &Load) {
    let before = load.runs.load(Ordering::Relaxed);
    wait_for("runs end", async || {
        let now = load.runs.load(Ordering::Relaxed);
        (now >= before + 2 * CLIENTS).then_some(())
    })
    .await;
}

async fn drain(member: &FleetMember) {
    member.terminate();
    wait_for("a member ends", async || member.status()).await;
    assert_eq!(member.status(), Some(0), "{}", member.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn members_are_stopped_under_load_without_a_failed_run() {
    // A lease that does not run out: kept runs are handed over, or never end.
    let bed = ClusterBed::start_with("", |plan| plan.variable("PROWESS_RUN_LEASE_MS", "300000"));
    let mut bed = Arc::new(bed.await);
    let load = Arc::new(Load {
        is_over: AtomicBool::new(false),
        commands: AtomicUsize::new(0),
        runs: AtomicUsize::new(0),
    });
    let seen = CommandsSeen::start();
    for number in 0..3 {
        for is_gateway in [true, false] {
            let clients: Vec<_> = (0..CLIENTS)
                .flat_map(|client| {
                    let client = number * 10 + client + if is_gateway { 0 } else { 5 };
                    let foreground = foreground_runs(Arc::clone(&bed), Arc::clone(&load));
                    let kept = kept_runs(Arc::clone(&bed), Arc::clone(&load), client);
                    [tokio::spawn(foreground), tokio::spawn(kept)]
                })
                .collect();
            more_runs(&load).await;
            let members = match is_gateway {
                true => &bed.fleet.gateways,
                false => &bed.fleet.workers,
            };
            drain(&members[number]).await;
            more_runs(&load).await;
            load.is_over.store(true, Ordering::Relaxed);
            for client in clients {
                client.await.unwrap();
            }
            load.is_over.store(false, Ordering::Relaxed);
            let fleet = &mut Arc::get_mut(&mut bed).unwrap().fleet;
            let members = match is_gateway {
                true => &mut fleet.gateways,
                false => &mut fleet.workers,
            };
            members[number].restart(&[]);
            members[number].wait_until_ready();
        }
    }
    let states = "SELECT state, COUNT(*) FROM journal_runs GROUP BY state";
    let mut database = bed.database().await;
    let states: Vec<(String, i64)> = sqlx::query_as(states)
        .fetch_all(&mut database)
        .await
        .unwrap();
    assert_eq!(states.len(), 1, "{states:?}");
    assert_eq!(states[0].0, "completed");
    let seen = seen.finish();
    let commands = load.commands.load(Ordering::Relaxed);
    let mut observed = 0;
    for number in 0..commands {
        let processes = seen.get(&nap(number)).map_or(0, BTreeSet::len);
        assert!(
            processes <= 1,
            "command {number} was started {processes} times"
        );
        observed += processes;
    }
    // A busy machine may have hidden some of them.
    assert!(observed * 10 >= commands * 9, "{observed} of {commands}");
}
