//! Limits that hold over several gateways, on a clock that the tests move.

use std::sync::Arc;

use prowess_store::{BudgetPeriod, KeyBudget, KeyRecord, TenantId, Timestamp};

use super::super::reservation::Amount;
use super::*;

const LIMIT: u32 = 60;
const GATEWAYS: usize = 3;

fn key(limits: KeyLimits) -> Arc<KeyRecord> {
    Arc::new(KeyRecord {
        id: "key_1".to_owned(),
        tenant: TenantId::default_tenant(),
        name: String::new(),
        prefix: "sk-pw-1".to_owned(),
        scopes: Vec::new(),
        limits,
        auto: None,
        created_at: Timestamp::EPOCH,
        last_used_at: None,
        expires_at: None,
        revoked_at: None,
        previous_until: None,
    })
}

fn requests_key() -> Arc<KeyRecord> {
    key(KeyLimits {
        requests_per_minute: Some(LIMIT),
        ..KeyLimits::default()
    })
}

/// Every gateway reports to all others.
fn exchange(gateways: &[KeyRateLimits]) {
    let reports: Vec<_> = gateways.iter().map(KeyRateLimits::report).collect();
    for (at, gateway) in gateways.iter().enumerate() {
        for (from, report) in reports.iter().enumerate() {
            if from != at {
                gateway.apply(&format!("boot-{from}"), report);
            }
        }
    }
}

