//! Several gateways of one cluster, with one store and one bus: limits that hold over all of
//! them, kept runs that move, listeners and cancellations anywhere; and runs without a worker.

mod draining;
mod limits;
mod no_worker;
mod wakes;

use std::sync::mpsc;
use std::time::Duration;

use prowess_bus::Bus;
use prowess_server::{ClusterMembership, JoinedCluster, ServeOptions, ServerSettings, serve};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::gateway::Gateway;

/// How long a test waits for something that takes a moment.
const DEADLINE: Duration = Duration::from_secs(60);

fn settings(bus: &Bus, number: usize) -> ServerSettings {
    ServerSettings {
        cluster: Some(ClusterMembership {
            bus: bus.clone(),
            gateway: format!("gw-{number}"),
            namespace: "prowess".to_owned(),
            view: None,
        }),
        ..ServerSettings::default()
    }
}

/// So many gateways over one store, none of which takes part in the cluster yet.
async fn gateways(bus: &Bus, number: usize) -> Vec<Gateway> {
    let mut all = vec![Gateway::with(settings(bus, 0)).await];
    for number in 1..number {
        let next = all[0].beside(settings(bus, number)).await;
        all.push(next);
    }
    all
}

async fn join(gateway: &Gateway) -> JoinedCluster {
    gateway.app.join_cluster().await.unwrap()
}

/// A gateway that is served, so that it claims runs.
struct Served {
    stop: CancellationToken,
    done: JoinHandle<std::io::Result<()>>,
}

async fn start(gateway: &Gateway) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stop = CancellationToken::new();
    let options = ServeOptions {
        drain: Some(Duration::ZERO),
        ..ServeOptions::default()
    };
    let app = gateway.app.clone();
    let done = tokio::spawn(serve(listener, app, stop.clone(), options));
    Served { stop, done }
}

/// Waits until a gateway has seen so many, itself included.
async fn sees(gateway: &Gateway, number: usize) {
    let seen = tokio::time::timeout(DEADLINE, async {
        loop {
            let shown = gateway.get("/v1/admin/cluster", &[]).await.json();
            if shown["gateways"].as_array().unwrap().len() == number {
                return;
            }
            tokio::task::yield_now().await;
        }
    });
    seen.await.unwrap();
}

/// Does something while time stands still: nothing is found by looking again after a while, only
/// by what somebody announced.
async fn without_time<T>(work: impl Future<Output = T>) -> T {
    tokio::time::pause();
    let (done, is_done) = mpsc::channel::<()>();
    // While this runs, the clock does not move by itself.
    let watch = tokio::task::spawn_blocking(move || is_done.recv_timeout(DEADLINE).is_ok());
    let result = tokio::select! {
        result = work => result,
        _ = watch => panic!("nothing happens unless time passes"),
    };
    drop(done);
    tokio::time::resume();
    result
}
