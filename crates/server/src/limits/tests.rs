//! What active requests reserve, and that nothing stays reserved.

use prowess_store::{BudgetPeriod, KeyLimits, StoreConfig, TenantId, UsageRow};

use super::*;

const INPUT: Amount = amount(5, 50);

const fn amount(tokens: u64, nanos: u64) -> Amount {
    Amount { tokens, nanos }
}

/// A key with a budget of a thousand billionths, and many tokens per minute.
fn key() -> Arc<KeyRecord> {
    let budget = KeyBudget {
        nanos: 1_000,
        period: BudgetPeriod::Ever,
    };
    Arc::new(KeyRecord {
        id: "key_1".to_owned(),
        tenant: TenantId::default_tenant(),
        name: String::new(),
        prefix: "sk-pw-1".to_owned(),
        scopes: Vec::new(),
        limits: KeyLimits {
            tokens_per_minute: Some(1_000_000),
            budget: Some(budget),
            ..KeyLimits::default()
        },
        auto: None,
        created_at: Timestamp::EPOCH,
        last_used_at: None,
        expires_at: None,
        revoked_at: None,
        previous_until: None,
    })
}

fn reserve(limits: &KeyRateLimits, key: &Arc<KeyRecord>, nanos: u64) -> Option<SpendReservation> {
    let reserved = limits.reserve(key, amount(10, nanos), INPUT);
    reserved.ok().flatten()
}

/// Money spent, money reserved, requests with a reservation.
fn state(limits: &KeyRateLimits, key: &KeyRecord) -> (u64, u64, u64) {
    limits.with_usage(key, |used, _| (used.spent, used.reserved, used.holders))
}

#[test]
fn what_is_used_without_a_rate_does_not_overdraw_one_that_is_set_later() {
    let (limits, mut key) = (KeyRateLimits::default(), key());
    Arc::make_mut(&mut key).limits.tokens_per_minute = None;
    limits
        .reserve(&key, amount(0, 10), INPUT)
        .ok()
        .flatten()
        .unwrap()
        .settle(5_000_000, 10);
    Arc::make_mut(&mut key).limits.tokens_per_minute = Some(100);
    let all = limits.reserve(&key, amount(100, 10), INPUT).unwrap();
    assert!(limits.reserve(&key, amount(1, 10), INPUT).is_err());
    drop(all);
}

#[test]
fn what_is_reserved_cannot_be_reserved_again() {
    let (limits, key) = (KeyRateLimits::default(), key());
    let first = reserve(&limits, &key, 600).unwrap();
    assert!(reserve(&limits, &key, 401).is_none());
    let second = reserve(&limits, &key, 400).unwrap();
    assert!(reserve(&limits, &key, 1).is_none());
    first.settle(1, 100);
    second.settle(1, 200);
    assert_eq!(state(&limits, &key), (300, 0, 0));
}

#[test]
fn one_request_alone_may_use_more_than_is_left() {
    let (limits, key) = (KeyRateLimits::default(), key());
    let only = reserve(&limits, &key, 5_000).unwrap();
    assert!(reserve(&limits, &key, 1).is_none());
    only.settle(1, 999);
    let last = reserve(&limits, &key, 5_000).unwrap();
    last.settle(1, 4_000);
    assert!(reserve(&limits, &key, 0).is_none(), "all is spent");
    assert_eq!(state(&limits, &key), (4_999, 0, 0));
}

#[test]
fn a_run_holds_back_what_its_turns_used() {
    let (limits, key) = (KeyRateLimits::default(), key());
    let run = reserve(&limits, &key, 100).unwrap();
    run.raise(50, 40);
    assert_eq!(state(&limits, &key), (0, 100, 1), "less than was thought");
    run.raise(50, 900);
    assert_eq!(state(&limits, &key), (0, 900, 1));
    assert!(reserve(&limits, &key, 101).is_none());
    let tap = run.clone();
    run.settle(60, 950);
    tap.raise(70, 2_000);
    drop((run, tap));
    assert_eq!(state(&limits, &key), (950, 0, 0), "it is settled once");
}

