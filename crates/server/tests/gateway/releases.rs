//! Requests that name a version by a label, and requests for revoked versions. Here without a
//! sandbox: skills are read, not run.

use prowess_skill::{Bundle, BundleLimits, LoadOptions, Skill};
use prowess_store::{LabelName, NewRevocation, NewVersion, TenantId, VersionSelector};
use prowess_testkit::SkillFixture;
use prowess_wire::ClientDialect;
use serde_json::{Value, json};

use crate::gateway::{ClientResponse, Gateway, path};
use crate::runs::{load, model_response, sent, stored};

fn select(text: &str) -> VersionSelector {
    VersionSelector::parse(text).unwrap()
}

/// A stored skill with three versions, whose instructions differ.
async fn three_versions(gateway: &Gateway) -> String {
    let id = stored(gateway).await;
    for number in [2, 3] {
        let body = format!("Instructions of version {number}.\n");
        let files = SkillFixture::new("pdf-forms").body(&body).files();
        let bundle = Bundle::from_files(files, &BundleLimits::default()).unwrap();
        let skill = Skill::load(bundle, &LoadOptions::default()).skill.unwrap();
        let new = NewVersion::from_skill(&skill);
        let tenant = TenantId::default_tenant();
        let made = gateway.app.store().create_version(&tenant, &id, &new).await;
        made.unwrap();
    }
    id
}

async fn set_label(gateway: &Gateway, id: &str, name: &str, version: &str) {
    let (tenant, name) = (TenantId::default_tenant(), LabelName::parse(name).unwrap());
    let store = gateway.app.store();
    let set = store.set_label(&tenant, id, &name, &select(version)).await;
    set.unwrap();
}

async fn revoke(gateway: &Gateway, id: &str, version: &str) {
    let new = NewRevocation {
        reason: "it loses data",
        move_to: None,
        locked_labels: &[],
    };
    let tenant = TenantId::default_tenant();
    let store = gateway.app.store();
    let revoked = store
        .revoke_version(&tenant, id, &select(version), &new)
        .await;
    revoked.unwrap();
}

async fn ask(gateway: &Gateway, client: ClientDialect, id: &str, version: Value) -> ClientResponse {
    let skill = json!({"type": "custom", "skill_id": id, "version": version});
    let body = match client {
        ClientDialect::Responses => {
            let skill = json!({"type": "skill_reference", "skill_id": id, "version": version});
            let environment = json!({"type": "container_auto", "skills": [skill]});
            let shell = json!({"type": "shell", "environment": environment});
            json!({"model": "oai/m1", "input": "Fill in the form", "tools": [shell]})
        }
        _ => json!({
            "model": "oai/m1", "max_tokens": 50, "container": {"skills": [skill]},
            "messages": [{"role": "user", "content": "Fill in the form"}],
        }),
    };
    gateway.post(path(client), body.to_string()).await
}

/// What the model reads when it loads the skill.
async fn loaded_text(gateway: &Gateway, client: ClientDialect, id: &str, version: Value) -> String {
    let upstream = &gateway.upstream;
    upstream.respond(model_response("oai/m1", false, "", &load()));
    upstream.respond(model_response("oai/m1", false, "Done.", &[]));
    let answer = ask(gateway, client, id, version).await;
    assert_eq!(answer.status, 200, "{client:?}: {}", answer.text());
    sent(gateway).await;
    let second = sent(gateway).await;
    second["messages"].to_string()
}

#[tokio::test]
async fn a_label_names_a_version_in_a_request() {
    let gateway = Gateway::start().await;
    let id = three_versions(&gateway).await;
    for client in [ClientDialect::Messages, ClientDialect::Chat] {
        for (version, expected) in [("2", "version 2"), ("latest", "version 3")] {
            set_label(&gateway, &id, "production", version).await;
            let text = loaded_text(&gateway, client, &id, "production".into()).await;
            assert!(text.contains(expected), "{client:?} {version}: {text}");
        }
    }
}

