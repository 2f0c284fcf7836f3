//! What clients send about keys.

use std::time::Duration;

use prowess_store::{BudgetPeriod, KeyBudget, KeyChange, KeyLimits, KeyScope, NewKey, Timestamp};
use serde::{Deserialize, Deserializer};

use crate::error::HttpError;

const DAY: Duration = Duration::from_secs(24 * 3_600);
/// Days until a key expires, at most: a hundred years.
const MAX_DAYS: u32 = 36_500;
/// Days that the secret before a rotation is accepted, at most.
const MAX_GRACE: Duration = Duration::from_secs(30 * 24 * 3_600);
/// Nano-units per unit of money, and the largest amount of it.
const NANOS_PER_UNIT: f64 = 1e9;
const MAX_AMOUNT: f64 = 9e9;

/// A key to be created.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewKeyBody {
    pub(super) name: String,
    pub(super) tenant: Option<String>,
    scopes: Option<Vec<String>>,
    models: Option<Vec<String>>,
    requests_per_minute: Option<u32>,
    tokens_per_minute: Option<u64>,
    budget: Option<BudgetBody>,
    expires_in_days: Option<u32>,
    auto: Option<bool>,
}

/// What is to change of a key. A field that is absent stays, and one that is null is taken
/// away.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct KeyChangeBody {
    name: Option<String>,
    scopes: Option<Vec<String>>,
    models: Option<Vec<String>>,
    #[serde(deserialize_with = "present")]
    requests_per_minute: Option<Option<u32>>,
    #[serde(deserialize_with = "present")]
    tokens_per_minute: Option<Option<u64>>,
    #[serde(deserialize_with = "present")]
    budget: Option<Option<BudgetBody>>,
    #[serde(deserialize_with = "present")]
    expires_in_days: Option<Option<u32>>,
    #[serde(deserialize_with = "present")]
    auto: Option<Option<bool>>,
}

/// How a key is rotated.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RotationBody {
    grace_seconds: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BudgetBody {
    amount: f64,
    period: Option<String>,
}

/// A field that is there, whether it is null or not.
fn present<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    T::deserialize(deserializer).map(Some)
}

impl NewKeyBody {
    /// The scopes of the key; without any it may all but manage keys.
    pub(super) fn scopes(&self) -> Result<Vec<KeyScope>, HttpError> {
        match &self.scopes {
            Some(names) => parse_scopes(names),
            None => Ok(vec![KeyScope::Read, KeyScope::Use, KeyScope::Publish]),
        }
    }

    pub(super) fn key<'a>(&'a self, scopes: &'a [KeyScope]) -> Result<NewKey<'a>, HttpError> {
        Ok(NewKey {
            name: &self.name,
            scopes,
            expires_in: self.expires_in_days.map(parse_days).transpose()?,
            auto: self.auto,
        })
    }

    pub(super) fn limits(&self) -> Result<KeyLimits, HttpError> {
        Ok(KeyLimits {
            models: self.models.clone().unwrap_or_default(),
            requests_per_minute: self.requests_per_minute,
            tokens_per_minute: self.tokens_per_minute,
            budget: self.budget.as_ref().map(BudgetBody::parse).transpose()?,
        })
    }
}

impl KeyChangeBody {
    pub(super) fn change(self) -> Result<KeyChange, HttpError> {
        let budget = |budget: Option<BudgetBody>| budget.map(|it| it.parse()).transpose();
        let expiry = |days: Option<u32>| -> Result<_, HttpError> {
            let life = days.map(parse_days).transpose()?;
            Ok(life.map(|life| Timestamp::now().after(life)))
        };
        Ok(KeyChange {
            name: self.name,
            scopes: self.scopes.as_deref().map(parse_scopes).transpose()?,
            models: self.models,
            requests_per_minute: self.requests_per_minute,
            tokens_per_minute: self.tokens_per_minute,
            budget: self.budget.map(budget).transpose()?,
            expires_at: self.expires_in_days.map(expiry).transpose()?,
            auto: self.auto,
        })
    }
}

impl RotationBody {
    /// How long the secret that the key had is still accepted.
    pub(super) fn grace(&self) -> Result<Duration, HttpError> {
        let grace = Duration::from_secs(self.grace_seconds);
        if grace <= MAX_GRACE {
            return Ok(grace);
        }
        let message = format!(
            "grace_seconds: at most {} (30 days); rotate again later instead",
            MAX_GRACE.as_secs()
        );
        Err(field_error("grace_seconds", message))
    }
}

impl BudgetBody {
    fn parse(&self) -> Result<KeyBudget, HttpError> {
        if !(0.0..=MAX_AMOUNT).contains(&self.amount) {
            let message = format!(
                "budget.amount: {} is not an amount from 0 to {MAX_AMOUNT}",
                self.amount
            );
            return Err(field_error("budget.amount", message));
        }
        let period = match &self.period {
            Some(period) => BudgetPeriod::parse(period)?,
            None => BudgetPeriod::Ever,
        };
        Ok(KeyBudget {
            nanos: (self.amount * NANOS_PER_UNIT).round() as u64,
            period,
        })
    }
}

fn parse_scopes(names: &[String]) -> Result<Vec<KeyScope>, HttpError> {
    let scopes = names.iter().map(|name| KeyScope::parse(name));
    Ok(scopes.collect::<Result<_, _>>()?)
}

fn parse_days(days: u32) -> Result<Duration, HttpError> {
    if (1..=MAX_DAYS).contains(&days) {
        return Ok(DAY.saturating_mul(days));
    }
    let message = format!("expires_in_days: {days} is not a number from 1 to {MAX_DAYS}");
    Err(field_error("expires_in_days", message))
}

fn field_error(field: &'static str, message: String) -> HttpError {
    HttpError::bad_request("field-invalid", message).with_detail("param", field)
}
