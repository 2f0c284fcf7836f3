//! What a model and each of its deployments can have: the known model that it is, a limit of
//! concurrent calls, a price.

use prowess_provider::config::{ConcurrencyLimit, Price, ProviderConfig};
use prowess_provider::kinds;
use prowess_provider::known_models::BaseModel;

use crate::config::error::ConfigError;
use crate::config::values::DurationSetting;

/// The known model that a deployment is, as `base_model` of this entry says.
pub(super) fn base_model(
    entry: &str,
    written: Option<&str>,
    provider: &str,
    providers: &[ProviderConfig],
) -> Result<Option<BaseModel>, ConfigError> {
    let Some(written) = written else {
        return Ok(None);
    };
    let configured = providers.iter().find(|one| one.name == provider);
    let built_in = || {
        let mut all = kinds::all().iter();
        all.find(|kind| kind.provider == Some(provider))
            .map(|kind| kind.name)
    };
    let kind = configured.map(|one| one.kind.as_str()).or_else(built_in);
    let found = BaseModel::find(kind.unwrap_or_default(), provider, written);
    match (found, kind) {
        (Some(found), _) => Ok(Some(found)),
        // A provider that does not exist is an error of its own.
        (None, None) => Ok(None),
        (None, Some(kind)) => {
            let near = BaseModel::nearest(kind, provider, written);
            let near: Vec<_> = near.iter().map(|name| format!("`{name}`")).collect();
            let hint = match near.as_slice() {
                [] => "use MODEL or PROVIDER/MODEL as `prowess models` shows it".to_owned(),
                near => format!("did you mean {}?", near.join(" or ")),
            };
            let reason = format!("`{written}` is not a known model; {hint}");
            Err(ConfigError::invalid(format!("{entry}.base_model"), reason))
        }
    }
}

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

/// The price of an entry: of input, output, cache reads, cache writes, those for an hour, and web
/// searches.
pub(super) fn price(entry: &str, prices: [Option<f64>; 6]) -> Result<Option<Price>, ConfigError> {
    match prices {
        [
            Some(input),
            Some(output),
            cache_read,
            cache_write,
            cache_write_1h,
            web_search,
        ] => Ok(Some(Price {
            input,
            output,
            cache_read,
            cache_write,
            cache_write_1h,
            web_search,
            ..Price::default()
        })),
        [None, None, None, None, None, None] => Ok(None),
        _ => {
            let reason = "a price needs both input_price and output_price; 0 is allowed";
            Err(ConfigError::invalid(format!("{entry}.input_price"), reason))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_needs_input_and_output_and_has_all_else_that_is_set() {
        let [read, write, hour, search] = [Some(0.3), Some(3.75), Some(6.0), Some(10.0)];
        let all = [Some(3.0), Some(15.0), read, write, hour, search];
        let full = price("models.a", all).unwrap().unwrap();
        assert_eq!((full.input, full.output), (3.0, 15.0));
        assert_eq!((full.cache_read, full.cache_write), (read, write));
        assert_eq!((full.cache_write_1h, full.web_search), (hour, search));
        assert!(price("models.a", [None; 6]).unwrap().is_none());
        for alone in [
            [Some(3.0), None, None, None, None, None],
            [None, None, None, None, hour, None],
            [None, None, None, None, None, search],
        ] {
            assert!(price("models.a", alone).is_err(), "{alone:?}");
        }
    }
}
