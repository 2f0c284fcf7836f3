//! Configuration files of a fleet.

use std::path::Path;

use super::BUCKET;
use super::plan::FleetPlan;
use crate::seaweed::Seaweed;

pub(super) const GATEWAY_PASSWORD: &str = "password-of-gateways";

/// The id of a worker, which is its user of NATS too.
pub(super) fn worker_name(number: usize) -> String {
    format!("worker-{number}")
}

pub(super) fn worker_password(number: usize) -> String {
    format!("password-of-worker-{number}")
}

/// Users with their permissions: gateways may do everything; a worker receives what is sent to
/// it, publishes its beats, and replies.
pub(super) fn nats(workers: usize) -> String {
    let mut text = format!(
        "authorization {{\n  users = [\n    {{ user: gateway, password: \"{GATEWAY_PASSWORD}\", \
         permissions: {{ publish: \"prowess.>\", subscribe: \"prowess.>\" }} }}\n"
    );
    for number in 0..workers {
        let (name, password) = (worker_name(number), worker_password(number));
        text += &format!(
            "    {{ user: {name}, password: \"{password}\", permissions: {{ \
             subscribe: \"prowess.w.{name}.>\", publish: \"prowess.hb.w\", \
             allow_responses: {{ max: -1, expires: \"30m\" }} }} }}\n"
        );
    }
    text += "  ]\n}\n";
    text
}

pub(super) fn gateway(name: &str, nats: u16, blobs: u16, more: &str) -> String {
    let (key, secret) = (Seaweed::ACCESS_KEY, Seaweed::SECRET_KEY);
    format!(
        "[blobs]\nurl = \"s3://{BUCKET}/data\"\ninline_size = \"2K\"\n\
         [blobs.options]\naws_access_key_id = \"{key}\"\naws_secret_access_key = \"{secret}\"\n\
         aws_region = \"us-east-1\"\naws_endpoint = \"http://127.0.0.1:{blobs}\"\n\
         aws_allow_http = \"true\"\n\
         [cluster]\nnats = \"nats://127.0.0.1:{nats}\"\nuser = \"gateway\"\n\
         password = \"{GATEWAY_PASSWORD}\"\ngateway = \"{name}\"\n{more}"
    )
}

pub(super) fn worker(number: usize, nats: u16, plan: &FleetPlan, folder: &Path) -> String {
    let (slots, more) = (plan.slots, &plan.worker_config);
    let state = folder.join("state");
    let state = state.display();
    let (name, password) = (worker_name(number), worker_password(number));
    format!(
        "[cluster]\nnats = \"nats://127.0.0.1:{nats}\"\nuser = \"{name}\"\n\
         password = \"{password}\"\n\
         [worker]\nid = \"{name}\"\nslots = {slots}\nstate_dir = \"{state}\"\n{more}"
    )
}
