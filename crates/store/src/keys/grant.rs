//! That no key gives away more than it has: neither to a new key, nor by changing one, nor by
//! taking over the secret of one.
//!
//! A key with a rate limit or a budget gives nothing away at all: each key that it made could
//! use as much as it may itself.

use super::KeyRecord;
use crate::error::{Error, Result};
use crate::key_limits::{BudgetPeriod, KeyBudget, KeyLimits};

/// Who manages keys.
#[derive(Debug, Clone, Copy)]
pub enum KeyGranter<'a> {
    /// The operator, who may give anything.
    Operator,
    /// A key, which may give what it has.
    Key(&'a KeyRecord),
}

impl KeyGranter<'_> {
    /// Whether it may create a key.
    pub(super) fn check_new(&self, key: &KeyRecord) -> Result<()> {
        self.check(key)
    }

    /// Whether it may change a key. Anybody who manages keys may take something away.
    pub(super) fn check_change(&self, before: &KeyRecord, after: &KeyRecord) -> Result<()> {
        match excess(before, after) {
            None => Ok(()),
            Some(_) => self.check(after),
        }
    }

    /// Whether it may get the secret of a key. Its own it may, unless it was authenticated with a
    /// secret that ends before the key does: the one before the last rotation.
    pub(super) fn check_secret(&self, key: &KeyRecord) -> Result<()> {
        match self {
            KeyGranter::Key(own) if own.id == key.id && !ends_earlier(own, key) => Ok(()),
            _ => self.check(key),
        }
    }

    fn check(&self, key: &KeyRecord) -> Result<()> {
        let KeyGranter::Key(own) = self else {
            return Ok(());
        };
        let limits = &own.limits;
        let is_limited = limits.requests_per_minute.is_some()
            || limits.tokens_per_minute.is_some()
            || limits.budget.is_some();
        let what = if is_limited {
            Some("it has a rate limit or a budget, which each further key would multiply")
        } else {
            excess(own, key)
        };
        match what {
            None => Ok(()),
            Some(what) => Err(Error::KeyGrantsMore {
                key: own.prefix.clone(),
                what,
            }),
        }
    }
}

/// What one key may that another may not, if anything.
fn excess(outer: &KeyRecord, inner: &KeyRecord) -> Option<&'static str> {
    let beyond = |outer: Option<u64>, inner: Option<u64>| {
        outer.is_some_and(|most| inner.is_none_or(|requested| requested > most))
    };
    let rate = |limits: &KeyLimits| limits.requests_per_minute.map(u64::from);
    let (has, wants) = (&outer.limits, &inner.limits);
    if !inner.scopes.iter().all(|scope| outer.allows(*scope)) {
        Some("it does not have all of these scopes")
    } else if !has.covers_models(wants) {
        Some("it may not use all of these models")
    } else if beyond(rate(has), rate(wants))
        || beyond(has.tokens_per_minute, wants.tokens_per_minute)
    {
        Some("its own rate limit is lower")
    } else if has.budget.is_some_and(|most| {
        wants
            .budget
            .is_none_or(|requested| is_larger(requested, most))
    }) {
        Some("its own budget is smaller")
    } else if ends_earlier(outer, inner) {
        Some("it expires earlier")
    } else if outer.auto == Some(false) && inner.auto != Some(false) {
        Some("not all stored skills are open to its own runs")
    } else {
        None
    }
}

/// Whether a key expires before another.
fn ends_earlier(outer: &KeyRecord, inner: &KeyRecord) -> bool {
    let last = outer.expires_at;
    last.is_some_and(|last| inner.expires_at.is_none_or(|at| at > last))
}

