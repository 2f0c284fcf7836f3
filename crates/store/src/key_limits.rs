//! Limits of keys: models, rates and budget.
//!
//! The store only stores the limits; the server enforces them.

use crate::db::{DbRow, Sql, SqlValue};
use crate::error::{Error, Result};

/// Maximum number of patterns per key, and bytes of each.
const MAX_MODEL_PATTERNS: usize = 100;
const MAX_PATTERN_BYTES: usize = 256;

/// The limits of a key; `None` is unlimited.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyLimits {
    /// Patterns of the models it may call, by the names that clients use; a `*` matches
    /// anything. Empty: all models.
    pub models: Vec<String>,
    /// Requests per minute, to models and over MCP.
    pub requests_per_minute: Option<u32>,
    /// Tokens per minute, input and output.
    pub tokens_per_minute: Option<u64>,
    /// Budget.
    pub budget: Option<KeyBudget>,
}

/// An amount of money per period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyBudget {
    /// In billionths of the price currency.
    pub nanos: u64,
    /// The period.
    pub period: BudgetPeriod,
}

/// The period of a budget. Days and months are in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetPeriod {
    /// No period: a total budget.
    Ever,
    /// Every day.
    Day,
    /// Every month.
    Month,
}

impl BudgetPeriod {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            BudgetPeriod::Ever => "ever",
            BudgetPeriod::Day => "day",
            BudgetPeriod::Month => "month",
        }
    }

    /// Parses a name.
    pub fn parse(text: &str) -> Result<Self> {
        let all = [BudgetPeriod::Ever, BudgetPeriod::Day, BudgetPeriod::Month];
        let found = all.into_iter().find(|period| period.as_str() == text);
        found.ok_or_else(|| Error::Invalid {
            field: "budget",
            reason: format!("`{}` is not day, month or ever", text.escape_debug()),
        })
    }
}

impl KeyLimits {
    /// Whether a model may be called, by the name that a client uses.
    pub fn allows_model(&self, model: &str) -> bool {
        self.models.is_empty()
            || self
                .models
                .iter()
                .any(|pattern| matches_pattern(pattern, model))
    }

    /// Whether every model that the other limits allow is allowed here too. A star of a pattern
    /// is only matched by a star here, so whatever it stands for is matched as well.
    pub(crate) fn covers_models(&self, other: &KeyLimits) -> bool {
        self.models.is_empty()
            || (!other.models.is_empty()
                && other
                    .models
                    .iter()
                    .all(|pattern| self.allows_model(pattern)))
    }

    pub(crate) fn check(&self) -> Result<()> {
        let bad = |pattern: &String| {
            pattern.is_empty()
                || pattern.len() > MAX_PATTERN_BYTES
                || pattern.chars().any(|c| c.is_whitespace() || c.is_control())
        };
        if self.models.len() > MAX_MODEL_PATTERNS || self.models.iter().any(bad) {
            return Err(Error::Invalid {
                field: "models",
                reason: format!(
                    "a key may have at most {MAX_MODEL_PATTERNS} patterns, each of 1 to {MAX_PATTERN_BYTES} \
                     bytes without spaces"
                ),
            });
        }
        let none = self.requests_per_minute == Some(0) || self.tokens_per_minute == Some(0);
        if none {
            return Err(Error::Invalid {
                field: "limits",
                reason: "a limit of 0 per minute blocks all requests; revoke the key instead"
                    .to_owned(),
            });
        }
        Ok(())
    }

    /// Binds the columns in the order of the insert statement.
    pub(crate) fn bind_to(&self, sql: Sql) -> Sql {
        let number = |n: Option<u64>| n.map(|n| i64::try_from(n).unwrap_or(i64::MAX));
        let models = (!self.models.is_empty()).then(|| self.models.join(" "));
        let period = self.budget.map(|budget| budget.period.as_str());
        sql.bind(models)
            .bind(number(self.requests_per_minute.map(u64::from)))
            .bind(number(self.tokens_per_minute))
            .bind(SqlValue::Int(number(
                self.budget.map(|budget| budget.nanos),
            )))
            .bind(period)
    }

    pub(crate) fn from_row(row: &DbRow) -> Result<Self> {
        let number = |column| -> Result<Option<u64>> {
            let number = row.optional_int(column)?;
            Ok(number.map(|n| u64::try_from(n).unwrap_or_default()))
        };
        let models = row.optional_text("models")?.unwrap_or_default();
        let rate = number("requests_per_minute")?;
        let budget = match (number("budget_nanos")?, row.optional_text("budget_period")?) {
            (Some(nanos), Some(period)) => Some(KeyBudget {
                nanos,
                period: BudgetPeriod::parse(&period)?,
            }),
            _ => None,
        };
        Ok(KeyLimits {
            models: models.split_whitespace().map(str::to_owned).collect(),
            requests_per_minute: rate.map(|rate| u32::try_from(rate).unwrap_or(u32::MAX)),
            tokens_per_minute: number("tokens_per_minute")?,
            budget,
        })
    }
}

/// Whether a text matches a pattern in which each `*` matches anything. Linear: the text
/// between two stars is matched at its first occurrence.
fn matches_pattern(pattern: &str, text: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut rest) = text.strip_prefix(head) else {
        return false;
    };
    let mut parts: Vec<&str> = tail.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything_and_all_else_for_itself() {
        for (pattern, text, expected) in [
            ("small", "small", true),
            ("small", "smaller", false),
            ("*", "", true),
            ("openai/*", "openai/gpt-5", true),
            ("openai/*", "azure/openai/gpt-5", false),
            ("*/gpt-*-mini", "openai/gpt-5-mini", true),
            ("*/gpt-*-mini", "openai/gpt-5", false),
            ("a*a", "a", false),
            ("a**a", "aa", true),
            ("*ab", "aab", true),
            ("a.c", "abc", false),
        ] {
            assert_eq!(matches_pattern(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_key_without_patterns_may_call_all_models() {
        assert!(KeyLimits::default().allows_model("anything"));
    }
}
