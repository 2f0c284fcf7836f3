//! When a circuit breaker opens, and when it closes again.

use std::time::Duration;

use super::*;

fn breaker() -> CircuitBreaker {
    let config = config::BreakerPolicy {
        failures: 2,
        pause: Duration::from_secs(10),
    };
    CircuitBreaker::new("acme", &config)
}

fn unreachable_outcome() -> Result<(), CallError> {
    Err(CallError::Unreachable {
        provider: "acme".to_owned(),
        reason: "down".to_owned(),
    })
}

#[tokio::test(start_paused = true)]
async fn after_failures_in_a_row_calls_are_refused_until_one_succeeds() {
    let breaker = breaker();
    breaker
        .acquire()
        .unwrap()
        .record_outcome(&unreachable_outcome());
    breaker.acquire().unwrap().record_outcome(&Ok(()));
    breaker
        .acquire()
        .unwrap()
        .record_outcome(&unreachable_outcome());
    breaker
        .acquire()
        .unwrap()
        .record_outcome(&unreachable_outcome());
    let refused = breaker.acquire().unwrap_err();
    assert_eq!(refused.retry_after(), Some(Duration::from_secs(10)));

    tokio::time::advance(Duration::from_secs(10)).await;
    let probe = breaker.acquire().unwrap();
    assert_eq!(
        breaker.acquire().unwrap_err().code(),
        "upstream-circuit-open"
    );
    probe.record_outcome(&unreachable_outcome());
    assert!(breaker.acquire().is_err());

    tokio::time::advance(Duration::from_secs(10)).await;
    breaker.acquire().unwrap().record_outcome(&Ok(()));
    breaker.acquire().unwrap();
    breaker.acquire().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_probe_lets_the_next_one_through() {
    let breaker = breaker();
    breaker
        .acquire()
        .unwrap()
        .record_outcome(&unreachable_outcome());
    breaker
        .acquire()
        .unwrap()
        .record_outcome(&unreachable_outcome());
    tokio::time::advance(Duration::from_secs(10)).await;
    drop(breaker.acquire().unwrap());
    breaker.acquire().unwrap();
}

#[tokio::test(start_paused = true)]
async fn errors_of_the_request_are_no_failures_of_the_upstream() {
    let breaker = breaker();
    for _ in 0..5 {
        let busy: Result<(), _> = Err(CallError::Busy {
            model: String::new(),
            running: 0,
            waiting: 0,
        });
        breaker.acquire().unwrap().record_outcome(&busy);
    }
    breaker.acquire().unwrap();
}

fn refused(status: u16, retry_after: Option<u64>) -> Result<(), CallError> {
    use prowess_wire::neutral::{ApiError, ErrorKind};
    Err(CallError::Upstream {
        provider: "acme".to_owned(),
        error: Box::new(ApiError {
            status,
            ..ApiError::new(ErrorKind::from_status(status), "no")
        }),
        retry_after: retry_after.map(Duration::from_secs),
        should_retry: None,
    })
}

#[tokio::test(start_paused = true)]
async fn a_deployment_cools_down_by_the_class_of_its_failure() {
    let cooldown = config::CooldownPolicy::default();
    for (status, retry_after, seconds, cause) in [
        (429, None, 30, FailureClass::RateLimited),
        (429, Some(5), 5, FailureClass::RateLimited),
        (429, Some(100_000), 3_600, FailureClass::RateLimited),
        (401, None, 60, FailureClass::Auth),
        (504, None, 30, FailureClass::Timeout),
    ] {
        let breaker = CircuitBreaker::with_cooldown("acme", &cooldown);
        let permit = breaker.acquire().unwrap();
        permit.record_outcome(&refused(status, retry_after));
        let expected = BreakerStanding::Refusing {
            retry_in: Duration::from_secs(seconds),
            cause: Some(cause),
        };
        assert_eq!(breaker.standing(), expected, "{status}");
        tokio::time::advance(Duration::from_secs(seconds)).await;
        let probe = breaker.acquire().unwrap();
        assert_ne!(
            breaker.standing(),
            BreakerStanding::Passing,
            "one at a time"
        );
        probe.record_outcome(&Ok(()));
        assert_eq!(breaker.standing(), BreakerStanding::Passing);
    }
    let breaker = CircuitBreaker::with_cooldown("acme", &cooldown);
    for _ in 0..3 {
        assert_eq!(breaker.standing(), BreakerStanding::Passing);
        let permit = breaker.acquire().unwrap();
        permit.record_outcome(&refused(500, None));
    }
    assert!(breaker.acquire().is_err());
    let next = CircuitBreaker::with_cooldown("acme", &cooldown);
    next.take_over(&breaker);
    assert_eq!(next.standing(), breaker.standing());
    let cooling = Some(("server_error", Duration::from_secs(10)));
    assert_eq!(next.cooling(), cooling);
}

#[tokio::test(start_paused = true)]
async fn a_clients_key_that_works_ends_no_pause_of_the_operators_key() {
    let cooldown = config::CooldownPolicy::default();
    for (status, ends) in [(401, false), (429, false), (504, true)] {
        let breaker = CircuitBreaker::with_cooldown("acme", &cooldown);
        // All of them begin before the first failure.
        let permit = || breaker.acquire().unwrap();
        let (own, client, other) = (permit(), permit(), permit());
        own.record_outcome(&refused(status, None));
        client.with_client_key(true).record_outcome(&Ok(()));
        let is_passing = breaker.standing() == BreakerStanding::Passing;
        assert_eq!(is_passing, ends, "{status}");
        other
            .with_client_key(true)
            .record_outcome(&refused(400, None));
        let is_passing = breaker.standing() == BreakerStanding::Passing;
        assert_eq!(is_passing, ends, "{status}");

        // After the pause, a probe with a client's key leaves the next one to the operator's.
        tokio::time::advance(Duration::from_secs(60)).await;
        permit().with_client_key(true).record_outcome(&Ok(()));
        permit().record_outcome(&refused(status, None));
        let is_passing = breaker.standing() == BreakerStanding::Passing;
        assert!(!is_passing, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_began_before_a_pause_neither_end_nor_shorten_it() {
    let breaker = CircuitBreaker::with_cooldown("acme", &config::CooldownPolicy::default());
    let permit = || breaker.acquire().unwrap();
    let (limited, answered, limited_less) = (permit(), permit(), permit());
    let (late, limited_more) = (permit(), permit());
    let pause = |seconds| BreakerStanding::Refusing {
        retry_in: Duration::from_secs(seconds),
        cause: Some(FailureClass::RateLimited),
    };
    limited.record_outcome(&refused(429, Some(500)));
    assert_eq!(breaker.standing(), pause(500));
    answered.record_outcome(&Ok(()));
    assert_eq!(breaker.standing(), pause(500), "it began before the limit");
    limited_less.record_outcome(&refused(429, Some(1)));
    late.record_outcome(&refused(504, None));
    assert_eq!(breaker.standing(), pause(500));
    limited_more.record_outcome(&refused(429, Some(600)));
    assert_eq!(breaker.standing(), pause(600));
    tokio::time::advance(Duration::from_secs(600)).await;
    permit().record_outcome(&Ok(()));
    assert_eq!(breaker.standing(), BreakerStanding::Passing);
}
