//! The limits of a key, as people write and read them.

use prowess_store::{BudgetPeriod, KeyBudget, KeyLimits};

/// Nano-units per currency unit.
pub(super) const NANOS_PER_UNIT: f64 = 1e9;

/// `5`, `5/day`, `0.25/month`.
pub(super) fn parse_budget(text: &str) -> Result<KeyBudget, String> {
    let (amount, period) = match text.split_once('/') {
        Some((amount, period)) => (
            amount,
            BudgetPeriod::parse(period).map_err(|e| e.to_string())?,
        ),
        None => (text, BudgetPeriod::Ever),
    };
    let amount: f64 = amount
        .trim_start_matches('$')
        .parse()
        .map_err(|_| format!("`{amount}` is not an amount, for instance 5 or 0.25"))?;
    let nanos = amount * NANOS_PER_UNIT;
    // Reject amounts that overflow a budget.
    if !(nanos.is_finite() && (0.0..9e18).contains(&nanos)) {
        return Err(format!("`{amount}` is not an amount of 0 or more"));
    }
    Ok(KeyBudget {
        nanos: nanos.round() as u64,
        period,
    })
}

pub(super) fn budget_amount(budget: KeyBudget) -> f64 {
    budget.nanos as f64 / NANOS_PER_UNIT
}

/// A key's limits in one line; `None` when it has none.
pub(super) fn describe_limits(limits: &KeyLimits) -> Option<String> {
    let mut all = Vec::new();
    if !limits.models.is_empty() {
        all.push(limits.models.join(","));
    }
    all.extend(limits.requests_per_minute.map(|n| format!("{n} rpm")));
    all.extend(limits.tokens_per_minute.map(|n| format!("{n} tpm")));
    all.extend(limits.budget.map(|budget| match budget.period {
        BudgetPeriod::Ever => format!("{} in total", budget_amount(budget)),
        period => format!("{}/{}", budget_amount(budget), period.as_str()),
    }));
    (!all.is_empty()).then(|| all.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_an_amount_and_perhaps_a_period() {
        let read = |text| parse_budget(text).map(|budget| (budget.nanos, budget.period.as_str()));
        assert_eq!(read("5"), Ok((5_000_000_000, "ever")));
        assert_eq!(read("$0.25/day"), Ok((250_000_000, "day")));
        assert_eq!(read("100/month"), Ok((100_000_000_000, "month")));
        for bad in ["", "-1", "5/week", "five", "inf", "1e30"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
