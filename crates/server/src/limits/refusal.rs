//! Why a key's request was refused, in the neutral form.

use std::time::Duration;

use prowess_store::{BudgetPeriod, Error as StoreError, KeyBudget, KeyRecord};
use prowess_wire::excerpt;
use prowess_wire::neutral::{ApiError, ErrorKind};

/// Retry delay while active requests reserve the remainder.
const RESERVED_RETRY_DELAY: Duration = Duration::from_secs(1);

/// Why a request was refused.
#[derive(Debug)]
pub(crate) struct RequestRefusal {
    pub(crate) error: Box<ApiError>,
    /// When a retry is useful.
    pub(crate) retry_after: Option<Duration>,
    /// Whether a client should retry automatically.
    pub(crate) retry: bool,
}

impl RequestRefusal {
    /// The key may not use this model.
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
            "key `{}` has reached its limit of {limit} per minute; try again in {} s",
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

    /// Enough is left, but active requests may use it.
    pub(super) fn budget_reserved(key: &KeyRecord, budget: KeyBudget) -> RequestRefusal {
        let message = format!(
            "key `{}` has a budget of {}, and what is left of it is reserved by its active \
             requests; try again when one of them has ended, or set a lower max_tokens",
            key.prefix,
            budget.nanos as f64 / 1e9,
        );
        RequestRefusal {
            error: neutral_error(ErrorKind::RateLimit, 429, "rate_limit_exceeded", message),
            retry_after: Some(RESERVED_RETRY_DELAY),
            retry: true,
        }
    }

    /// The spending of the key cannot be determined; it may exceed the budget.
    pub(super) fn spending_unknown(cause: &StoreError) -> RequestRefusal {
        tracing::warn!(error = %cause, "cannot look up the spending of a key");
        let message = "the spending of this key cannot be looked up right now; try again";
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
