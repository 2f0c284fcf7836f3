//! Subjects of workers and inboxes. Ids in them are single tokens; whoever reads an id from
//! outside checks it first (`prowess_bus::subject`).

/// Where workers publish their beats.
#[must_use]
pub fn beats_subject(namespace: &str) -> String {
    format!("{namespace}.hb.w")
}

/// Where a worker receives requests.
#[must_use]
pub fn requests_subject(namespace: &str, worker: &str) -> String {
    format!("{namespace}.w.{worker}.do")
}

/// The prefix of a worker's inboxes, which receive answers of gateways.
#[must_use]
pub fn worker_inbox_prefix(namespace: &str, worker: &str) -> String {
    format!("{namespace}.w.{worker}.in")
}

/// The prefix of a gateway's inboxes, which receive replies of workers.
#[must_use]
pub fn gateway_inbox_prefix(namespace: &str, gateway: &str) -> String {
    format!("{namespace}.g.{gateway}.in")
}
