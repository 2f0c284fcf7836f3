//! Runs for whose commands no worker has room: their clients get what an overloaded vendor of
//! their dialect answers, and the model is not asked to make do without commands.

use std::sync::Arc;
use std::time::Duration;

use prowess_bus::Bus;
use prowess_cluster::{ClusterSandboxes, ClusterSettings};
use prowess_engine::SandboxHandle;
use prowess_sandbox::SharedSandboxes;
use prowess_server::ServerSettings;
use prowess_wire::ClientDialect;
use serde_json::json;

use super::settings;
use crate::gateway::{ClientResponse, Gateway, path};
use crate::runs::{model_response, request_naming, stored};

const MODEL: &str = "oai/m1";

/// A gateway of a cluster without workers, whose commands do not wait long.
async fn gateway_without_workers() -> Gateway {
    let bus = Bus::local();
    let without_sandbox = Gateway::with(settings(&bus, 0)).await;
    let cluster = ClusterSettings {
        wait: Duration::from_millis(50),
        ..ClusterSettings::new(bus.clone(), "prowess", "gw-1")
    };
    let store = without_sandbox.app.store().clone();
    let sandboxes: SharedSandboxes =
        Arc::new(ClusterSandboxes::start(store, cluster).await.unwrap());
    let settings = ServerSettings {
        sandbox: SandboxHandle::ready(sandboxes),
        ..settings(&bus, 1)
    };
    without_sandbox.beside(settings).await
}

/// A request with a skill, whose model calls a command.
async fn ask(
    gateway: &Gateway,
    client: ClientDialect,
    skill: &str,
    stream: bool,
) -> ClientResponse {
    let mut request = request_naming(client, MODEL, skill, stream);
    match client {
        ClientDialect::Messages => {
            let code = json!({"type": "code_execution_20260521", "name": "code_execution"});
            request["tools"] = json!([code]);
        }
        ClientDialect::Responses => {
            let skill = json!({"type": "skill_reference", "skill_id": skill});
            let environment = json!({"type": "container_auto", "skills": [skill]});
            let tools = json!([{"type": "shell", "environment": environment}]);
            request = json!({"model": MODEL, "input": "Go.", "stream": stream, "tools": tools});
        }
        _ => {}
    }
    let calls = [("bash_code_execution", json!({"command": "true"}))];
    let turn = model_response(MODEL, stream, "I run it.", &calls);
    gateway.upstream.respond(turn);
    let answer = gateway.post(path(client), request.to_string()).await;
    gateway.upstream.next_request().await;
    let more = gateway.upstream.requests().await;
    assert!(more.is_empty(), "{client:?}: the model was asked again");
    answer
}

#[tokio::test]
async fn a_run_whose_command_no_worker_takes_ends_as_at_an_overloaded_vendor() {
    let gateway = gateway_without_workers().await;
    let skill = stored(&gateway).await;
    for (client, status) in [
        (ClientDialect::Messages, 529),
        (ClientDialect::Chat, 503),
        (ClientDialect::Responses, 503),
    ] {
        let answer = ask(&gateway, client, &skill, false).await;
        let text = answer.text();
        assert_eq!(answer.status.as_u16(), status, "{client:?}: {text}");
        assert_eq!(answer.header("retry-after"), Some("2"), "{client:?}");
        assert!(
            text.contains("no worker is available"),
            "{client:?}: {text}"
        );
    }
    // What has begun as a stream ends with the error as an event.
    let answer = ask(&gateway, ClientDialect::Messages, &skill, true).await;
    let text = answer.text();
    assert_eq!(answer.status, 200, "{text}");
    let (before, error) = text.split_once("event: error\n").unwrap();
    assert!(before.contains("I run it."), "{text}");
    assert!(error.contains("overloaded_error"), "{text}");
    assert!(error.contains("no worker is available"), "{text}");
    assert!(!text.contains("message_stop"), "{text}");
}
