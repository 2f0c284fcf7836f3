//! Credentials that expire while many requests use them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use prowess_cloud::{
    AzureTokenOptions, AzureTokens, CloudClock, CloudError, CloudToken, CredentialCache,
    CredentialSource, FetchFuture, GoogleTokenOptions, GoogleTokens, Issued,
};
use serde_json::json;
use tokio::time::Instant;

use crate::stand_in::{StandIn, clock, json, seconds, variables};

const LIFETIME: Duration = Duration::from_secs(15 * 60);
const HOURS: u64 = 2;

/// Uses a cache from two hundred tasks for two hours, and returns how many calls waited.
/// `expires` says when a value expires; none may be handed out later.
pub(crate) async fn use_for_hours<T: Clone + Send + Sync + 'static>(
    cache: CredentialCache<T>,
    clock: &CloudClock,
    expires: impl Fn(&T) -> u64 + Send + Sync + Copy + 'static,
) -> usize {
    let (cache, waited) = (Arc::new(cache), Arc::new(AtomicUsize::new(0)));
    let end = Instant::now() + Duration::from_secs(HOURS * 3600);
    let mut tasks = Vec::new();
    for task in 0..200_u64 {
        let (cache, waited, clock) = (Arc::clone(&cache), Arc::clone(&waited), clock.clone());
        tasks.push(tokio::spawn(async move {
            let mut random = fastrand::Rng::with_seed(task);
            let mut calls = 0_usize;
            while Instant::now() < end {
                let before = Instant::now();
                let value = cache.get().await.unwrap();
                if before.elapsed() > Duration::ZERO {
                    waited.fetch_add(1, Ordering::Relaxed);
                }
                let left = expires(&value).saturating_sub(seconds(clock.now()));
                assert!(left >= 30, "given {left} s before it expires");
                calls += 1;
                tokio::time::sleep(Duration::from_millis(random.u64(1..60_000))).await;
            }
            calls
        }));
    }
    let mut calls = 0;
    for task in tasks {
        calls += task.await.unwrap();
    }
    assert!(calls > 30_000, "only {calls} calls");
    waited.load(Ordering::Relaxed)
}

/// The fetches that two hours take at least and at most.
pub(crate) fn check_fetches(fetches: usize) {
    assert!((8..=14).contains(&fetches), "{fetches} fetches");
}

fn expiry_of(token: &CloudToken) -> u64 {
    token
        .as_str()
        .strip_prefix("token-")
        .unwrap()
        .parse()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn no_call_waits_or_fails_at_a_refresh_of_googles_tokens() {
    let clock = clock();
    let service_clock = clock.clone();
    let service = StandIn::new(move |_| {
        let expires = seconds(service_clock.now() + LIFETIME);
        json(
            200,
            json!({"access_token": format!("token-{expires}"), "expires_in": LIFETIME.as_secs()}),
        )
    });
    let source = GoogleTokens::new(
        GoogleTokenOptions::default(),
        variables([]),
        Arc::clone(&service) as _,
        clock.clone(),
    );
    let cache = CredentialCache::new(source, clock.clone());
    let waited = use_for_hours(cache, &clock, expiry_of).await;
    // All of them at the start, together.
    assert_eq!(waited, 200);
    check_fetches(service.requests().len());
}

#[tokio::test(start_paused = true)]
async fn no_call_waits_or_fails_at_a_refresh_of_azures_tokens() {
    let clock = clock();
    let service_clock = clock.clone();
    let service = StandIn::new(move |_| {
        let expires = seconds(service_clock.now() + LIFETIME);
        json(
            200,
            json!({"access_token": format!("token-{expires}"), "expires_on": expires.to_string()}),
        )
    });
    let source = AzureTokens::new(
        AzureTokenOptions::default(),
        variables([]),
        Arc::clone(&service) as _,
        clock.clone(),
    );
    let cache = CredentialCache::new(source, clock.clone());
    let waited = use_for_hours(cache, &clock, expiry_of).await;
    assert_eq!(waited, 200);
    check_fetches(service.requests().len());
}

/// A source whose fetches can be made to fail.
struct Switch {
    clock: CloudClock,
    broken: Arc<AtomicBool>,
    fetches: Arc<AtomicUsize>,
}

impl CredentialSource for Switch {
    type Value = SystemTime;

    fn fetch(&self) -> FetchFuture<'_, SystemTime> {
        Box::pin(async {
            self.fetches.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(100)).await;
            if self.broken.load(Ordering::Relaxed) {
                return Err(CloudError::TooSlow(Duration::from_secs(1)));
            }
            let expires = self.clock.now() + LIFETIME;
            Ok(Issued {
                value: expires,
                expires: Some(expires),
            })
        })
    }
}

