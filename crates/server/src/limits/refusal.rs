//! Why a key's request was not let through, in no dialect.

use std::time::Duration;

use prowess_provider::Target;
use prowess_store::{BudgetPeriod, Error as StoreError, KeyBudget, KeyRecord};
use prowess_wire::excerpt;
use prowess_wire::neutral::{ApiError, ErrorKind};

/// When it is worth trying again while others hold back what is left.
const RESERVED_RETRY_DELAY: Duration = Duration::from_secs(1);

/// Why a request was not let through.
#[derive(Debug)]
pub(crate) struct RequestRefusal {
    pub(crate) error: Box<ApiError>,
    /// When it is worth coming again.
    pub(crate) retry_after: Option<Duration>,
    /// Whether a client should do so by itself.
    pub(crate) retry: bool,
}

impl RequestRefusal {
    /// A model that is not among those of the key.
    pub(crate) fn model_not_allowed(key: &KeyRecord, model: &str) -> RequestRefusal {
        let message = format!(
            "key `{}` may not use model `{}`; it may use {}",
            key.prefix,
            excerpt(model),
            key.limits.models.join(", ")
        );
        RequestRefusal::permanent(ErrorKind::Permission, 403, "model-not-allowed", message)
    }

    pub(super) fn request_rate(key: &KeyRecord, rate: u32, wait: Duration) -> RequestRefusal {
        RequestRefusal::rate_limited(format!("{rate} requests"), key, wait)
    }

    pub(super) fn token_rate(key: &KeyRecord, rate: u64, wait: Duration) -> RequestRefusal {
        RequestRefusal::rate_limited(format!("{rate} tokens"), key, wait)
    }

    fn rate_limited(limit: String, key: &KeyRecord, wait: Duration) -> RequestRefusal {
        let message = format!(
            "key `{}` may use {limit} per minute; try again in {} s",
            key.prefix,
            ceil_seconds(wait)
        );
        RequestRefusal {
            error: neutral_error(ErrorKind::RateLimit, 429, "rate_limit_exceeded", message),
            retry_after: Some(wait),
            retry: true,
        }
    }

    pub(super) fn budget_spent(
        key: &KeyRecord,
        budget: KeyBudget,
        time_left: Option<Duration>,
    ) -> RequestRefusal {
        let every = match budget.period {
            BudgetPeriod::Ever => "in all",
            BudgetPeriod::Day => "per day (UTC)",
            BudgetPeriod::Month => "per month (UTC)",
        };
        let message = format!(
            "key `{}` has spent its budget of {} {every}",
            key.prefix,
            budget.nanos as f64 / 1e9
        );
        RequestRefusal {
            retry_after: time_left,
            ..RequestRefusal::permanent(ErrorKind::Billing, 429, "insufficient_quota", message)
        }
    }

    /// Enough is left, but requests under way may use it.
    pub(super) fn budget_reserved(key: &KeyRecord, budget: KeyBudget) -> RequestRefusal {
        let message = format!(
            "what is left of the budget of {} of key `{}` may be used up by its requests under \
             way; try again when one of them has ended, or set a lower max_tokens",
            budget.nanos as f64 / 1e9,
            key.prefix,
        );
        RequestRefusal {
            error: neutral_error(ErrorKind::RateLimit, 429, "rate_limit_exceeded", message),
            retry_after: Some(RESERVED_RETRY_DELAY),
            retry: true,
        }
    }

    pub(super) fn no_price(key: &KeyRecord, model: &str, target: &Target) -> RequestRefusal {
        let message = format!(
            "key `{}` has a budget, and model `{}` leads to {}/{}, which has no price: set \
             input_price and output_price in its entry of [[models]]",
            key.prefix,
            excerpt(model),
            target.provider(),
            excerpt(target.model())
        );
        RequestRefusal::permanent(ErrorKind::Permission, 403, "model-without-price", message)
    }

    /// What a key has spent cannot be known; it may be too much.
    pub(super) fn spending_unknown(cause: &StoreError) -> RequestRefusal {
        tracing::warn!(error = %cause, "cannot look up what a key has spent");
        let message = "what this key has spent cannot be looked up right now; try again";
        RequestRefusal {
            error: neutral_error(ErrorKind::Overloaded, 503, cause.code(), message.to_owned()),
            retry_after: None,
            retry: true,
        }
    }

    fn permanent(kind: ErrorKind, status: u16, code: &str, message: String) -> RequestRefusal {
        RequestRefusal {
            error: neutral_error(kind, status, code, message),
            retry_after: None,
            retry: false,
        }
    }
}

fn neutral_error(kind: ErrorKind, status: u16, code: &str, message: String) -> Box<ApiError> {
    Box::new(ApiError {
        status,
        code: Some(code.to_owned()),
        ..ApiError::new(kind, message)
    })
}

/// Whole seconds, rounded up.
pub(crate) fn ceil_seconds(time: Duration) -> u128 {
    time.as_millis().div_ceil(1_000)
}
