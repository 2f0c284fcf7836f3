//! `[runs]`: runs that go on without their client.

use prowess_engine::RerunPolicy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::ConfigError;

/// The settings of this section.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KeptRunSettings {
    pub(super) rerun: RerunPolicy,
    pub(super) max_open: u64,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Runs")]
pub(super) struct RunsToml {
    /// Which unfinished commands of a kept run are run again when their server has died.
    rerun: RerunSetting,
    /// Kept runs of a tenant that have not ended; more are refused.
    max_open: u64,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum RerunSetting {
    /// Those without network access.
    Pure,
    /// All.
    Always,
    /// None.
    Never,
}

impl Default for RunsToml {
    fn default() -> Self {
        RunsToml {
            rerun: RerunSetting::Pure,
            max_open: 1_000,
        }
    }
}

pub(super) fn check(raw: &RunsToml) -> Result<KeptRunSettings, ConfigError> {
    if raw.max_open == 0 {
        return Err(ConfigError::invalid("runs.max_open", "must be 1 or more"));
    }
    Ok(KeptRunSettings {
        rerun: match raw.rerun {
            RerunSetting::Pure => RerunPolicy::Pure,
            RerunSetting::Always => RerunPolicy::Always,
            RerunSetting::Never => RerunPolicy::Never,
        },
        max_open: raw.max_open,
    })
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
        let refused = read("rerun = 'all'").unwrap_err();
        assert!(refused.contains("`pure`, `always`, `never`"), "{refused}");
    }

    #[test]
    fn the_number_of_open_runs_is_configured() {
        assert_eq!(read("").unwrap().max_open, 1_000);
        assert_eq!(read("max_open = 5").unwrap().max_open, 5);
        insta::assert_snapshot!(read("max_open = 0").unwrap_err(), @"runs.max_open: must be 1 or more");
    }
}