struct Switched {
    cache: Arc<CredentialCache<SystemTime>>,
    clock: CloudClock,
    broken: Arc<AtomicBool>,
    fetches: Arc<AtomicUsize>,
}

fn switched() -> Switched {
    let (clock, broken) = (clock(), Arc::new(AtomicBool::new(false)));
    let fetches = Arc::new(AtomicUsize::new(0));
    let source = Switch {
        clock: clock.clone(),
        broken: Arc::clone(&broken),
        fetches: Arc::clone(&fetches),
    };
    let cache = Arc::new(CredentialCache::new(source, clock.clone()));
    Switched {
        cache,
        clock,
        broken,
        fetches,
    }
}

#[tokio::test(start_paused = true)]
async fn a_hundred_first_calls_share_one_fetch() {
    let test = switched();
    let calls: Vec<_> = (0..100)
        .map(|_| {
            let cache = Arc::clone(&test.cache);
            tokio::spawn(async move { cache.get().await.unwrap() })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!(test.fetches.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn an_outage_shorter_than_the_lifetime_is_not_noticed() {
    let test = switched();
    test.cache.get().await.unwrap();
    let begin = Instant::now();
    // Broken from before the refresh is due until shortly before the expiry.
    for second in 0..LIFETIME.as_secs() * 2 {
        test.broken
            .store((300..835).contains(&second), Ordering::Relaxed);
        let before = Instant::now();
        let expires = test.cache.get().await.unwrap();
        assert_eq!(before.elapsed(), Duration::ZERO, "call {second} waited");
        assert!(expires > test.clock.now());
        tokio::time::sleep_until(begin + Duration::from_secs(second + 1)).await;
    }
    // One at the start, retries with growing pauses, and refreshes.
    let fetches = test.fetches.load(Ordering::Relaxed);
    assert!((5..=40).contains(&fetches), "{fetches} fetches");
}

#[tokio::test(start_paused = true)]
async fn an_outage_longer_than_the_lifetime_fails_calls_until_it_ends() {
    let test = switched();
    test.broken.store(true, Ordering::Relaxed);
    for _ in 0..50 {
        test.cache.get().await.unwrap_err();
    }
    // The same second, so the same error without another fetch.
    assert_eq!(test.fetches.load(Ordering::Relaxed), 1);
    test.broken.store(false, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(1)).await;
    test.cache.get().await.unwrap();

    test.broken.store(true, Ordering::Relaxed);
    tokio::time::sleep(LIFETIME).await;
    test.cache.get().await.unwrap_err();
    test.broken.store(false, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let expires = test.cache.get().await.unwrap();
    assert!(expires > test.clock.now());
}

#[tokio::test(start_paused = true)]
async fn credentials_that_nobody_uses_are_not_refreshed() {
    let test = switched();
    test.cache.get().await.unwrap();
    tokio::time::sleep(LIFETIME * 20).await;
    // The one that was used is refreshed; the one after it is not.
    assert_eq!(test.fetches.load(Ordering::Relaxed), 2);
    assert!(test.cache.get().await.unwrap() > test.clock.now());
    assert_eq!(test.fetches.load(Ordering::Relaxed), 3);
}

#[tokio::test(start_paused = true)]
async fn a_cache_goes_on_with_the_credentials_of_the_one_before_it() {
    let (old, new) = (switched(), switched());
    let expires = old.cache.get().await.unwrap();
    new.broken.store(true, Ordering::Relaxed);
    new.cache.take_over(&old.cache);
    let before = Instant::now();
    assert_eq!(new.cache.get().await.unwrap(), expires);
    assert_eq!(before.elapsed(), Duration::ZERO);
    // They are refreshed at once. That fails, and they are still valid.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(new.fetches.load(Ordering::Relaxed), 1);
    assert_eq!(new.cache.get().await.unwrap(), expires);
    new.broken.store(false, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(new.cache.get().await.unwrap() > expires);

    // What has expired is not taken over.
    tokio::time::sleep(LIFETIME * 3).await;
    let late = switched();
    late.broken.store(true, Ordering::Relaxed);
    late.cache.take_over(&old.cache);
    late.cache.get().await.unwrap_err();
}

/// The calls of a server come from several runtimes, and any of them may end.
#[test]
fn a_runtime_that_ends_during_a_fetch_does_not_stop_others() {
    let start = SystemTime::now();
    let source = Switch {
        clock: CloudClock::from_fn(move || start),
        broken: Arc::default(),
        fetches: Arc::default(),
    };
    let cache = CredentialCache::new(source, CloudClock::from_fn(move || start));
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().start_paused(true).build().unwrap()
    };
    let first = runtime();
    first.block_on(async {
        let call = tokio::time::timeout(Duration::from_millis(10), cache.get());
        assert!(call.await.is_err());
    });
    drop(first);
    runtime().block_on(async { cache.get().await.unwrap() });
}
