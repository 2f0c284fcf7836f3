//! Several deployments of one model, over HTTP: who gets a request, and who gets it when one
//! fails.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::time::Duration;

use prowess_provider::config::{
    ConcurrencyLimit, CooldownPolicy, DeploymentConfig, DeploymentStrategy, MinuteLimits,
    ModelConfig, OpenAiOptions, ProviderConfig, ProviderConfigError, ProviderKind, ProvidersConfig,
};
use prowess_provider::{
    CallError, ClientCredentials, Env, ForwardOutcome, ModelTask, Providers, Route,
};
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use prowess_wire::ClientDialect;

use crate::common::{
    CHAT_RESPONSE, CHAT_STREAM, MESSAGES_RESPONSE, anthropic, call, drain, forward, hello, openai,
    passed, rest, stream,
};

const CONTEXT: &str = r#"{"error":{"message":"too long","type":"invalid_request_error","param":null,"code":"context_length_exceeded"}}"#;
const FILTER: &str =
    r#"{"error":{"message":"no","type":"invalid_request_error","code":"content_filter"}}"#;
const LIMITED: &str = r#"{"error":{"message":"slow down","type":"requests","code":null}}"#;

/// Two upstreams that answer unless told otherwise.
struct Upstreams {
    eu: MockUpstream,
    us: MockUpstream,
}

impl Upstreams {
    async fn start() -> Upstreams {
        let (eu, us) = (MockUpstream::start().await, MockUpstream::start().await);
        eu.respond_always(MockResponse::json(200, CHAT_RESPONSE));
        us.respond_always(MockResponse::json(200, CHAT_RESPONSE));
        Upstreams { eu, us }
    }

    fn config(&self, models: Vec<ModelConfig>) -> ProvidersConfig {
        let named = |name: &str, upstream: &MockUpstream| ProviderConfig {
            name: name.to_owned(),
            ..openai(upstream.url())
        };
        ProvidersConfig {
            providers: vec![named("eu", &self.eu), named("us", &self.us)],
            models,
            env: Env::from_pairs([]),
            ..ProvidersConfig::default()
        }
    }

    fn providers(&self, model: ModelConfig) -> Providers {
        let other = ModelConfig::new("other", "us").with_upstream_model("backup");
        Providers::new(self.config(vec![model, other])).unwrap()
    }

    fn route(&self, model: ModelConfig) -> Route {
        self.providers(model).route("gpt").unwrap()
    }

    /// How many requests each has received since the last time.
    async fn counts(&self) -> (usize, usize) {
        let (eu, us) = (self.eu.requests().await, self.us.requests().await);
        (eu.len(), us.len())
    }
}

/// A model with two deployments, of which the first gets nearly all requests.
fn gpt() -> ModelConfig {
    ModelConfig {
        sticky: Some(Duration::ZERO),
        ..ModelConfig::with_deployments(
            "gpt",
            [
                DeploymentConfig::new("eu")
                    .with_upstream_model("gpt-eu")
                    .with_weight(u32::MAX),
                DeploymentConfig::new("us").with_upstream_model("gpt-us"),
            ],
        )
    }
}