/// Exchanges what a request has reserved, as when its stored history is known.
fn exchange(
    limits: &KeyRateLimits,
    key: &Arc<KeyRecord>,
    before: &SpendReservation,
    nanos: u64,
) -> Option<SpendReservation> {
    let exchanged = limits.exchange(key, before.take(), amount(20, nanos), INPUT);
    exchanged.ok().flatten()
}

#[test]
fn a_request_that_grows_is_admitted_for_all_of_it_or_not_at_all() {
    let (limits, key) = (KeyRateLimits::default(), key());
    let (first, second) = (
        reserve(&limits, &key, 100).unwrap(),
        reserve(&limits, &key, 100).unwrap(),
    );
    let first = exchange(&limits, &key, &first, 800).unwrap();
    assert_eq!(state(&limits, &key), (0, 900, 2));
    assert!(exchange(&limits, &key, &second, 300).is_none());
    drop(second);
    assert_eq!(state(&limits, &key), (0, 800, 1), "the refused has nothing");
    // Alone it may use more than is left, and is counted once.
    let first = exchange(&limits, &key, &first, 5_000).unwrap();
    assert_eq!(state(&limits, &key), (0, 5_000, 1));
    first.settle(1, 400);
    assert_eq!(state(&limits, &key), (400, 0, 0));
    let used = limits.with_usage(&key, |used, _| used.own.tokens);
    assert_eq!(used, 1.0);
}

#[test]
fn however_a_request_ends_nothing_stays_reserved() {
    let (limits, key) = (KeyRateLimits::default(), key());
    drop(reserve(&limits, &key, 900).unwrap());
    assert_eq!(state(&limits, &key), (0, 0, 0));
    reserve(&limits, &key, 900).unwrap().settle_abandoned();
    assert_eq!(state(&limits, &key), (INPUT.nanos, 0, 0));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _reservation = reserve(&limits, &key, 900).unwrap();
        std::panic::resume_unwind(Box::new(()));
    }));
    assert!(panicked.is_err());
    assert_eq!(state(&limits, &key), (INPUT.nanos, 0, 0));
}

#[test]
fn many_threads_never_hold_back_more_than_there_is() {
    let (limits, key) = (KeyRateLimits::default(), key());
    let held: usize = std::thread::scope(|scope| {
        let reserve_many = || {
            let held: Vec<_> = (0..50)
                .filter_map(|_| reserve(&limits, &key, 100))
                .collect();
            held.into_iter().map(std::mem::forget).count()
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(reserve_many)).collect();
        threads.into_iter().map(|one| one.join().unwrap()).sum()
    });
    assert_eq!(held, 10);
    assert_eq!(state(&limits, &key), (0, 1_000, 10));
}

#[test]
fn a_run_may_go_on_until_it_and_all_others_have_used_the_budget() {
    let (limits, key) = (KeyRateLimits::default(), key());
    let run = reserve(&limits, &key, 100).unwrap();
    let other = reserve(&limits, &key, 100).unwrap();
    assert!(run.leaves_budget(999) && !run.leaves_budget(1_000));
    // What others have used so far counts, and not what they have reserved.
    other.raise(1, 200);
    assert!(run.leaves_budget(799) && !run.leaves_budget(800));
    other.settle(1, 150);
    assert!(run.leaves_budget(849) && !run.leaves_budget(850));
    // What it has reported itself counts once.
    run.raise(1, 500);
    assert!(run.leaves_budget(500) && run.leaves_budget(849));
    assert!(!run.leaves_budget(850));
    run.settle(1, 840);
    let last = reserve(&limits, &key, 1).unwrap();
    assert!(last.leaves_budget(9) && !last.leaves_budget(10));
    drop(last);
    let in_progress = limits.with_usage(&key, |used, _| used.in_progress);
    assert_eq!(in_progress, 0);
}

