//! Usage of models, and stored responses.

use std::time::Duration;

use prowess_store::{
    BudgetPeriod, KeyBudget, KeyLimits, KeyScope, NewKey, NewResponse, TenantId, Timestamp,
    UsageGrouping, UsageQuery, UsageRow,
};

use crate::testbed::{TestBed, on_both_databases};

on_both_databases! {
    usage_is_added_up_by_the_requested_group,
    counts_that_no_request_has_can_be_added_up,
    a_keys_spending_is_counted_since_a_moment,
    a_key_keeps_its_limits,
    limits_that_mean_nothing_are_refused,
    an_answer_is_kept_for_its_tenant_until_its_time_is_over,
    an_answer_can_be_replaced_and_forgotten,
}

const EVER: Timestamp = Timestamp::EPOCH;

fn row(bed: &TestBed, model: &str, status: u16) -> UsageRow {
    UsageRow {
        tenant: bed.tenant.clone(),
        key: Some("key_1".to_owned()),
        model: model.to_owned(),
        provider: "acme".to_owned(),
        upstream_model: "m1".to_owned(),
        dialect: "chat".to_owned(),
        status,
        requests: 2,
        unpriced: 0,
        estimated: 1,
        input_tokens: 30,
        output_tokens: 10,
        cache_read_tokens: 5,
        cache_write_tokens: 1,
        cost_nanos: 700,
        millis: 20,
        sandbox_millis: 9,
        skills: Vec::new(),
    }
}

async fn counts_that_no_request_has_can_be_added_up(bed: TestBed) {
    let store = bed.open().await;
    let odd = UsageRow {
        input_tokens: u64::MAX,
        output_tokens: i64::MAX.unsigned_abs(),
        cost_nanos: u64::MAX,
        ..row(&bed, "small", 200)
    };
    store
        .record_usage(&[odd.clone(), odd.clone(), odd])
        .await
        .unwrap();
    let query = UsageQuery {
        tenant: None,
        since: EVER,
        by: UsageGrouping::Model,
    };
    let sums = store.usage(&query).await.unwrap();
    let sum = sums.first().unwrap();
    assert_eq!(sum.requests, 6);
    assert!(sum.input_tokens > 1 << 50 && sum.input_tokens == sum.output_tokens);
    let spent = store.spent_nanos("key_1", EVER).await.unwrap();
    assert_eq!(spent, sum.cost_nanos);
}

async fn usage_is_added_up_by_the_requested_group(bed: TestBed) {
    let store = bed.open().await;
    let other = UsageRow {
        tenant: TenantId::new("other").unwrap(),
        key: None,
        ..row(&bed, "big\0", 200)
    };
    let rows = [row(&bed, "small", 200), row(&bed, "small", 429), other];
    store.record_usage(&rows).await.unwrap();
    store.record_usage(&[]).await.unwrap();
    let sums = async |tenant: Option<&TenantId>, by| {
        let query = UsageQuery {
            tenant,
            since: EVER,
            by,
        };
        let sums = store.usage(&query).await.unwrap();
        let short = |sum: prowess_store::UsageSum| (sum.group, sum.requests, sum.errors);
        sums.into_iter().map(short).collect::<Vec<_>>()
    };
    let group = |name: &str, requests, errors| (name.to_owned(), requests, errors);
    let models = [group("big", 2, 0), group("small", 4, 2)];
    assert_eq!(sums(None, UsageGrouping::Model).await, models);
    let keys = [group("", 2, 0), group("key_1", 4, 2)];
    assert_eq!(sums(None, UsageGrouping::Key).await, keys);
    assert_eq!(
        sums(Some(&bed.tenant), UsageGrouping::Provider).await,
        [group("acme", 4, 2)]
    );
    let days = sums(None, UsageGrouping::Day).await;
    assert_eq!(days.len(), 1);
    assert_eq!(days[0].0.len(), "2026-11-15".len(), "{days:?}");
    let query = UsageQuery {
        tenant: Some(&bed.tenant),
        since: EVER,
        by: UsageGrouping::Model,
    };
    let sum = store.usage(&query).await.unwrap().remove(0);
    assert_eq!((sum.input_tokens, sum.output_tokens), (60, 20));
    assert_eq!((sum.cache_read_tokens, sum.cache_write_tokens), (10, 2));
    assert_eq!((sum.cost_nanos, sum.millis, sum.estimated), (1_400, 40, 2));
    let later = UsageQuery {
        since: Timestamp::now().after(Duration::from_secs(60)),
        ..query
    };
    assert!(store.usage(&later).await.unwrap().is_empty());
}

