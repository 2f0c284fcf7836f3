//! What a running server cannot change: where it listens, its limits on connections, its store,
//! its sandbox, its cluster and where it sends traces.
//!
//! Values are compared as they are understood, so that writing one differently is no change.

use std::fmt::Debug;

use prowess_sandbox::SandboxSettings;

use super::written_keys::hash_text;
use crate::config::Config;
use crate::config::file::ConfigToml;

/// Sections of which no key can change.
const SECTIONS: [&str; 6] = ["store", "blobs", "audit", "telemetry", "cluster", "worker"];

/// Values of settings that need a restart, as hashes that are only compared.
#[derive(Debug, Clone)]
pub(super) struct FixedSettings {
    /// By key.
    keys: Vec<(&'static str, u64)>,
    /// By name, in the order of [`SECTIONS`].
    sections: [u64; 6],
    sandbox: Option<SandboxSettings>,
}

impl FixedSettings {
    pub(super) fn new(config: &Config, raw: &ConfigToml) -> FixedSettings {
        let (server, options) = (&config.server, &config.server.options);
        FixedSettings {
            keys: vec![
                ("server.listen", hash(&server.listen)),
                ("server.data_dir", hash(&config.store.data_dir)),
                ("server.console", hash(&server.console)),
                ("server.realtime", hash(&server.realtime)),
                ("server.connections", hash(&options.connections)),
                (
                    "server.connections_per_address",
                    hash(&options.connections_per_address),
                ),
                ("server.head_timeout", hash(&options.head)),
                ("server.idle_timeout", hash(&options.idle)),
                ("server.shutdown_grace", hash(&options.grace)),
                (
                    "server.master_key (that there is one)",
                    hash(&server.settings.master_key.is_some()),
                ),
            ],
            sections: [
                hash(&raw.store),
                hash(&raw.blobs),
                hash(&raw.audit),
                hash(&raw.telemetry),
                hash(&raw.cluster),
                hash(&raw.worker),
            ],
            sandbox: config.sandbox.settings(config.sandbox.backend),
        }
    }

    /// The keys that cannot change and are different in `new`. `changed` has all keys that are
    /// written differently.
    pub(super) fn changes(&self, new: &FixedSettings, changed: &[String]) -> Vec<String> {
        let pairs = self.keys.iter().zip(&new.keys);
        let mut found: Vec<String> = pairs
            .filter(|((_, old), (_, new))| old != new)
            .map(|((key, _), _)| (*key).to_owned())
            .collect();
        let sections = SECTIONS.into_iter().zip(&self.sections).zip(&new.sections);
        let sections = sections.filter(|((_, old), new)| old != new);
        for ((section, _), _) in sections {
            add_keys_of(section, changed, &mut found);
        }
        if !self.has_same_sandbox(new) {
            add_keys_of("sandbox", changed, &mut found);
        }
        found
    }

    fn has_same_sandbox(&self, new: &FixedSettings) -> bool {
        match (&self.sandbox, &new.sandbox) {
            (None, None) => true,
            (Some(old), Some(new)) => {
                // The name of this program changes when it is replaced by another version.
                let new = SandboxSettings {
                    launcher: old.launcher.clone(),
                    ..new.clone()
                };
                hash(old) == hash(&new)
            }
            _ => false,
        }
    }
}

fn hash(value: &impl Debug) -> u64 {
    hash_text(&format!("{value:?}"))
}

/// Adds the changed keys of a section; without any, the section.
fn add_keys_of(section: &str, changed: &[String], found: &mut Vec<String>) {
    let prefix = format!("{section}.");
    let before = found.len();
    found.extend(
        changed
            .iter()
            .filter(|key| key.starts_with(&prefix))
            .cloned(),
    );
    if found.len() == before {
        found.push(section.to_owned());
    }
}
