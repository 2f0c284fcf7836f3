//! Another configuration while the server runs: what takes it, what keeps its own, and what
//! belongs to neither.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use prowess_engine::{EngineSettings, RunLimits};
use prowess_server::{ConfigReader, ReadConfig, ReloadError, ServerSettings};
use prowess_store::{KeyLimits, KeyScope};
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use prowess_wire::ClientDialect;

use crate::bodies::{MESSAGES, question};
use crate::gateway::{Gateway, path, providers};
use crate::runs::{load, model_response, request_naming, stored, text_of};

/// What is read, one after the other.
struct Readings(Mutex<VecDeque<Result<ReadConfig, ReloadError>>>);

impl ConfigReader for Readings {
    fn read(&self) -> Result<ReadConfig, ReloadError> {
        self.0.lock().unwrap().pop_front().unwrap()
    }
}

pub(crate) fn give(
    gateway: &Gateway,
    readings: impl IntoIterator<Item = Result<ReadConfig, ReloadError>>,
) {
    let readings = Mutex::new(readings.into_iter().collect());
    gateway.app.set_config_reader(Arc::new(Readings(readings)));
}

/// A configuration whose models are at another address.
fn elsewhere(url: &str) -> Result<ReadConfig, ReloadError> {
    Ok(ReadConfig {
        settings: ServerSettings {
            providers: Some(providers(url)),
            runs: EngineSettings {
                limits: RunLimits {
                    turns: 1,
                    ..RunLimits::default()
                },
                ..EngineSettings::default()
            },
            ..ServerSettings::default()
        },
        source: "this test".to_owned(),
        changed: vec!["providers".to_owned()],
    })
}

#[tokio::test]
async fn a_rate_limit_goes_on_across_configurations() {
    let gateway = Gateway::start().await;
    give(&gateway, [elsewhere(gateway.upstream.url())]);
    let limits = KeyLimits {
        requests_per_minute: Some(2),
        ..KeyLimits::default()
    };
    let key = gateway.key("default", KeyScope::Use, &limits).await;
    let ask = async || {
        let body = question(ClientDialect::Chat, "stage/hero", false).to_string();
        let headers = [("x-api-key", key.as_str())];
        let path = path(ClientDialect::Chat);
        gateway.send(path, &headers, body).await.status
    };
    assert_eq!(ask().await, 200);
    assert_eq!(gateway.app.reload().await.unwrap().generation, 2);
    assert_eq!(ask().await, 200);
    assert_eq!(ask().await, 429);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_ends_with_the_configuration_it_began_with() {
    let other = MockUpstream::start().await;
    other.respond_always(MockResponse::json(200, MESSAGES));
    let gateway = Gateway::start().await;
    give(&gateway, [elsewhere(other.url())]);
    let skill = stored(&gateway).await;
    let (app, turns) = (gateway.app.clone(), AtomicUsize::new(0));
    gateway.upstream.respond_with(move |_| {
        if turns.fetch_add(1, Ordering::SeqCst) > 0 {
            return model_response("ant/m1", false, "Done.", &[]);
        }
        let reload = || tokio::runtime::Handle::current().block_on(app.reload());
        tokio::task::block_in_place(reload).unwrap();
        model_response("ant/m1", false, "Loading.", &load())
    });
    let client = ClientDialect::Messages;
    let body = request_naming(client, "ant/m1", &skill, false).to_string();
    let answer = gateway.post(path(client), body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(text_of(&answer).contains("Done."), "{}", answer.text());
    assert_eq!(answer.json()["stop_reason"], "end_turn");
    assert_eq!(gateway.upstream.requests().await.len(), 2);
    assert!(other.requests().await.is_empty());
    let body = question(client, "ant/m1", false).to_string();
    let next = gateway.post(path(client), body).await;
    assert_eq!(next.status, 200, "{}", next.text());
    assert_eq!(other.requests().await.len(), 1);
}

#[tokio::test]
async fn a_refused_reload_explains_itself_in_each_dialect_and_changes_nothing() {
    let gateway = Gateway::start().await;
    let invalid = || {
        let problems = [
            "line 2: `a` is not a setting",
            "line 4: `b` is not a setting",
        ];
        Err(ReloadError::Invalid(problems.map(str::to_owned).to_vec()))
    };
    let restart = || Err(ReloadError::NeedsRestart(vec!["server.listen".to_owned()]));
    give(&gateway, [invalid(), invalid(), restart()]);
    let openai = gateway.post("/openai/v1/admin/reload", "").await;
    insta::assert_snapshot!(openai.render());
    let anthropic = [("anthropic-version", "2023-06-01")];
    let anthropic = gateway.send("/v1/admin/reload", &anthropic, "").await;
    insta::assert_snapshot!(anthropic.render());
    let restart = gateway.post("/openai/v1/admin/reload", "").await;
    insta::assert_snapshot!(restart.render());
    let shown = gateway.get("/v1/admin/configuration", &[]).await.json();
    assert_eq!(shown["generation"], 1);
}

#[tokio::test]
async fn a_server_without_a_file_to_read_refuses() {
    let gateway = Gateway::start().await;
    let refused = gateway.post("/openai/v1/admin/reload", "").await;
    assert_eq!(refused.status, 409);
    assert_eq!(refused.json()["error"]["code"], "reload-unavailable");
}