#[tokio::test]
async fn a_reference_of_openai_without_a_version_is_the_default_version() {
    let gateway = Gateway::start().await;
    let id = three_versions(&gateway).await;
    let (tenant, store) = (TenantId::default_tenant(), gateway.app.store());
    store
        .set_default_version(&tenant, &id, &select("2"))
        .await
        .unwrap();
    for (kind, expected) in [("skill_reference", "version 2"), ("custom", "version 3")] {
        let upstream = &gateway.upstream;
        upstream.respond(model_response("oai/m1", false, "", &load()));
        upstream.respond(model_response("oai/m1", false, "Done.", &[]));
        let body = json!({
            "model": "oai/m1", "container": {"skills": [{"type": kind, "skill_id": id}]},
            "messages": [{"role": "user", "content": "Fill in the form"}],
        });
        let answer = gateway
            .post(path(ClientDialect::Chat), body.to_string())
            .await;
        assert_eq!(answer.status, 200, "{kind}: {}", answer.text());
        sent(&gateway).await;
        let text = sent(&gateway).await["messages"].to_string();
        assert!(text.contains(expected), "{kind}: {text}");
    }
}

#[tokio::test]
async fn a_label_that_the_skill_does_not_have_is_a_404_that_lists_its_labels() {
    let gateway = Gateway::start().await;
    let id = three_versions(&gateway).await;
    set_label(&gateway, &id, "production", "1").await;
    for client in [
        ClientDialect::Messages,
        ClientDialect::Chat,
        ClientDialect::Responses,
    ] {
        let answer = ask(&gateway, client, &id, "canary".into()).await;
        assert_eq!(answer.status, 404, "{client:?}: {}", answer.text());
        let text = answer.text();
        assert!(
            text.contains("has no label `canary`; its labels are production"),
            "{text}"
        );
        let answer = ask(&gateway, client, &id, "Not a label".into()).await;
        assert_eq!(answer.status, 400, "{client:?}: {}", answer.text());
    }
    assert!(gateway.upstream.requests().await.is_empty());
}

#[tokio::test]
async fn a_request_for_a_revoked_version_is_refused_with_the_reason() {
    let gateway = Gateway::start().await;
    let id = three_versions(&gateway).await;
    let text = loaded_text(&gateway, ClientDialect::Messages, &id, "latest".into()).await;
    assert!(text.contains("version 3"), "{text}");
    revoke(&gateway, &id, "3").await;
    for client in [
        ClientDialect::Messages,
        ClientDialect::Chat,
        ClientDialect::Responses,
    ] {
        let answer = ask(&gateway, client, &id, json!(3)).await;
        assert_eq!(answer.status, 400, "{client:?}: {}", answer.text());
        let text = answer.text();
        let expected = "version 3 of skill `pdf-forms`";
        assert!(
            text.contains(expected) && text.contains("it loses data"),
            "{text}"
        );
    }
    assert!(gateway.upstream.requests().await.is_empty());
    let text = loaded_text(&gateway, ClientDialect::Messages, &id, "latest".into()).await;
    assert!(
        text.contains("version 2") && !text.contains("version 3"),
        "{text}"
    );
}

#[tokio::test]
async fn auto_does_not_offer_a_skill_whose_versions_are_all_revoked() {
    let gateway = Gateway::start().await;
    let id = three_versions(&gateway).await;
    let system = async || {
        let upstream = &gateway.upstream;
        upstream.respond(model_response("oai/m1", false, "Done.", &[]));
        let answer = ask(&gateway, ClientDialect::Messages, "auto", Value::Null).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        sent(&gateway).await.to_string()
    };
    assert!(system().await.contains("pdf-forms"));
    for version in ["3", "2", "1"] {
        revoke(&gateway, &id, version).await;
    }
    assert!(!system().await.contains("pdf-forms"));
}