/// Whether a budget may permit more than another at any time.
fn is_larger(requested: KeyBudget, most: KeyBudget) -> bool {
    let renewals = |period| match period {
        BudgetPeriod::Ever => 0,
        BudgetPeriod::Month => 1,
        BudgetPeriod::Day => 2,
    };
    requested.nanos > most.nanos || renewals(requested.period) > renewals(most.period)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::KeyScope;
    use crate::tenant::TenantId;
    use crate::time::Timestamp;

    fn admin(id: &str) -> KeyRecord {
        KeyRecord {
            id: id.to_owned(),
            tenant: TenantId::default_tenant(),
            name: id.to_owned(),
            prefix: format!("sk-pw-{id}"),
            scopes: vec![KeyScope::Admin],
            limits: KeyLimits::default(),
            auto: None,
            created_at: Timestamp::EPOCH,
            last_used_at: None,
            expires_at: None,
            revoked_at: None,
            previous_until: None,
        }
    }

    fn limited(change: impl Fn(&mut KeyRecord)) -> KeyRecord {
        let mut key = admin("limited");
        change(&mut key);
        key
    }

    #[test]
    fn what_a_key_lacks_it_cannot_give() {
        let models = |models: &[&str]| {
            let models: Vec<String> = models.iter().map(|model| (*model).to_owned()).collect();
            limited(|key| key.limits.models.clone_from(&models))
        };
        let until = |micros| limited(|key| key.expires_at = Some(Timestamp::from_micros(micros)));
        let closed = limited(|key| key.auto = Some(false));
        let reader = limited(|key| key.scopes = vec![KeyScope::Read]);
        for (own, requested, refused) in [
            (&admin("own"), &admin("other"), false),
            (&reader, &admin("other"), true),
            (&models(&["a/*"]), &admin("other"), true),
            (&models(&["a/*"]), &models(&["a/b*"]), false),
            (&models(&["a/*"]), &models(&["a/b", "c"]), true),
            (&models(&["a/b*"]), &models(&["a/*"]), true),
            (&until(5), &admin("other"), true),
            (&until(5), &until(6), true),
            (&until(5), &until(5), false),
            (&closed, &admin("other"), true),
        ] {
            let outcome = KeyGranter::Key(own).check_new(requested);
            assert_eq!(outcome.is_err(), refused, "{own:?} {requested:?}");
        }
    }

    #[test]
    fn a_key_with_a_rate_or_a_budget_multiplies_neither() {
        let budget = |nanos, period| {
            let budget = KeyBudget { nanos, period };
            limited(|key| key.limits.budget = Some(budget))
        };
        let own = budget(5, BudgetPeriod::Month);
        let slow = limited(|key| key.limits.requests_per_minute = Some(1));
        for own in [&own, &slow] {
            let granter = KeyGranter::Key(own);
            assert!(granter.check_new(own).is_err());
            assert!(granter.check_secret(&admin("other")).is_err());
            assert!(granter.check_secret(own).is_ok(), "its own secret");
            assert!(granter.check_change(own, &admin("limited")).is_err());
        }
        let granter = KeyGranter::Key(&own);
        for (nanos, period, refused) in [
            (5, BudgetPeriod::Ever, false),
            (4, BudgetPeriod::Month, false),
            (6, BudgetPeriod::Month, true),
            (1, BudgetPeriod::Day, true),
        ] {
            let outcome = granter.check_change(&own, &budget(nanos, period));
            assert_eq!(outcome.is_err(), refused, "{nanos} {period:?}");
        }
    }

    #[test]
    fn a_secret_that_was_replaced_gets_no_new_one() {
        let key = admin("own");
        let replaced = KeyRecord {
            expires_at: Some(Timestamp::from_micros(5)),
            ..admin("own")
        };
        assert!(KeyGranter::Key(&key).check_secret(&key).is_ok());
        assert!(KeyGranter::Key(&replaced).check_secret(&key).is_err());
    }

    #[test]
    fn anybody_who_manages_keys_may_take_something_away() {
        let own = limited(|key| key.limits.models = vec!["small".to_owned()]);
        let after = limited(|key| key.scopes = vec![KeyScope::Read]);
        let granter = KeyGranter::Key(&own);
        assert!(granter.check_change(&admin("wide"), &after).is_ok());
        assert!(granter.check_secret(&admin("wide")).is_err());
    }
}
