//! `[runs]`: runs that go on without their client.

use prowess_engine::RerunPolicy;
use schemars::JsonSchema;
use serde::Deserialize;

use super::error::ConfigError;

pub(super) const KEYS: &[&str] = &["rerun"];

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Runs")]
pub(super) struct RunsToml {
    /// Which unfinished commands of a kept run are run again when their server has died:
    /// `pure` (those without network access), `always` or `never`.
    rerun: Option<String>,
}

pub(super) fn check(raw: &RunsToml) -> Result<RerunPolicy, ConfigError> {
    match raw.rerun.as_deref() {
        None | Some("pure") => Ok(RerunPolicy::Pure),
        Some("always") => Ok(RerunPolicy::Always),
        Some("never") => Ok(RerunPolicy::Never),
        Some(other) => {
            let reason = format!("`{other}` is not pure, always or never");
            Err(ConfigError::invalid("runs.rerun", reason))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<RerunPolicy, String> {
        let raw: RunsToml = toml::from_str(text).map_err(|error| error.to_string())?;
        check(&raw).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_run_again_is_configured() {
        assert_eq!(read(""), Ok(RerunPolicy::Pure));
        assert_eq!(read("rerun = 'pure'"), Ok(RerunPolicy::Pure));
        assert_eq!(read("rerun = 'always'"), Ok(RerunPolicy::Always));
        assert_eq!(read("rerun = 'never'"), Ok(RerunPolicy::Never));
        insta::assert_snapshot!(read("rerun = 'all'").unwrap_err(), @"runs.rerun: `all` is not pure, always or never");
    }
}
