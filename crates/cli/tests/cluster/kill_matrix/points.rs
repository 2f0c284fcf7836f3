//! The places at which gateways and workers stop.

use super::component::Component;

/// All places that a kept run of two commands passes, in each of its turns. That of events which
/// are stored in the middle of a turn needs a model that hangs: `durable_runs.rs` has it.
const ALL: &[&str] = &[
    "before-turn:1",
    "before-turn:2",
    "before-turn:3",
    "in-stream:1",
    "in-stream:11",
    "in-stream:18",
    "turn-received:1",
    "turn-received:2",
    "turn-received:3",
    "turn-stored:1",
    "turn-stored:2",
    "turn-stored:3",
    "before-command:1",
    "before-command:2",
    "before-exec:1",
    "before-exec:2",
    "exec-ended:1",
    "exec-ended:2",
    "command-done:1",
    "command-done:2",
    "files-staged:1",
    "files-staged:2",
    "results-stored:1",
    "results-stored:2",
    "before-end",
    "ended",
];

/// Those around the second command, when there are files: the others are about the journal, which
/// only gateways and PostgreSQL write.
const ONCE: &[&str] = &[
    "in-stream:11",
    "turn-stored:2",
    "before-command:2",
    "before-exec:2",
    "exec-ended:2",
    "command-done:2",
    "files-staged:2",
    "results-stored:2",
];

/// Those of a gateway that sends the webhook of a run, which need not be the run's own.
pub(super) const OF_WEBHOOKS: &[&str] = &["webhook-taken", "webhook-sent"];

/// Those of a worker, which runs the first command.
const OF_WORKERS: &[&str] = &[
    "worker-before-command",
    "worker-after-command",
    "worker-before-delivery",
    "worker-after-delivery",
];

/// Those at which another component is killed while a worker stands still: its result is on its
/// way, or its gateway already knows it.
const OF_WORKERS_ONCE: &[&str] = &["worker-before-delivery", "worker-after-delivery"];

/// Those of a command that belongs to no kept run, and whether its changes are there afterwards.
pub(super) const OF_FOREGROUND: &[(&str, bool)] = &[
    ("before-exec", false),
    ("exec-ended", false),
    ("changes-staged", false),
    ("changes-committed", true),
];

/// The places at which this component is killed: all, or those that differ.
pub(super) fn of_gateways(component: Component, everything: bool) -> Vec<&'static str> {
    match component {
        Component::Gateway | Component::Database => ALL.to_vec(),
        _ if everything => ALL.to_vec(),
        _ => ONCE.to_vec(),
    }
}

/// The places of workers at which this component is killed: all, or those that differ.
pub(super) fn of_workers(component: Component, everything: bool) -> &'static [&'static str] {
    match component {
        Component::Worker => OF_WORKERS,
        _ if everything => OF_WORKERS,
        _ => OF_WORKERS_ONCE,
    }
}

/// Whether this component is killed while a webhook is sent: only gateways and PostgreSQL know of
/// webhooks.
pub(super) fn has_webhooks(component: Component, everything: bool) -> bool {
    everything || matches!(component, Component::Gateway | Component::Database)
}
