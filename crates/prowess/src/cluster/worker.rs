//! What a worker is started with: the configuration, and what overrides it.

use std::path::PathBuf;
use std::sync::Arc;

use prowess_bus::{NatsSettings, subject};
use prowess_sandbox::SandboxSettings;
use prowess_worker::WorkerSettings;
use prowess_worker::protocol::worker_inbox_prefix;
use prowess_worker::service::CommandObserver;

use super::connection::nats_settings;
use super::names::new_name;
use super::worker_traces::WorkerTraces;
use crate::config::{ClusterConfig, Config, ConfigError};
use crate::provider::SecretText;

/// Settings of a worker from outside the file, which override it.
#[derive(Debug, Clone, Default)]
pub struct WorkerOverrides {
    /// Addresses of NATS servers, instead of `cluster.nats`.
    pub servers: Vec<String>,
    /// Instead of `worker.id`.
    pub id: Option<String>,
    /// Instead of `worker.state_dir`.
    pub state_dir: Option<PathBuf>,
    /// Instead of `worker.slots`.
    pub slots: Option<usize>,
}

/// What a worker is started with.
#[derive(Debug)]
pub struct WorkerSetup {
    /// The connection to the NATS servers.
    pub connection: NatsSettings,
    /// The settings of its service.
    pub worker: WorkerSettings,
    /// The settings of its sandbox, which is its alone.
    pub sandbox: SandboxSettings,
    /// The spans of its commands, if they are sent anywhere.
    pub traces: Option<WorkerTraces>,
}

/// The settings of a worker.
///
/// # Errors
/// When no NATS server is named, a name cannot be one, or the sandbox is off.
pub fn worker_setup(config: &Config, given: WorkerOverrides) -> Result<WorkerSetup, ConfigError> {
    let cluster = cluster_config(config, given.servers)?;
    let id = given.id.or_else(|| config.worker.id.clone());
    let id = id.unwrap_or_else(new_name);
    if let Err(error) = subject::token(&id) {
        return Err(ConfigError::invalid("worker.id", error.to_string()));
    }
    let Some(sandbox) = config.sandbox.settings(config.sandbox.backend) else {
        let reason = "a worker runs commands, and needs a sandbox: native or docker";
        return Err(ConfigError::invalid("sandbox.backend", reason));
    };
    let slots = given.slots.or(config.worker.slots);
    let slots = slots.unwrap_or(sandbox.running);
    if slots == 0 {
        let reason = "nothing could run; give at least 1";
        return Err(ConfigError::invalid("worker.slots", reason));
    }
    let folder = given.state_dir;
    let folder = folder.unwrap_or_else(|| config.worker.state_dir.clone());
    let telemetry = config.server.settings.telemetry.clone();
    let traces = telemetry.map(|telemetry| WorkerTraces::new(telemetry, &id));
    let observer = traces.clone();
    let worker = WorkerSettings {
        observer: observer.map(|traces| -> Arc<dyn CommandObserver> { Arc::new(traces) }),
        namespace: cluster.namespace.clone(),
        slots,
        waiting: config.worker.waiting.unwrap_or(slots),
        cache_bytes: config.worker.cache_bytes,
        drain_timeout: config.worker.drain_timeout,
        ..WorkerSettings::new(&id, folder.join("cache"))
    };
    let inboxes = worker_inbox_prefix(&cluster.namespace, &id);
    Ok(WorkerSetup {
        connection: nats_settings(&cluster, inboxes, format!("prowess worker {id}")),
        sandbox: SandboxSettings {
            folder: folder.join("sandbox"),
            running: slots,
            waiting: worker.waiting,
            ..sandbox
        },
        worker,
        traces,
    })
}