async fn a_keys_spending_is_counted_since_a_moment(bed: TestBed) {
    let store = bed.open().await;
    store
        .record_usage(&[row(&bed, "small", 200), row(&bed, "big", 200)])
        .await
        .unwrap();
    assert_eq!(store.spent_nanos("key_1", EVER).await.unwrap(), 1_400);
    assert_eq!(store.spent_nanos("key_2", EVER).await.unwrap(), 0);
    let later = Timestamp::now().after(Duration::from_secs(60));
    assert_eq!(store.spent_nanos("key_1", later).await.unwrap(), 0);
}

const USER: NewKey<'static> = NewKey {
    name: "ci",
    scopes: &[KeyScope::Use],
    expires_in: None,
    auto: None,
};

async fn a_key_keeps_its_limits(bed: TestBed) {
    let store = bed.open().await;
    let limits = KeyLimits {
        models: vec!["openai/*".to_owned(), "small".to_owned()],
        requests_per_minute: Some(60),
        tokens_per_minute: Some(100_000),
        budget: Some(KeyBudget {
            nanos: 2_500_000_000,
            period: BudgetPeriod::Month,
        }),
    };
    let made = store.create_limited_key(&bed.tenant, &USER, &limits).await;
    let (made, secret) = made.unwrap();
    assert_eq!(made.limits, limits);
    let found = store.authenticate(secret.reveal()).await.unwrap().unwrap();
    assert_eq!(*found, made);
    let (free, _) = store.create_key(&bed.tenant, &USER).await.unwrap();
    assert_eq!(free.limits, KeyLimits::default());
    assert_eq!(
        store.list_keys(&bed.tenant).await.unwrap()[0].limits,
        KeyLimits::default()
    );
}

async fn limits_that_mean_nothing_are_refused(bed: TestBed) {
    let store = bed.open().await;
    let none = KeyLimits {
        requests_per_minute: Some(0),
        ..KeyLimits::default()
    };
    let blank = KeyLimits {
        models: vec!["a b".to_owned()],
        ..KeyLimits::default()
    };
    for limits in [none, blank] {
        let made = store.create_limited_key(&bed.tenant, &USER, &limits).await;
        assert_eq!(made.unwrap_err().code(), "value-invalid");
    }
}

fn answer<'a>(id: &'a str, response: &'a str) -> NewResponse<'a> {
    NewResponse {
        id,
        conversation: r#"[{"said":"\u0000"}]"#,
        response,
        items: &[],
        expires_in: Duration::from_secs(60),
    }
}

async fn an_answer_is_kept_for_its_tenant_until_its_time_is_over(bed: TestBed) {
    let store = bed.open().await;
    let new = answer("resp_1", r#"{"id":"resp_1"}"#);
    store.save_response(&bed.tenant, &new).await.unwrap();
    let kept = store.load_response(&bed.tenant, "resp_1").await.unwrap();
    assert_eq!(kept.response, new.response);
    assert_eq!(kept.conversation, new.conversation);

    let other = TenantId::new("other").unwrap();
    let unknown = store.load_response(&other, "resp_1").await.unwrap_err();
    assert_eq!(unknown.code(), "response-not-found");
    let nobody = store.save_response(&other, &new).await.unwrap_err();
    assert_eq!(nobody.code(), "tenant-not-found");

    let gone = NewResponse {
        expires_in: Duration::ZERO,
        ..answer("resp_2", "{}")
    };
    store.save_response(&bed.tenant, &gone).await.unwrap();
    assert!(store.load_response(&bed.tenant, "resp_2").await.is_err());
    store.collect_garbage(Duration::ZERO).await.unwrap();
    let deleted = store.delete_response(&bed.tenant, "resp_2").await;
    assert_eq!(deleted.unwrap_err().code(), "response-not-found");
    assert!(store.load_response(&bed.tenant, "resp_1").await.is_ok());
}

async fn an_answer_can_be_replaced_and_forgotten(bed: TestBed) {
    let store = bed.open().await;
    for response in ["1", "2"] {
        let new = answer("resp_1", response);
        store.save_response(&bed.tenant, &new).await.unwrap();
    }
    let kept = store.load_response(&bed.tenant, "resp_1").await.unwrap();
    assert_eq!(kept.response, "2");
    store.delete_response(&bed.tenant, "resp_1").await.unwrap();
    assert!(store.load_response(&bed.tenant, "resp_1").await.is_err());
}
