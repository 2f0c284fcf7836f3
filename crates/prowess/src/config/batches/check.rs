//! Checks the limits of batches.

use std::time::Duration;

use prowess_server::BatchSettings;

use super::BatchesToml;
use crate::config::error::ConfigError;

const DAY: Duration = Duration::from_secs(24 * 3_600);

pub(in crate::config) fn check(raw: &BatchesToml) -> Result<BatchSettings, ConfigError> {
    let defaults = BatchSettings::default();
    let settings = BatchSettings {
        concurrency: positive("batches.concurrency", raw.concurrency, defaults.concurrency)?,
        tenant_concurrency: positive(
            "batches.tenant_concurrency",
            raw.tenant_concurrency,
            defaults.tenant_concurrency,
        )?,
        max_requests: positive(
            "batches.max_requests",
            raw.max_requests,
            defaults.max_requests,
        )?,
        max_bytes: positive("batches.max_bytes", raw.max_bytes, defaults.max_bytes)?,
        max_open: positive(
            "batches.tenant_batches",
            raw.tenant_batches,
            defaults.max_open,
        )?,
        max_stored_bytes: positive(
            "batches.tenant_bytes",
            raw.tenant_bytes,
            defaults.max_stored_bytes,
        )?,
        result_lifetime: result_lifetime(raw.result_days)?,
    };
    if settings.max_requests > BatchSettings::MAX_REQUESTS {
        let reason = format!("must be at most {}", BatchSettings::MAX_REQUESTS);
        return Err(ConfigError::invalid("batches.max_requests", reason));
    }
    Ok(settings)
}

fn positive<N: From<u8> + PartialEq>(
    setting: &'static str,
    given: Option<N>,
    default: N,
) -> Result<N, ConfigError> {
    match given {
        Some(given) if given == N::from(0) => {
            Err(ConfigError::invalid(setting, "must be 1 or more"))
        }
        given => Ok(given.unwrap_or(default)),
    }
}

fn result_lifetime(days: Option<u64>) -> Result<Duration, ConfigError> {
    let longest = BatchSettings::MAX_RESULT_LIFETIME;
    let Some(days) = days else {
        return Ok(BatchSettings::default().result_lifetime);
    };
    let lifetime = u32::try_from(days)
        .ok()
        .and_then(|days| DAY.checked_mul(days));
    match lifetime {
        Some(lifetime) if days > 0 && lifetime <= longest => Ok(lifetime),
        _ => {
            let reason = format!("must be 1 to {}", longest.as_secs() / DAY.as_secs());
            Err(ConfigError::invalid("batches.result_days", reason))
        }
    }
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
        let text = "concurrency = 1\ntenant_concurrency = 2\nmax_requests = 3\nmax_bytes = 4\n\
                    tenant_batches = 5\ntenant_bytes = 6\nresult_days = 7\n";
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
        for setting in super::super::KEYS {
            let refused = read(&format!("{setting} = 0")).unwrap_err();
            assert!(
                refused.starts_with(&format!("batches.{setting}: must be 1")),
                "{refused}"
            );
        }
        insta::assert_snapshot!(read("max_requests = 100001").unwrap_err(), @"batches.max_requests: must be at most 100000");
        insta::assert_snapshot!(read("result_days = 30").unwrap_err(), @"batches.result_days: must be 1 to 29");
    }
}