fn cluster_config(config: &Config, servers: Vec<String>) -> Result<ClusterConfig, ConfigError> {
    let mut cluster = match (&config.cluster, servers.as_slice()) {
        (Some(cluster), _) => cluster.clone(),
        (None, [_, ..]) => ClusterConfig::with_defaults(),
        (None, []) => {
            let reason = "name the NATS servers of the cluster here, or with --nats";
            return Err(ConfigError::invalid("cluster.nats", reason));
        }
    };
    if !servers.is_empty() {
        cluster.servers = servers.iter().map(SecretText::new).collect();
    }
    Ok(cluster)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::ConfigOverrides;

    fn read_config(text: &str) -> Config {
        let overrides = ConfigOverrides {
            data_dir: Some("/data".into()),
            ..ConfigOverrides::default()
        };
        Config::read(text, Path::new(""), &overrides).unwrap()
    }

    #[test]
    fn a_worker_is_what_the_file_describes() {
        let config = read_config(
            "[cluster]\nnats = \"nats://a\"\nuser = \"w-1\"\npassword = \"p\"\nnamespace = \"n\"\n\
             [worker]\nid = \"w-1\"\nslots = 3\nstate_dir = \"/state\"\ncache_size = \"1M\"\n\
             [sandbox]\nrunning = 9\nidle_timeout = \"1m\"\n",
        );
        let setup = worker_setup(&config, WorkerOverrides::default()).unwrap();
        assert_eq!(setup.connection.servers, ["nats://a"]);
        assert_eq!(setup.connection.user.as_deref(), Some("w-1"));
        assert_eq!(setup.connection.inbox_prefix, "n.w.w-1.in");
        assert_eq!((setup.worker.id.as_str(), setup.worker.slots), ("w-1", 3));
        assert_eq!(
            (setup.worker.waiting, setup.worker.cache_bytes),
            (3, 1 << 20)
        );
        assert_eq!(setup.worker.folder, Path::new("/state/cache"));
        assert_eq!(setup.sandbox.folder, Path::new("/state/sandbox"));
        assert_eq!(setup.sandbox.running, 3);
        assert_eq!(setup.sandbox.container_idle.as_secs(), 60);
    }

    #[test]
    fn arguments_override_the_file_and_suffice() {
        let given = WorkerOverrides {
            servers: vec!["nats://b".to_owned()],
            id: Some("w-2".to_owned()),
            state_dir: Some("/elsewhere".into()),
            slots: Some(2),
        };
        let setup = worker_setup(&read_config(""), given).unwrap();
        assert_eq!(setup.connection.servers, ["nats://b"]);
        assert_eq!(setup.connection.inbox_prefix, "prowess.w.w-2.in");
        assert_eq!(setup.worker.folder, Path::new("/elsewhere/cache"));
        assert_eq!(setup.sandbox.running, 2);
        let setup = worker_setup(
            &read_config("[cluster]\nnats = \"nats://a\"\n[worker]\n"),
            WorkerOverrides::default(),
        );
        let setup = setup.unwrap();
        assert_eq!(setup.worker.slots, setup.sandbox.running);
        subject::token(&setup.worker.id).unwrap();
    }

    #[test]
    fn what_is_missing_is_named() {
        let problem = |text: &str, given| {
            let refused = worker_setup(&read_config(text), given);
            refused.unwrap_err().to_string()
        };
        insta::assert_snapshot!(problem("", WorkerOverrides::default()), @"cluster.nats: name the NATS servers of the cluster here, or with --nats");
        let text = "[cluster]\nnats = \"nats://a\"\n[worker]\n[sandbox]\nbackend = \"off\"\n";
        insta::assert_snapshot!(problem(text, WorkerOverrides::default()), @"sandbox.backend: a worker runs commands, and needs a sandbox: native or docker");
        let text = "[cluster]\nnats = \"nats://a\"\n[worker]\n";
        let given = WorkerOverrides {
            id: Some("a.b".to_owned()),
            ..WorkerOverrides::default()
        };
        insta::assert_snapshot!(problem(text, given), @"worker.id: `a.b` is not a token of a subject: use letters, digits, `_` and `-`, at most 255 bytes");
    }
}
