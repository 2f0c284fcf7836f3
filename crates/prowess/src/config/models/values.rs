//! What a model and each of its deployments can have: a limit of concurrent calls, a price.

use prowess_provider::config::{ConcurrencyLimit, Price};

use crate::config::error::ConfigError;
use crate::config::values::DurationSetting;

/// The limit of concurrent calls of an entry.
pub(super) fn limit(
    entry: &str,
    concurrent: Option<usize>,
    queued: Option<usize>,
    wait: Option<DurationSetting>,
) -> Result<Option<ConcurrencyLimit>, ConfigError> {
    match concurrent {
        Some(concurrent) => {
            let defaults = ConcurrencyLimit::new(concurrent);
            Ok(Some(ConcurrencyLimit {
                queued: queued.unwrap_or(defaults.queued),
                wait: wait.map_or(defaults.wait, DurationSetting::get),
                ..defaults
            }))
        }
        None if queued.is_some() || wait.is_some() => {
            let reason = "calls wait only when `concurrent` is set; set it too";
            Err(ConfigError::invalid(format!("{entry}.queued"), reason))
        }
        None => Ok(None),
    }
}

/// The price of an entry: of input, output, cache reads and cache writes.
pub(super) fn price(entry: &str, prices: [Option<f64>; 4]) -> Result<Option<Price>, ConfigError> {
    match prices {
        [Some(input), Some(output), cache_read, cache_write] => Ok(Some(Price {
            input,
            output,
            cache_read,
            cache_write,
        })),
        [None, None, None, None] => Ok(None),
        _ => {
            let reason = "a price needs both input_price and output_price; 0 is allowed";
            Err(ConfigError::invalid(format!("{entry}.input_price"), reason))
        }
    }
}