async fn send(route: &Route, text: &str) -> Result<ForwardOutcome, CallError> {
    let body = format!(r#"{{"model":"gpt","messages":[{{"role":"user","content":"{text}"}}]}}"#);
    let credentials = ClientCredentials::default();
    let (client, task) = (ClientDialect::Chat, ModelTask::Generate);
    forward(route, client, task, &body, &credentials).await
}

/// The header of an answered request.
async fn routed(route: &Route, text: &str) -> String {
    let outcome = send(route, text).await.unwrap();
    let header = outcome.decision().map(|decision| decision.header_value());
    let answer = passed(outcome);
    assert_eq!(answer.status, 200);
    drain(answer.body).await;
    header.unwrap_or_default()
}

#[tokio::test]
async fn requests_are_shared_by_weight_and_the_header_shows_it() {
    let upstreams = Upstreams::start().await;
    let mut model = gpt();
    model.deployments[0].weight = 3;
    let route = upstreams.route(model);
    let header = routed(&route, "x").await;
    assert!(
        header == "model=gpt; deployment=eu/gpt-eu; attempt=1; reason=weighted"
            || header == "model=gpt; deployment=us/gpt-us; attempt=1; reason=weighted",
        "{header}"
    );
    for _ in 0..199 {
        routed(&route, "x").await;
    }
    let (eu, us) = upstreams.counts().await;
    assert_eq!(eu + us, 200);
    // 150 of 200, within six standard deviations: this choice has no seed.
    assert!((113..=187).contains(&eu), "{eu} and {us}");
}

#[tokio::test]
async fn one_that_fails_is_passed_over_and_no_client_notices() {
    let upstreams = Upstreams::start().await;
    let down = r#"{"error":{"message":"down"}}"#;
    upstreams.eu.respond_always(MockResponse::json(500, down));
    let providers = upstreams.providers(gpt());
    let route = providers.route("gpt").unwrap();
    for _ in 0..3 {
        let header = routed(&route, "x").await;
        assert_eq!(
            header,
            "model=gpt; deployment=us/gpt-us; attempt=2; reason=retry:500"
        );
    }
    for _ in 0..10 {
        let header = routed(&route, "x").await;
        assert!(header.ends_with("attempt=1; reason=weighted"), "{header}");
    }
    // Three failures, each without a second attempt at the same deployment.
    assert_eq!(upstreams.counts().await, (3, 13));
    let health = providers.health();
    let target = &health[0].targets[0];
    let deployment = target.deployment.as_ref().unwrap();
    assert_eq!(deployment.cooldown, Some("server_error"));
    assert_eq!((deployment.chosen, deployment.running), (3, 0));
    assert_eq!(deployment.latency, None, "failures come soon");
    let second = health[1].targets[0].deployment.as_ref().unwrap();
    assert_eq!((second.chosen, second.cooldown), (13, None));
    assert!(second.latency.is_some() && second.share > 0.8);

    // A new configuration goes on where the old one was.
    let next = upstreams.providers(gpt());
    next.take_over(&providers);
    routed(&next.route("gpt").unwrap(), "x").await;
    assert_eq!(upstreams.counts().await, (0, 1));
}

#[tokio::test]
async fn one_whose_stream_begins_with_an_error_is_passed_over_too() {
    let upstreams = Upstreams::start().await;
    let overloaded = "data: {\"error\":{\"message\":\"full\",\"type\":\"overloaded_error\"}}\n\n";
    upstreams.eu.respond_always(MockResponse::sse(overloaded));
    upstreams.us.respond_always(MockResponse::sse(CHAT_STREAM));
    let route = upstreams.route(gpt());
    for _ in 0..3 {
        let header = routed(&route, "x").await;
        assert_eq!(
            header,
            "model=gpt; deployment=us/gpt-us; attempt=2; reason=retry:529"
        );
    }
    let header = routed(&route, "x").await;
    assert!(header.ends_with("attempt=1; reason=weighted"), "{header}");
    assert_eq!(upstreams.counts().await, (3, 4));
}

#[tokio::test]
async fn one_that_is_rate_limited_is_passed_over_until_a_trial_succeeds() {
    let upstreams = Upstreams::start().await;
    let limited = MockResponse::json(429, LIMITED);
    upstreams
        .eu
        .respond(limited.clone().header("retry-after-ms", "1"))
        .respond(limited.header("retry-after", "3600"));
    let route = upstreams.route(gpt());
    let header = routed(&route, "x").await;
    assert!(header.ends_with("attempt=2; reason=retry:429"), "{header}");
    // After its millisecond one request tries it, and is told to wait for an hour.
    let mut tried = String::new();
    while !tried.ends_with("retry:429") {
        tried = routed(&route, "x").await;
    }
    upstreams.counts().await;
    for _ in 0..5 {
        routed(&route, "x").await;
    }
    assert_eq!(upstreams.counts().await, (0, 5));
}

#[tokio::test]
async fn one_that_recovers_gets_its_part_again() {
    let upstreams = Upstreams::start().await;
    let refused = r#"{"error":{"message":"bad key","type":"authentication_error"}}"#;
    upstreams.eu.respond(MockResponse::json(401, refused));
    let route = upstreams.route(ModelConfig {
        cooldown: Some(CooldownPolicy {
            auth: Duration::from_millis(1),
            ..CooldownPolicy::default()
        }),
        ..gpt()
    });
    let header = routed(&route, "x").await;
    assert!(header.ends_with("retry:401"), "{header}");
    let mut header = String::new();
    while !header.contains("deployment=eu/gpt-eu") {
        header = routed(&route, "x").await;
    }
    assert!(header.ends_with("attempt=1; reason=weighted"), "{header}");
}

#[tokio::test]
async fn an_account_without_credit_that_blames_the_request_is_passed_over() {
    let upstreams = Upstreams::start().await;
    let empty = r#"{"error":{"message":"Your credit balance is too low to access the API.","type":"invalid_request_error"}}"#;
    upstreams.eu.respond(MockResponse::json(400, empty));
    let route = upstreams.route(gpt());
    let header = routed(&route, "x").await;
    assert!(header.ends_with("attempt=2; reason=retry:400"), "{header}");
    upstreams.counts().await;
    routed(&route, "x").await;
    assert_eq!(upstreams.counts().await, (0, 1));
}

#[tokio::test]
async fn one_whose_model_does_not_exist_is_passed_over() {
    let upstreams = Upstreams::start().await;
    let missing = r#"{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}"#;
    upstreams
        .eu
        .respond_always(MockResponse::json(404, missing));
    let providers = upstreams.providers(gpt());
    let route = providers.route("gpt").unwrap();
    assert!(routed(&route, "x").await.ends_with("reason=retry:404"));
    assert!(
        routed(&route, "x")
            .await
            .ends_with("attempt=1; reason=weighted")
    );
    assert_eq!(upstreams.counts().await, (1, 2));
    let health = providers.health();
    let deployment = health[0].targets[0].deployment.as_ref().unwrap();
    assert_eq!(deployment.cooldown, Some("model_not_found"));

    // Anything else that is missing says nothing of the deployment.
    let route = upstreams.route(gpt());
    let file = r#"{"error":{"message":"No such File object: file-1","param":"file","code":null}}"#;
    upstreams.eu.respond_always(MockResponse::json(404, file));
    for _ in 0..2 {
        assert!(routed(&route, "x").await.ends_with("reason=retry:404"));
    }
    assert_eq!(upstreams.counts().await, (2, 2));

    // Nor does a model of a client's choice.
    let any = ModelConfig {
        sticky: Some(Duration::ZERO),
        ..ModelConfig::with_deployments(
            "any/*",
            [
                DeploymentConfig::new("eu")
                    .with_upstream_model("*")
                    .with_weight(u32::MAX),
                DeploymentConfig::new("us").with_upstream_model("*"),
            ],
        )
    };
    let route = upstreams.providers(any).route("any/gpt-9").unwrap();
    upstreams
        .eu
        .respond_always(MockResponse::json(404, missing));
    for _ in 0..2 {
        assert!(routed(&route, "x").await.ends_with("reason=retry:404"));
    }
    assert_eq!(upstreams.counts().await, (2, 2));
}

#[tokio::test]
async fn an_account_whose_limit_is_used_up_is_not_called_again() {
    let upstreams = Upstreams::start().await;
    let last = MockResponse::json(200, CHAT_RESPONSE)
        .header("x-ratelimit-remaining-requests", "0")
        .header("x-ratelimit-reset-requests", "6m0s");
    upstreams.eu.respond(last);
    let providers = upstreams.providers(gpt());
    let route = providers.route("gpt").unwrap();
    for _ in 0..4 {
        routed(&route, "x").await;
    }
    assert_eq!(upstreams.counts().await, (1, 3));
    let health = providers.health();
    let deployment = health[0].targets[0].deployment.as_ref().unwrap();
    assert_eq!(deployment.cooldown, Some("rate_limited"));
}

#[tokio::test]
async fn limits_per_minute_are_kept_and_when_all_are_reached_nothing_is_sent() {
    let upstreams = Upstreams::start().await;
    let mut model = gpt();
    model.deployments[0].minute_limits.requests = Some(2);
    // A request of 60 bytes is some 15 tokens.
    model.deployments[1].minute_limits.tokens = Some(20);
    let route = upstreams.route(model.clone());
    for _ in 0..3 {
        routed(&route, "x").await;
    }
    let error = send(&route, "x").await.unwrap_err();
    assert_eq!(error.code(), "no-deployment");
    assert_eq!(error.to_api_error().status, 429);
    let wait = error.retry_after().unwrap();
    assert!((1..=60).contains(&wait.as_secs()), "{wait:?}");
    assert_eq!(upstreams.counts().await, (2, 1));

    // A fallback takes what they cannot.
    let route = upstreams.route(model.with_fallbacks(["other"]));
    for _ in 0..3 {
        routed(&route, "x").await;
    }
    let header = routed(&route, "x").await;
    assert_eq!(
        header,
        "model=gpt; deployment=us/backup; attempt=1; reason=fallback:cooldown"
    );
}

#[tokio::test]
async fn a_single_deployment_can_have_limits_per_minute_too() {
    let upstreams = Upstreams::start().await;
    let route = upstreams.route(ModelConfig {
        minute_limits: MinuteLimits {
            requests: Some(1),
            tokens: None,
        },
        ..ModelConfig::new("gpt", "eu")
    });
    assert_eq!(routed(&route, "x").await, "", "there was no choice");
    assert!(send(&route, "x").await.is_err());
    assert_eq!(upstreams.counts().await, (1, 0));
}

#[tokio::test]
async fn counting_tokens_uses_none_of_a_limit_and_waits_for_none() {
    let upstream = MockUpstream::start().await;
    let providers = Providers::new(ProvidersConfig {
        providers: vec![anthropic(upstream.url())],
        models: vec![ModelConfig {
            minute_limits: MinuteLimits {
                requests: None,
                tokens: Some(20),
            },
            ..ModelConfig::new("claude", "ant")
        }],
        env: Env::from_pairs([]),
        ..ProvidersConfig::default()
    })
    .unwrap();
    let route = providers.route("claude").unwrap();
    let credentials = ClientCredentials::default();
    let ask = async |task: ModelTask, answer: &str| {
        let body =
            r#"{"model":"claude","max_tokens":5,"messages":[{"role":"user","content":"x"}]}"#;
        upstream.respond(MockResponse::json(200, answer));
        forward(&route, ClientDialect::Messages, task, body, &credentials).await
    };
    let counted = r#"{"input_tokens":7}"#;
    for _ in 0..3 {
        assert!(ask(ModelTask::CountTokens, counted).await.is_ok());
    }
    // A request of about 24 tokens uses the whole minute, and more.
    assert!(ask(ModelTask::Generate, MESSAGES_RESPONSE).await.is_ok());
    assert!(ask(ModelTask::CountTokens, counted).await.is_ok());
    upstream.respond(MockResponse::json(200, counted));
    let neutral = route.count(&hello(false), &credentials).await.unwrap();
    assert_eq!((neutral.input_tokens, neutral.estimated), (7, false));
    assert_eq!(upstream.requests().await.len(), 6);
    let refused = ask(ModelTask::Generate, MESSAGES_RESPONSE).await;
    assert_eq!(refused.unwrap_err().code(), "no-deployment");
}

#[tokio::test]
async fn each_kind_of_failure_leads_to_its_own_fallbacks() {
    let upstreams = Upstreams::start().await;
    let route = upstreams.route(ModelConfig {
        context_fallbacks: vec!["us/long".to_owned()],
        content_filter_fallbacks: vec!["us/open".to_owned()],
        ..gpt().with_fallbacks(["other"])
    });
    for (status, body, expected) in [
        (400, CONTEXT, "us/long; attempt=2; reason=fallback:context"),
        (
            400,
            FILTER,
            "us/open; attempt=2; reason=fallback:content-filter",
        ),
    ] {
        upstreams.eu.respond(MockResponse::json(status, body));
        let header = routed(&route, "x").await;
        assert_eq!(header, format!("model=gpt; deployment={expected}"));
    }
    // Any other error of the request is the answer.
    let wrong = r#"{"error":{"message":"no such field","type":"invalid_request_error"}}"#;
    upstreams.eu.respond(MockResponse::json(400, wrong));
    let refused = passed(send(&route, "x").await.unwrap());
    assert_eq!(refused.status, 400);
    assert_eq!(drain(refused.body).await.0, wrong.as_bytes());
    assert_eq!(upstreams.counts().await, (3, 2));

    // Without such fallbacks, a request that is too long is an error like any other.
    let route = upstreams.route(gpt().with_fallbacks(["other"]));
    upstreams.eu.respond(MockResponse::json(400, CONTEXT));
    assert_eq!(passed(send(&route, "x").await.unwrap()).status, 400);
    assert_eq!(upstreams.counts().await, (1, 0));
}

#[tokio::test]
async fn a_fallback_that_was_used_is_named_without_deployments_too() {
    let upstreams = Upstreams::start().await;
    let route = upstreams.route(ModelConfig::new("gpt", "eu").with_fallbacks(["other"]));
    assert_eq!(routed(&route, "x").await, "");
    let refused = r#"{"error":{"message":"no","type":"authentication_error"}}"#;
    upstreams.eu.respond(MockResponse::json(401, refused));
    assert_eq!(
        routed(&route, "x").await,
        "model=gpt; deployment=us/backup; attempt=2; reason=fallback:401"
    );
}

#[tokio::test]
async fn a_conversation_stays_with_the_deployment_that_answered_it() {
    let upstreams = Upstreams::start().await;
    let mut model = gpt();
    model.deployments[0].weight = 1;
    model.sticky = None;
    let route = upstreams.route(model);
    for text in ["one", "two", "three", "four"] {
        let first = routed(&route, text).await;
        assert!(first.ends_with("reason=weighted"), "{first}");
        let expected = first.replace("weighted", "sticky");
        for _ in 0..5 {
            assert_eq!(routed(&route, text).await, expected);
        }
        // In neutral form it is another key, which stays as well.
        let named = |reply: &prowess_provider::UpstreamReply| reply.provider.clone();
        let mut request = hello(false);
        request.user = Some(text.to_owned());
        let home = named(&call(&route, &request).await.unwrap());
        for _ in 0..5 {
            assert_eq!(named(&call(&route, &request).await.unwrap()), home);
        }
    }
}

#[tokio::test]
async fn owners_do_not_share_what_their_conversations_prefer() {
    let upstreams = Upstreams::start().await;
    let mut route = upstreams.route(ModelConfig {
        sticky: None,
        ..gpt()
    });
    let mut other = route.clone();
    route.set_owner("acme");
    other.set_owner("globex");
    let down = r#"{"error":{"message":"down"}}"#;
    upstreams.eu.respond(MockResponse::json(500, down));
    let moved = routed(&route, "x").await;
    assert!(moved.contains("deployment=us/"), "{moved}");
    let stays = routed(&route, "x").await;
    assert!(
        stays.contains("deployment=us/") && stays.ends_with("reason=sticky"),
        "{stays}"
    );
    let others = routed(&other, "x").await;
    assert!(
        others.contains("deployment=eu/") && others.ends_with("reason=weighted"),
        "{others}"
    );
}

#[tokio::test]
async fn a_response_is_continued_where_it_is_stored() {
    let upstreams = Upstreams::start().await;
    let stored = |id: &str| {
        let body = format!(r#"{{"id":"{id}","object":"response","output":[],"usage":null}}"#);
        MockResponse::json(200, &body)
    };
    let mut config = upstreams.config(vec![ModelConfig {
        sticky: None,
        ..gpt()
    }]);
    for provider in &mut config.providers {
        provider.kind = ProviderKind::new(OpenAiOptions {
            responses: Some(true),
        });
    }
    let providers = Providers::new(config).unwrap();
    let route = providers.route("gpt").unwrap();
    let ask = async |previous: &str| {
        let body =
            format!(r#"{{"model":"gpt","previous_response_id":"{previous}","input":"More"}}"#);
        let (client, task) = (ClientDialect::Responses, ModelTask::Generate);
        let credentials = ClientCredentials::default();
        let outcome = forward(&route, client, task, &body, &credentials).await;
        let outcome = outcome.unwrap();
        let reason = outcome
            .decision()
            .map(|decision| decision.reason.to_string());
        drain(passed(outcome).body).await;
        reason.unwrap_or_default()
    };
    // The first deployment does not have it, the second one does.
    let unknown = r#"{"error":{"message":"Previous response with id 'r0' not found.","type":"invalid_request_error","param":"previous_response_id","code":"previous_response_not_found"}}"#;
    upstreams.eu.respond(MockResponse::json(400, unknown));
    upstreams.us.respond(stored("r1")).respond(stored("r2"));
    assert_eq!(ask("r0").await, "retry:400");
    // What it answered is there too.
    assert_eq!(ask("r1").await, "sticky");
    assert_eq!(upstreams.counts().await, (1, 2));
    // Nobody has it: the answer says so.
    upstreams.eu.respond(MockResponse::json(400, unknown));
    upstreams.us.respond(MockResponse::json(400, unknown));
    assert_eq!(ask("r9").await, "");
    assert_eq!(upstreams.counts().await, (1, 1));
}

#[tokio::test]
async fn a_stream_keeps_its_deployment_busy_until_it_ends() {
    let upstreams = Upstreams::start().await;
    upstreams.eu.respond_always(MockResponse::sse(CHAT_STREAM));
    upstreams.us.respond_always(MockResponse::sse(CHAT_STREAM));
    let route = upstreams.route(ModelConfig {
        strategy: Some(DeploymentStrategy::LeastBusy),
        ..gpt()
    });
    let first = call(&route, &hello(true)).await.unwrap();
    let second = call(&route, &hello(true)).await.unwrap();
    assert_ne!(first.provider, second.provider);
    let ended = first.provider.clone();
    rest(stream(first)).await;
    let third = call(&route, &hello(true)).await.unwrap();
    assert_eq!(third.provider, ended);
    let header = third.decision.as_ref().unwrap().header_value();
    assert!(header.ends_with("attempt=1; reason=least-busy"), "{header}");
    drop((second, third));
}

#[tokio::test]
async fn one_without_a_free_place_is_passed_over() {
    let upstreams = Upstreams::start().await;
    upstreams.eu.respond_always(MockResponse::sse(CHAT_STREAM));
    upstreams.us.respond_always(MockResponse::sse(CHAT_STREAM));
    let mut model = gpt();
    model.deployments[0].limit = Some(ConcurrencyLimit::new(1));
    let route = upstreams.route(model);
    let first = call(&route, &hello(true)).await.unwrap();
    let second = call(&route, &hello(true)).await.unwrap();
    let names = [first.provider.as_str(), second.provider.as_str()];
    assert_eq!(names, ["eu", "us"]);
}

#[tokio::test]
async fn a_new_configuration_gives_no_limit_anew() {
    let upstreams = Upstreams::start().await;
    upstreams.eu.respond_always(MockResponse::sse(CHAT_STREAM));
    upstreams.us.respond_always(MockResponse::sse(CHAT_STREAM));
    let mut model = gpt();
    model.deployments[0].limit = Some(ConcurrencyLimit {
        queued: 0,
        ..ConcurrencyLimit::new(1)
    });
    model.deployments[1].minute_limits.requests = Some(1);
    let before = upstreams.providers(model.clone());
    let route = before.route("gpt").unwrap();
    let eu = call(&route, &hello(true)).await.unwrap();
    let us = call(&route, &hello(true)).await.unwrap();
    assert_eq!([eu.provider.as_str(), us.provider.as_str()], ["eu", "us"]);

    let next = upstreams.providers(model);
    next.take_over(&before);
    let route = next.route("gpt").unwrap();
    let health = next.health();
    let running = |place: usize| {
        let deployment = health[place].targets[0].deployment.as_ref();
        deployment.unwrap().running
    };
    assert_eq!((running(0), running(1)), (1, 1));
    let refused = call(&route, &hello(true)).await.unwrap_err();
    assert_eq!(refused.code(), "model-busy");
    assert_eq!(upstreams.counts().await, (1, 1));
    drop(eu);
    let answered = call(&route, &hello(true)).await.unwrap();
    assert_eq!(answered.provider, "eu");
}

#[test]
fn entries_of_one_name_are_deployments_unless_they_disagree() {
    let entry = |provider: &str, fallbacks: &[&str]| ModelConfig {
        fallbacks: fallbacks.iter().map(|&name| name.to_owned()).collect(),
        ..ModelConfig::new("gpt", provider)
    };
    let built = |models: Vec<ModelConfig>| -> Result<Providers, ProviderConfigError> {
        let named = |name: &str| ProviderConfig {
            name: name.to_owned(),
            ..openai("http://localhost:1")
        };
        Providers::new(ProvidersConfig {
            providers: vec![named("eu"), named("us")],
            models,
            env: Env::from_pairs([]),
            ..ProvidersConfig::default()
        })
    };
    let providers = built(vec![
        entry("eu", &["us/a"]),
        ModelConfig::new("other", "eu"),
        entry("us", &[]),
    ])
    .unwrap();
    let names: Vec<String> = providers.models().into_iter().map(|m| m.name).collect();
    assert_eq!(names, ["gpt", "other"]);
    let explained = providers.explain("gpt").unwrap();
    let found: Vec<_> = explained.deployments.iter().map(|d| &d.provider).collect();
    assert_eq!(found, ["eu", "us"]);
    assert_eq!(explained.fallbacks.errors, ["us/a"]);

    let refused = built(vec![entry("eu", &["us/a"]), entry("us", &["us/b"])]).unwrap_err();
    assert_eq!(
        format!("{}: {refused}", refused.code()),
        "conflicting-settings: models.gpt: entries 1 and 2 of this name have different \
         `fallbacks`; set it in one of them, or alike in both"
    );
    let many = vec![entry("eu", &[]); 65];
    assert_eq!(built(many).unwrap_err().code(), "too-many-targets");
}

#[tokio::test]
async fn what_a_request_would_do_is_explained() {
    let upstreams = Upstreams::start().await;
    let providers = upstreams.providers(ModelConfig {
        context_fallbacks: vec!["us/long".to_owned()],
        sticky: None,
        ..gpt().with_fallbacks(["other"])
    });
    let explained = providers.explain("gpt").unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&explained).unwrap());
    let plain = providers.explain("us/some-model").unwrap();
    assert_eq!((plain.entry, plain.strategy), (None, None));
    assert_eq!(plain.deployments[0].price_source, "unpriced");
    assert!(providers.explain("unheard-of").is_err());
}
