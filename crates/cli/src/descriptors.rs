//! Raises a server's limit on file descriptors, and fits its number of connections to it.

use prowess::config::ServerConfig;

/// An upper bound where the system has none: programs that close every descriptor up to
/// the limit would never finish.
#[cfg(target_os = "linux")]
const MAX_DESCRIPTORS: u64 = 1 << 20;
/// Descriptors that a server needs besides connections: store, files, sandboxes.
const OWN_DESCRIPTORS: u64 = 256;
/// A connection whose request is forwarded to a model needs two.
const DESCRIPTORS_PER_CONNECTION: u64 = 2;
/// The minimum, however few descriptors there are.
const MIN_CONNECTIONS: usize = 16;

/// Raises this process's limit on descriptors as far as it can without privileges, and
/// returns it.
#[cfg(target_os = "linux")]
pub(super) fn raise_limit() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX).min(MAX_DESCRIPTORS);
    let now = limit.current?;
    if now >= most {
        return Some(now);
    }
    let raised = Rlimit {
        current: Some(most),
        maximum: limit.maximum,
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => Some(most),
        Err(_) => Some(now),
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn raise_limit() -> Option<u64> {
    None
}

/// Lowers the number of connections to what the descriptors suffice for, so that no request
/// fails for lack of one.
pub(super) fn fit_connections(descriptors: Option<u64>, server: &mut ServerConfig) {
    let ServerConfig {
        settings, options, ..
    } = server;
    let Some(connections) = descriptors.map(max_connections) else {
        return;
    };
    if connections < options.connections {
        tracing::warn!(
            descriptors,
            configured = options.connections,
            connections,
            "the limit on open files is too low for the configured connections, so fewer are \
             accepted; raise it (ulimit -n, LimitNOFILE=) to more than twice `connections`"
        );
        options.connections = connections;
        // One tenant must not get all of them.
        settings.requests_per_tenant = settings.requests_per_tenant.min(connections / 2);
    }
}

fn max_connections(descriptors: u64) -> usize {
    let own = OWN_DESCRIPTORS.min(descriptors / 4);
    let connections = (descriptors - own) / DESCRIPTORS_PER_CONNECTION;
    usize::try_from(connections)
        .unwrap_or(usize::MAX)
        .max(MIN_CONNECTIONS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prowess_server::{ServeOptions, ServerSettings};

    fn fit_test_connections(descriptors: Option<u64>, connections: usize) -> usize {
        let mut server = ServerConfig {
            realtime: true,
            console: true,
            listen: ([127, 0, 0, 1], 0).into(),
            settings: ServerSettings::default(),
            options: ServeOptions {
                connections,
                ..ServeOptions::default()
            },
        };
        fit_connections(descriptors, &mut server);
        server.options.connections
    }

    #[test]
    fn connections_never_need_more_descriptors_than_there_are() {
        assert_eq!(fit_test_connections(Some(1_024), 4_096), 384);
        assert_eq!(fit_test_connections(Some(1_024), 64), 64);
        assert_eq!(fit_test_connections(Some(1 << 20), 4_096), 4_096);
        assert_eq!(fit_test_connections(Some(10), 4_096), MIN_CONNECTIONS);
        assert_eq!(fit_test_connections(None, 4_096), 4_096);
    }
}
