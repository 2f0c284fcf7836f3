//! The checks that a running server makes for `GET /v1/admin/doctor`. Unlike those of the
//! command, they use what is open already: the sandbox as it was probed at the start, and no
//! second connection to the store, which the server checks itself. The configuration is read
//! again, so that a mistake in it is seen before the server is restarted.

use std::net::SocketAddr;

use prowess::Prowess;
use prowess::config::Config;
use prowess::config::reload::ConfigSource;
use prowess_sandbox::Probe;
use prowess_server::{ChecksFuture, InstallationChecks};

use super::part::PartReport;
use super::{cluster, host, providers, runtime, sandbox};

const CONFIGURATION: &str = "configuration";
/// Problems of a configuration that are listed.
const MAX_PROBLEMS: usize = 20;

/// Checks the installation of a server that runs.
pub(crate) struct ServerChecks {
    prowess: Prowess,
    source: ConfigSource,
    listen: SocketAddr,
}

impl ServerChecks {
    /// For a server that listens on an address, and whose configuration is read from `source`.
    pub(crate) fn new(prowess: Prowess, source: ConfigSource, listen: SocketAddr) -> Self {
        ServerChecks {
            prowess,
            source,
            listen,
        }
    }

    async fn check_all(&self) -> Vec<PartReport> {
        let opened = self.prowess.sandbox().await;
        let (probe, refusal) = match &opened {
            Ok(sandbox) => (sandbox.host_probe(), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let source = self.source.clone();
        // Files are read.
        let checked = tokio::task::spawn_blocking(move || check_files(&source, probe, refusal));
        let mut parts = checked.await.unwrap_or_else(|error| {
            let advice = "run `prowess doctor` on the server's machine";
            vec![PartReport::missing("checks", error.to_string(), advice)]
        });
        let port = format!("this server listens on {}", self.listen);
        parts.push(PartReport::ok(host::PORT, port));
        parts
    }
}

impl InstallationChecks for ServerChecks {
    fn check(&self) -> ChecksFuture<'_> {
        Box::pin(self.check_all())
    }
}

fn check_files(
    source: &ConfigSource,
    probe: Option<Probe>,
    refusal: Option<String>,
) -> Vec<PartReport> {
    let mut parts = Vec::new();
    let loaded = source.load();
    match &loaded {
        Ok(loaded) => {
            let detail = format!("valid: {}", loaded.source);
            parts.push(PartReport::ok(CONFIGURATION, detail));
        }
        Err(problems) => parts.extend(problems.iter().take(MAX_PROBLEMS).map(|problem| {
            let advice = "correct it: the server goes on with what it read before, and would \
                          not start with this";
            PartReport::missing(CONFIGURATION, problem.to_string(), advice)
        })),
    }
    let config = loaded.ok().map(|loaded| loaded.config);
    match (&probe, refusal) {
        (Some(probe), _) => parts.extend(sandbox::parts(probe)),
        (None, Some(refusal)) if is_enabled(config.as_ref()) => parts.push(PartReport::missing(
            "sandbox",
            refusal,
            "run `prowess doctor` on the server's machine to see what is missing",
        )),
        _ => {}
    }
    if let Some(config) = config {
        let settings = config.sandbox.settings(config.sandbox.backend);
        if settings.is_some() && config.is_gateway() {
            parts.push(cluster::remote_sandbox());
        } else {
            parts.extend(runtime::check(settings.as_ref(), probe.as_ref()));
        }
        parts.extend(providers::check(&config.gateway));
        parts.extend(host::check_disk(&config.store));
    }
    parts
}

/// Whether there should be a sandbox. [`runtime::check`] says that it is off.
fn is_enabled(config: Option<&Config>) -> bool {
    let settings = |config: &Config| config.sandbox.settings(config.sandbox.backend);
    config.is_none_or(|config| settings(config).is_some())
}
