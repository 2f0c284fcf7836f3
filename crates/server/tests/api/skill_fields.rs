//! Form fields of a skill upload: a skill built from them, and none of them ignored.

use axum::body::Body;
use axum::http::StatusCode;
use prowess_skill::{Bundle, BundleLimits, LoadOptions, Skill};
use prowess_testkit::SkillFixture;
use serde_json::{Value, json};

use crate::client::{ALL, ClientResponse, Form, Server, TestDialect};

/// A form as LiteLLM's clients send it for a skill without files.
fn greeter() -> Form {
    Form::default()
        .text("custom_llm_provider", "litellm_proxy")
        .text("display_title", "Greeter of People")
        .text("description", "Greets people: use it \"politely\".")
        .text("instructions", "# Greeting\n\nSay hello.\n")
        .text("metadata", r#"{"team": "support", "version": "2"}"#)
}

async fn content(server: &Server, id: &Value) -> Skill {
    let path = format!("/v1/skills/{}/content", id.as_str().unwrap());
    let zip = server.get(TestDialect::OpenAi, &path).send().await.body;
    let bundle = Bundle::from_zip(&zip, &BundleLimits::default()).unwrap();
    Skill::load(bundle, &LoadOptions::default()).skill.unwrap()
}

/// Code, field and message of a refusal.
fn refusal(answer: &ClientResponse) -> (String, String, String) {
    assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{:?}", answer.body);
    let error = &answer.json()["error"];
    let param = error["param"]
        .as_str()
        .or(error["details"]["param"].as_str());
    let message = error["message"].as_str().unwrap().to_owned();
    (answer.code(), param.unwrap_or_default().to_owned(), message)
}

#[tokio::test]
async fn a_skill_is_made_of_title_description_instructions_and_metadata() {
    for dialect in ALL {
        let server = Server::new().await;
        let made = server.post(dialect, "/v1/skills").form(&greeter()).await;
        let skill = content(&server, &made.ok()["id"]).await;
        assert_eq!(skill.name, "greeter-of-people");
        assert_eq!(skill.description, "Greets people: use it \"politely\".");
        assert_eq!(skill.body.trim(), "# Greeting\n\nSay hello.");
        assert_eq!(
            Value::Object(skill.metadata),
            json!({"team": "support", "version": "2"})
        );
    }
}

#[tokio::test]
async fn a_form_without_files_may_be_urlencoded() {
    let server = Server::new().await;
    let body = "display_title=My+Skill&description=It+says+hi.&instructions=Say%20hi.\
                &metadata%5Bteam%5D=support&custom_llm_provider=litellm_proxy";
    let call = server.post(TestDialect::OpenAi, "/v1/skills");
    let call = call.header("content-type", "application/x-www-form-urlencoded");
    let made = call.body(Body::from(body)).await.ok();
    let skill = content(&server, &made["id"]).await;
    assert_eq!(
        (
            skill.name.as_str(),
            skill.description.as_str(),
            skill.body.trim()
        ),
        ("my-skill", "It says hi.", "Say hi.")
    );
    assert_eq!(skill.metadata["team"], "support");
}

#[tokio::test]
async fn a_version_is_made_of_fields_too_and_keeps_the_skills_name() {
    let server = Server::new().await;
    let made = server
        .post(TestDialect::Ga, "/v1/skills")
        .form(&greeter())
        .await;
    let id = made.ok()["id"].clone();
    let versions = format!("/v1/skills/{}/versions", id.as_str().unwrap());
    let next = Form::default()
        .text("description", "Greets people better.")
        .text("instructions", "Say hello twice.")
        .text("default", "true");
    server
        .post(TestDialect::Ga, &versions)
        .form(&next)
        .await
        .ok();
    let skill = content(&server, &id).await;
    assert_eq!(skill.name, "greeter-of-people");
    assert_eq!(skill.body.trim(), "Say hello twice.");

    let same = next.clone().text("display_name", "Greeter of People");
    server
        .post(TestDialect::Ga, &versions)
        .form(&same)
        .await
        .ok();
    let other = next.text("display_name", "Other");
    let refused = server.post(TestDialect::Ga, &versions).form(&other).await;
    let (code, param, message) = refusal(&refused);
    assert_eq!(
        (code.as_str(), param.as_str()),
        ("skill-title-fixed", "display_name")
    );
    assert!(message.contains("`Greeter of People`"), "{message}");
}

#[tokio::test]
async fn what_is_missing_for_a_skill_without_files_is_named() {
    let server = Server::new().await;
    let text = |fields: &[(&str, &str)]| {
        let form = Form::default();
        fields
            .iter()
            .fold(form, |form, (name, value)| form.text(name, value))
    };
    let (title, description) = (("display_title", "T"), ("description", "D."));
    let instructions = ("instructions", "I.");
    for (fields, missing) in [
        (vec![description, instructions], "display_title"),
        (vec![title, instructions], "description"),
        (vec![title, description], "instructions"),
        (vec![title, ("metadata", "{\"a\":\"b\"}")], "description"),
        (
            vec![title, description, ("instructions", "  ")],
            "instructions",
        ),
    ] {
        let refused = server
            .post(TestDialect::OpenAi, "/v1/skills")
            .form(&text(&fields))
            .await;
        let (code, param, message) = refusal(&refused);
        assert_eq!(
            (code.as_str(), param.as_str()),
            ("skill-field-missing", missing)
        );
        assert!(message.contains("files[]"), "{message}");
    }
    let title = text(&[title]);
    let refused = server
        .post(TestDialect::OpenAi, "/v1/skills")
        .form(&title)
        .await;
    assert_eq!(refused.code(), "skill-files-missing");
    let nameless = text(&[("display_title", "日本語"), description, instructions]);
    let refused = server
        .post(TestDialect::OpenAi, "/v1/skills")
        .form(&nameless)
        .await;
    assert_eq!(refusal(&refused).0, "skill-title-invalid");
}

#[tokio::test]
async fn fields_beside_files_match_the_skill_or_are_refused() {
    let server = Server::new().await;
    let id = server.skill("pdf-forms").await;
    let fixture = SkillFixture::new("pdf-forms")
        .field("metadata", "{team: support, version: 2}")
        .body("Fill in all fields.\n");
    let skill = Form::skill(&fixture);
    let bundle = Bundle::from_files(fixture.files(), &BundleLimits::default()).unwrap();
    let loaded = Skill::load(bundle, &LoadOptions::default()).skill.unwrap();
    let same = skill
        .clone()
        .text("description", &loaded.description)
        .text("instructions", "Fill in all fields.")
        .text("metadata", r#"{"version": 2, "team": "support"}"#);
    for path in ["/v1/skills".to_owned(), format!("/v1/skills/{id}/versions")] {
        server.post(TestDialect::Ga, &path).form(&same).await.ok();
        for (field, value, param) in [
            ("description", "Something else.", "description"),
            ("instructions", "Do something else.", "instructions"),
            ("metadata", r#"{"team": "sales"}"#, "metadata.team"),
            ("metadata[owner]", "me", "metadata.owner"),
        ] {
            for dialect in ALL {
                let form = skill.clone().text(field, value);
                let refused = server.post(dialect, &path).form(&form).await;
                let (code, named, message) = refusal(&refused);
                assert_eq!(
                    (code.as_str(), named.as_str()),
                    ("skill-field-conflict", param)
                );
                assert!(message.contains("Remove the field"), "{message}");
            }
        }
    }
}

#[tokio::test]
async fn a_field_that_means_nothing_is_refused_by_its_name() {
    let server = Server::new().await;
    let id = server.skill("pdf-forms").await;
    for path in ["/v1/skills".to_owned(), format!("/v1/skills/{id}/versions")] {
        for field in ["descripton", "name", "metadata[]", ""] {
            for dialect in ALL {
                let form = Form::skill(&SkillFixture::new("pdf-forms")).text(field, "x");
                let refused = server.post(dialect, &path).form(&form).await;
                let (code, param, message) = refusal(&refused);
                assert_eq!(
                    (code.as_str(), param.as_str()),
                    ("form-field-unknown", field)
                );
                assert!(message.to_lowercase().contains("remove it"), "{message}");
            }
        }
    }
    // With which LiteLLM's clients select an account.
    let form = Form::skill(&SkillFixture::new("for-every-model")).text("model", "claude");
    server
        .post(TestDialect::Ga, "/v1/skills")
        .form(&form)
        .await
        .ok();
    for (field, value) in [("metadata", "no JSON"), ("default", "maybe")] {
        let form = greeter().text(field, value);
        let refused = server.post(TestDialect::Ga, "/v1/skills").form(&form).await;
        assert_eq!(refusal(&refused).0, "form-field-invalid", "{field}");
    }
    let twice = greeter().text("default", "true").text("default", "false");
    let call = server.post(TestDialect::Ga, "/v1/skills");
    assert_eq!(refusal(&call.form(&twice).await).1, "default");
    for field in ["description", "display_name", "instructions"] {
        let form = greeter().text(field, "twice");
        let refused = server.post(TestDialect::Ga, "/v1/skills").form(&form).await;
        assert_eq!(refusal(&refused).0, "form-field-invalid", "{field}");
    }
}