/// Sends so many requests; returns how many were admitted.
fn ask(gateway: &KeyRateLimits, key: &KeyRecord, requests: u32) -> u32 {
    let admitted = (0..requests).filter(|_| gateway.count_request(key).is_ok());
    u32::try_from(admitted.count()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_worst_second_admits_the_limit_once_per_gateway_and_it_is_made_up_for() {
    let gateways: Vec<_> = (0..GATEWAYS).map(|_| KeyRateLimits::default()).collect();
    let key = requests_key();
    let burst: u32 = gateways.iter().map(|one| ask(one, &key, 200)).sum();
    assert_eq!(burst, 3 * LIMIT, "nobody knows of the others yet");
    exchange(&gateways);
    // Two minutes' worth was admitted too much, and two minutes are waited for.
    tokio::time::advance(Duration::from_secs(120)).await;
    for gateway in &gateways {
        assert_eq!(ask(gateway, &key, 1), 0);
    }
    tokio::time::advance(Duration::from_secs(2)).await;
    for gateway in &gateways {
        assert_eq!(ask(gateway, &key, 1), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn over_any_minutes_the_stated_bound_holds() {
    for seed in 0..20 {
        let mut random = fastrand::Rng::with_seed(seed);
        let gateways: Vec<_> = (0..GATEWAYS).map(|_| KeyRateLimits::default()).collect();
        let key = requests_key();
        let mut admitted = Vec::new();
        let load = random.u32(1..40);
        for _ in 0..600 {
            let mut in_second = 0;
            for gateway in &gateways {
                in_second += ask(gateway, &key, random.u32(0..=load));
            }
            admitted.push(in_second);
            tokio::time::advance(Duration::from_secs(1)).await;
            // One report in five is lost.
            if random.u32(0..5) > 0 {
                exchange(&gateways);
            }
        }
        for minutes in [1, 3, 10] {
            let seconds = minutes * 60;
            let most = admitted.windows(seconds).map(|one| one.iter().sum::<u32>());
            let most = most.max().unwrap();
            let bound = (u32::try_from(minutes + GATEWAYS).unwrap()) * LIMIT;
            assert!(most <= bound, "seed {seed}: {most} in {minutes} minutes");
        }
        let all: u32 = admitted.iter().sum();
        assert!(all >= 9 * LIMIT || load < 2, "seed {seed}: only {all}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_comes_later_learns_what_is_left() {
    let (first, key) = (KeyRateLimits::default(), requests_key());
    assert_eq!(ask(&first, &key, 50), 50);
    tokio::time::advance(Duration::from_secs(12)).await;
    assert_eq!(ask(&first, &key, 1), 1);
    let second = KeyRateLimits::default();
    second.apply("first", &first.report());
    assert_eq!(ask(&second, &key, 100), 21);
    // From then on it counts what is new.
    assert_eq!(ask(&first, &key, 5), 5);
    second.apply("first", &first.report());
    tokio::time::advance(Duration::from_secs(5)).await;
    assert_eq!(ask(&second, &key, 1), 0);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(ask(&second, &key, 1), 1);
}

#[tokio::test(start_paused = true)]
async fn a_gateway_that_was_silent_for_long_is_not_counted_twice() {
    let (one, other, key) = (
        KeyRateLimits::default(),
        KeyRateLimits::default(),
        requests_key(),
    );
    assert_eq!(ask(&one, &key, LIMIT), LIMIT);
    other.apply("one", &one.report());
    tokio::time::advance(3 * IDLE_KEY_AGE).await;
    assert_eq!(ask(&one, &key, 1), 1);
    other.apply("one", &one.report());
    assert_eq!(ask(&other, &key, 2 * LIMIT), LIMIT - 1);
}

#[tokio::test(start_paused = true)]
async fn a_report_counts_once_and_a_lost_one_is_made_up_for() {
    let (one, other, key) = (
        KeyRateLimits::default(),
        KeyRateLimits::default(),
        requests_key(),
    );
    assert_eq!(ask(&one, &key, 10), 10);
    let first = one.report();
    other.apply("one", &first);
    other.apply("one", &first);
    assert_eq!(ask(&one, &key, 10), 10);
    drop(one.report());
    assert_eq!(ask(&one, &key, 10), 10);
    other.apply("one", &one.report());
    assert_eq!(ask(&other, &key, 100), LIMIT - 30);
}

#[tokio::test(start_paused = true)]
async fn money_that_is_reserved_or_spent_elsewhere_is_not_there() {
    let key = key(KeyLimits {
        budget: Some(KeyBudget {
            nanos: 1_000,
            period: BudgetPeriod::Ever,
        }),
        ..KeyLimits::default()
    });
    let amount = |nanos| Amount { tokens: 0, nanos };
    let (one, other) = (KeyRateLimits::default(), KeyRateLimits::default());
    let held = one.reserve(&key, amount(700), amount(0)).unwrap().unwrap();
    other.apply("one", &one.report());
    assert!(other.reserve(&key, amount(400), amount(0)).is_err());
    drop(other.reserve(&key, amount(300), amount(0)).unwrap());
    held.settle(0, 600);
    other.apply("one", &one.report());
    let only = other.reserve(&key, amount(5_000), amount(0)).unwrap();
    only.unwrap().settle(0, 400);
    assert!(other.reserve(&key, amount(1), amount(0)).is_err(), "spent");
    // A gateway that reports no more has nothing reserved.
    let _held = one.reserve(&key, amount(400), amount(0)).unwrap();
    let third = KeyRateLimits::default();
    third.apply("one", &one.report());
    assert!(third.reserve(&key, amount(100), amount(0)).is_err());
    tokio::time::advance(RESERVED_TIME).await;
    assert!(third.reserve(&key, amount(100), amount(0)).is_ok());
}

#[tokio::test(start_paused = true)]
async fn tokens_count_elsewhere_as_reserved_and_then_as_used() {
    let key = key(KeyLimits {
        tokens_per_minute: Some(1_000),
        ..KeyLimits::default()
    });
    let amount = |tokens| Amount { tokens, nanos: 0 };
    let (one, other) = (KeyRateLimits::default(), KeyRateLimits::default());
    let held = one.reserve(&key, amount(900), amount(0)).unwrap().unwrap();
    other.apply("one", &one.report());
    assert!(other.reserve(&key, amount(200), amount(0)).is_err());
    held.settle(100, 0);
    other.apply("one", &one.report());
    assert!(other.reserve(&key, amount(900), amount(0)).is_ok());
}
