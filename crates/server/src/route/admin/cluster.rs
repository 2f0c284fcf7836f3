//! `GET /v1/admin/cluster`: the gateways and workers of the cluster, as this gateway knows them
//! by their heartbeats. Another gateway may know others.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::Principal;
use crate::cluster::gateway_beat::GatewayBeat;
use crate::cluster::join::own_beat;
use crate::cluster::link::ClusterLink;
use crate::cluster::member_state::MemberState;
use crate::cluster::view::ClusterWorker;
use crate::error::HttpError;

pub(super) async fn get(
    State(app): State<App>,
    principal: Principal,
) -> Result<Json<Value>, HttpError> {
    principal.require_operator()?;
    Ok(Json(match app.cluster() {
        Some(link) => cluster_json(&app, link),
        None => json!({
            "type": "cluster",
            "gateway": null,
            "bus": null,
            "gateways": [],
            "workers": [],
        }),
    }))
}

fn cluster_json(app: &App, link: &ClusterLink) -> Value {
    let own = own_beat(app, link);
    let state = MemberState::new(true, own.draining);
    let mut gateways = vec![gateway_json(&own, state, Duration::ZERO)];
    gateways.extend(link.other_gateways().iter().map(|other| {
        let state = MemberState::from_gateway(other);
        gateway_json(&other.beat, state, other.age)
    }));
    let workers = link.workers().unwrap_or_default();
    let workers: Vec<Value> = workers.iter().map(worker_json).collect();
    let bus = link.statistics();
    json!({
        "type": "cluster",
        "gateway": link.gateway(),
        "bus": {
            "connected": link.is_connected(),
            "published": bus.published,
            "received": bus.received,
            "lost": bus.dropped,
            "reconnects": bus.reconnects,
        },
        "gateways": gateways,
        "workers": workers,
    })
}

fn gateway_json(beat: &GatewayBeat, state: MemberState, age: Duration) -> Value {
    json!({
        "id": beat.id,
        "version": beat.version,
        "state": state.as_str(),
        "kept_runs": beat.running,
        "leases": beat.leases,
        "seen_ms_ago": millis(age),
    })
}

fn worker_json(worker: &ClusterWorker) -> Value {
    json!({
        "id": worker.id,
        "version": worker.version,
        "state": MemberState::from_worker(worker).as_str(),
        "grade": worker.grade,
        "running": worker.running,
        "waiting": worker.waiting,
        "slots": worker.slots,
        "free_disk_bytes": worker.free_disk_bytes,
        "seen_ms_ago": millis(worker.age),
    })
}

fn millis(age: Duration) -> u64 {
    u64::try_from(age.as_millis()).unwrap_or(u64::MAX)
}