/// A row of usage of a key.
fn row(key: &KeyRecord, cost_nanos: u64) -> UsageRow {
    UsageRow {
        tenant: key.tenant.clone(),
        key: Some(key.id.clone()),
        model: "m".to_owned(),
        provider: String::new(),
        upstream_model: String::new(),
        dialect: "messages".to_owned(),
        status: 200,
        requests: 1,
        unpriced: 0,
        estimated: 0,
        input_tokens: 1,
        output_tokens: 1,
        cache_read_tokens: 0,
        cache_write_tokens: 0,
        cost_nanos,
        millis: 1,
        sandbox_millis: 0,
        skills: Vec::new(),
    }
}

#[tokio::test]
async fn the_turns_of_a_kept_run_count_once_although_their_rows_are_read_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let config = StoreConfig::local(folder.path());
    let store = Store::open(&config).await.unwrap();
    let (limits, key) = (KeyRateLimits::default(), key());
    let budget = key.limits.budget.unwrap();
    let run = reserve(&limits, &key, 100).unwrap();
    run.set_stored();
    store.record_usage(&[row(&key, 300)]).await.unwrap();
    run.raise(1, 300);
    // As when another request of the key arrives.
    let seeded = limits.seed_spending(&store, &key, budget).await;
    assert!(seeded.is_ok());
    assert_eq!(state(&limits, &key).0, 0, "the run has it");
    store.record_usage(&[row(&key, 200)]).await.unwrap();
    run.raise(1, 500);
    run.settle(1, 500);
    assert_eq!(state(&limits, &key), (500, 0, 0));
    limits.with_usage(&key, |used, _| used.seeded = None);
    let seeded = limits.seed_spending(&store, &key, budget).await;
    assert!(seeded.is_ok());
    assert_eq!(state(&limits, &key), (500, 0, 0));
}

#[tokio::test]
async fn a_turn_counts_once_although_its_row_is_read_before_the_run_reports_it() {
    let folder = tempfile::tempdir().unwrap();
    let config = StoreConfig::local(folder.path());
    let store = Store::open(&config).await.unwrap();
    let (limits, key) = (KeyRateLimits::default(), key());
    let budget = key.limits.budget.unwrap();
    let in_rows = || limits.with_usage(&key, |used, _| used.in_rows);
    let run = reserve(&limits, &key, 100).unwrap();
    run.expect_row(300);
    store.record_usage(&[row(&key, 300)]).await.unwrap();
    let seeded = limits.seed_spending(&store, &key, budget).await;
    assert!(seeded.is_ok());
    assert_eq!(state(&limits, &key).0, 0, "the run has it");
    run.set_stored();
    run.raise(1, 300);
    assert_eq!(in_rows(), 300);
    // The row of this one is never written.
    run.expect_row(400);
    assert_eq!(in_rows(), 700);
    run.settle(1, 300);
    assert_eq!(state(&limits, &key), (300, 0, 0));
    assert_eq!(in_rows(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_has_to_make_up_for_something_is_not_forgotten() {
    let limits = KeyRateLimits::default();
    let mut key = key();
    Arc::make_mut(&mut key).limits = KeyLimits {
        tokens_per_minute: Some(1_000),
        ..KeyLimits::default()
    };
    let large = limits.reserve(&key, amount(10, 0), INPUT).ok().flatten();
    large.unwrap().settle(100_000, 0);
    tokio::time::advance(IDLE_KEY_AGE * 2).await;
    for number in 0..MAX_TRACKED_KEYS + 10 {
        let mut other = KeyRecord::clone(&key);
        other.id = format!("key_of_another_{number}");
        limits.with_usage(&other, |_, _| {});
    }
    assert!(limits.reserve(&key, amount(10, 0), INPUT).is_err());
}
