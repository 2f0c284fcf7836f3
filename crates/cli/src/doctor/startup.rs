//! What a starting server says is missing: the parts that cost nothing to check. Whether the
//! sandbox works is found out in the background and logged.

use prowess::config::Config;

use super::part::{PartReport, PartState};
use super::{cluster, host, providers, runtime};

/// One line for each part that is not as it should be.
pub(crate) fn startup_remarks(config: &Config) -> Vec<String> {
    let mut parts: Vec<PartReport> = Vec::new();
    let settings = config.sandbox.settings(config.sandbox.backend);
    if let Some(settings) = cluster::local_sandbox(config, settings) {
        parts.extend(runtime::check_settings(&settings));
    }
    parts.extend(providers::check_keys(&config.gateway));
    parts.extend(host::check_disk(&config.store));
    parts.retain(|part| part.state != PartState::Ok);
    let line = |part: PartReport| {
        let advice = part.advice.map(|advice| format!("; {advice}"));
        let advice = advice.unwrap_or_default();
        let mark = match part.state {
            PartState::Missing => "missing",
            PartState::Ok | PartState::Note => "note",
        };
        format!("{mark}: {}: {}{advice}", part.part, part.detail)
    };
    parts.into_iter().map(line).collect()
}
