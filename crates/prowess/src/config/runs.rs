//! `[runs]`: runs that go on without their client.

use prowess_engine::{EngineSettings, RerunPolicy};
use schemars::JsonSchema;
use serde::Deserialize;

use super::error::ConfigError;

pub(super) const KEYS: &[&str] = &["rerun", "max_open"];

/// The settings of this section.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KeptRunSettings {
    pub(super) rerun: RerunPolicy,
    pub(super) max_open: u64,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Runs")]
pub(super) struct RunsToml {
    /// Which unfinished commands of a kept run are run again when their server has died:
    /// `pure` (those without network access), `always` or `never`.
    rerun: Option<String>,
    /// Kept runs of a tenant that have not ended; more are refused.
    max_open: Option<u64>,
}

pub(super) fn check(raw: &RunsToml) -> Result<KeptRunSettings, ConfigError> {
    let rerun = match raw.rerun.as_deref() {
        None | Some("pure") => RerunPolicy::Pure,
        Some("always") => RerunPolicy::Always,
        Some("never") => RerunPolicy::Never,
        Some(other) => {
            let reason = format!("`{other}` is not pure, always or never");
            return Err(ConfigError::invalid("runs.rerun", reason));
        }
    };
    let default = EngineSettings::default().max_open_runs;
    let max_open = raw.max_open.unwrap_or(default);
    if max_open == 0 {
        return Err(ConfigError::invalid("runs.max_open", "must be 1 or more"));
    }
    Ok(KeptRunSettings { rerun, max_open })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<KeptRunSettings, String> {
        let raw: RunsToml = toml::from_str(text).map_err(|error| error.to_string())?;
        check(&raw).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_run_again_is_configured() {
        let rerun = |text| read(text).unwrap().rerun;
        assert_eq!(rerun(""), RerunPolicy::Pure);
        assert_eq!(rerun("rerun = 'pure'"), RerunPolicy::Pure);
        assert_eq!(rerun("rerun = 'always'"), RerunPolicy::Always);
        assert_eq!(rerun("rerun = 'never'"), RerunPolicy::Never);
        insta::assert_snapshot!(read("rerun = 'all'").unwrap_err(), @"runs.rerun: `all` is not pure, always or never");
    }

    #[test]
    fn the_number_of_open_runs_is_configured() {
        assert_eq!(read("").unwrap().max_open, 1_000);
        assert_eq!(read("max_open = 5").unwrap().max_open, 5);
        insta::assert_snapshot!(read("max_open = 0").unwrap_err(), @"runs.max_open: must be 1 or more");
    }
}
