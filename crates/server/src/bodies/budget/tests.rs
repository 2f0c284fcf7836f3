//! Limits per tenant, and that everything is released.

use super::*;

fn budget(wait: Duration) -> BodyBudget {
    let mut settings = ServerSettings {
        body_bytes_in_flight: 6_400,
        request_bytes: 640,
        body_wait: wait,
        ..ServerSettings::default()
    };
    settings.skill_limits.total_bytes = 640;
    settings.skill_limits.archive_bytes = 640;
    BodyBudget::new(&settings)
}

fn tenant(name: &str) -> TenantId {
    TenantId::new(name).unwrap()
}

fn is_pending(future: std::pin::Pin<&mut impl Future>) -> bool {
    let waker = std::task::Waker::noop();
    future
        .poll(&mut std::task::Context::from_waker(waker))
        .is_pending()
}

/// Everything was released.
fn assert_empty(budget: &BodyBudget) {
    assert_eq!(budget.used.load(Ordering::SeqCst), 0);
    assert_eq!(budget.large_used.load(Ordering::SeqCst), 0);
    let mut counters = budget.small_counters.iter();
    assert!(counters.all(|own| own.load(Ordering::SeqCst) == 0));
    assert!(budget.large_counters().is_empty());
}

#[tokio::test]
async fn a_tenant_has_half_and_all_large_bodies_three_quarters() {
    let budget = budget(Duration::ZERO);
    let [one, two, three] = ["first", "second", "third"].map(tenant);
    let mut first = budget.reserve(&one);
    first.grow(100 + 3_000).await.unwrap();
    let mut again = budget.reserve(&one);
    let refused = again.grow(100 + 201).await.unwrap_err();
    assert_eq!(refused.code, "tenant-bodies-busy");
    assert_eq!(refused.status, 429);
    let mut second = budget.reserve(&two);
    second.grow(100 + 1_800).await.unwrap();
    let mut third = budget.reserve(&three);
    let refused = third.grow(100 + 1).await.unwrap_err();
    assert_eq!(refused.code, "bodies-busy");
    assert_eq!(refused.status, 503);
    drop((first, again, second, third));
    assert_empty(&budget);
}

#[tokio::test]
async fn large_bodies_of_some_tenants_leave_space_for_small_ones_of_others() {
    let budget = budget(Duration::ZERO);
    let [one, two] = ["first", "second"].map(tenant);
    let mut first = budget.reserve(&one);
    first.grow(100 + 3_200).await.unwrap();
    let mut second = budget.reserve(&two);
    second.grow(100 + 1_600).await.unwrap();
    let others: Vec<_> = (0..14).map(|n| tenant(&format!("other-{n}"))).collect();
    let mut small = Vec::new();
    for other in &others {
        let mut body = budget.reserve(other);
        body.grow(100).await.unwrap();
        small.push(body);
    }
    // The space of small bodies is not available to large ones.
    assert_eq!(second.grow(1).await.unwrap_err().code, "bodies-busy");
    drop((first, second, small));
    assert_empty(&budget);
}

#[tokio::test]
async fn the_largest_body_fits_whatever_the_limit_is() {
    let settings = ServerSettings {
        body_bytes_in_flight: 0,
        ..ServerSettings::default()
    };
    let skill = &settings.skill_limits;
    let largest = skill.total_bytes.max(skill.archive_bytes);
    let largest = usize::try_from(largest)
        .unwrap()
        .max(settings.request_bytes);
    let budget = BodyBudget::new(&settings);
    let (tenant, other) = (tenant("large"), tenant("other"));
    let mut body = budget.reserve(&tenant);
    body.grow(largest).await.unwrap();
    budget.reserve(&other).grow(MAX_SMALL_BYTES).await.unwrap();
}

#[tokio::test]
async fn many_small_bodies_of_one_tenant_leave_space_too() {
    let budget = budget(Duration::ZERO);
    let (tenant, mut all) = (tenant("many"), Vec::new());
    let refused = loop {
        let mut body = budget.reserve(&tenant);
        match body.grow(50).await {
            Ok(()) => all.push(body),
            Err(error) => break error,
        }
    };
    assert_eq!(refused.code, "tenant-bodies-busy");
    assert_eq!(all.len(), 800 / 50);
    drop(all);
    assert_empty(&budget);
}

#[tokio::test]
async fn who_waits_gets_what_another_gives_back() {
    let budget = budget(Duration::from_secs(3_600));
    let tenant = tenant("waiting");
    let mut first = budget.reserve(&tenant);
    first.grow(3_200).await.unwrap();
    let mut second = budget.reserve(&tenant);
    let mut growing = Box::pin(second.grow(500));
    assert!(is_pending(growing.as_mut()));
    drop(first);
    growing.await.unwrap();
    assert_eq!(budget.used.load(Ordering::SeqCst), 500);
    drop(second);
    assert_empty(&budget);
}

#[tokio::test]
async fn a_body_that_gives_up_waiting_takes_nothing() {
    let budget = budget(Duration::from_secs(3_600));
    let tenant = tenant("waiting");
    let mut first = budget.reserve(&tenant);
    first.grow(3_200).await.unwrap();
    let mut second = budget.reserve(&tenant);
    {
        let mut growing = Box::pin(second.grow(500));
        assert!(is_pending(growing.as_mut()));
    }
    drop(second);
    assert_eq!(budget.used.load(Ordering::SeqCst), 3_200);
    drop(first);
    assert_empty(&budget);
    assert_eq!(budget.waiting.load(Ordering::SeqCst), 0);
}
