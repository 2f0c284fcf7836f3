//! Checks the limits of batches.

use std::time::Duration;

use prowess_server::BatchSettings;

use super::BatchesToml;
use crate::config::error::ConfigError;

const DAY: Duration = Duration::from_secs(24 * 3_600);

pub(in crate::config) fn check(raw: &BatchesToml) -> Result<BatchSettings, ConfigError> {
    let settings = BatchSettings {
        concurrency: positive("batches.concurrency", raw.concurrency)?,
        tenant_concurrency: positive("batches.tenant_concurrency", raw.tenant_concurrency)?,
        max_requests: positive("batches.max_requests", raw.max_requests)?,
        max_bytes: positive("batches.max_size", raw.max_size.get())?,
        max_open: positive("batches.tenant_batches", raw.tenant_batches)?,
        max_stored_bytes: positive("batches.tenant_size", raw.tenant_size.get())?,
        result_lifetime: result_lifetime(raw.result_retention.get())?,
    };
    if settings.max_requests > BatchSettings::MAX_REQUESTS {
        let reason = format!("must be at most {}", BatchSettings::MAX_REQUESTS);
        return Err(ConfigError::invalid("batches.max_requests", reason));
    }
    Ok(settings)
}

fn positive<N: From<u8> + PartialEq>(setting: &'static str, given: N) -> Result<N, ConfigError> {
    if given == N::from(0) {
        return Err(ConfigError::invalid(setting, "must be 1 or more"));
    }
    Ok(given)
}

fn result_lifetime(given: Duration) -> Result<Duration, ConfigError> {
    let longest = BatchSettings::MAX_RESULT_LIFETIME;
    if given < DAY || given > longest {
        let reason = format!("must be 1d to {}d", longest.as_secs() / DAY.as_secs());
        return Err(ConfigError::invalid("batches.result_retention", reason));
    }
    Ok(given)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<BatchSettings, String> {
        let raw: BatchesToml = toml::from_str(text).map_err(|error| error.to_string())?;
        check(&raw).map_err(|error| error.to_string())
    }

    #[test]
    fn every_limit_is_configured() {
        assert_eq!(read(""), Ok(BatchSettings::default()));
        let text = "concurrency = 1\ntenant_concurrency = 2\nmax_requests = 3\nmax_size = 4\n\
                    tenant_batches = 5\ntenant_size = 6\nresult_retention = '7d'\n";
        let settings = BatchSettings {
            concurrency: 1,
            tenant_concurrency: 2,
            max_requests: 3,
            max_bytes: 4,
            max_open: 5,
            max_stored_bytes: 6,
            result_lifetime: DAY * 7,
        };
        assert_eq!(read(text), Ok(settings));
    }

    #[test]
    fn a_limit_that_cannot_be_is_refused() {
        for setting in [
            "concurrency",
            "tenant_concurrency",
            "max_requests",
            "max_size",
            "tenant_batches",
            "tenant_size",
            "result_retention",
        ] {
            let refused = read(&format!("{setting} = 0")).unwrap_err();
            assert!(
                refused.starts_with(&format!("batches.{setting}: must be 1")),
                "{refused}"
            );
        }
        insta::assert_snapshot!(read("max_requests = 100001").unwrap_err(), @"batches.max_requests: must be at most 100000");
        insta::assert_snapshot!(read("result_retention = 30").unwrap_err(), @"batches.result_retention: must be 1d to 29d");
    }
}
