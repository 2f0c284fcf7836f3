//! What clients send: requests of about one kilobyte, and streams.

use prowess_bench::gateway::client::ModelRequest;

/// One kind of workload.
pub(crate) struct Workload {
    pub(crate) what: &'static str,
    pub(crate) request: ModelRequest,
    pub(crate) clients: usize,
    /// Requests of each client per round.
    pub(crate) each: usize,
    /// Whether costs are per event rather than per request.
    pub(crate) per_event: bool,
}

/// Requests and streams for a model of this name.
pub(crate) fn works(model: &str) -> Vec<Workload> {
    let stream = |what, clients, prompt| Workload {
        what,
        request: ModelRequest::messages(model, prompt, true),
        clients,
        each: 1,
        per_event: true,
    };
    vec![
        small(model, "a request, 1 connection", 1, 2_000),
        small(model, "a request, 16 connections", 16, 300),
        stream(
            "an event, 16 streams, 1 ms apart",
            16,
            "events=500 pause_us=1000",
        ),
        stream("an event, unthrottled", 1, "events=50000 pause_us=0"),
    ]
}

/// Requests that gateways log.
pub(crate) fn works_with_request_logs(model: &str) -> [Workload; 2] {
    [
        small(model, "a request, 1 connection, request logs on", 1, 2_000),
        small(model, "a request, 16 connections, request logs on", 16, 300),
    ]
}

fn small(model: &str, what: &'static str, clients: usize, each: usize) -> Workload {
    Workload {
        what,
        request: ModelRequest::small(model),
        clients,
        each,
        per_event: false,
    }
}
