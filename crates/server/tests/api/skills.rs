//! The life cycle of a skill, in every API generation.

use axum::http::StatusCode;
use prowess_skill::{Bundle, BundleLimits};
use prowess_testkit::SkillFixture;
use serde_json::json;

use crate::client::{ALL, Form, Server, TestDialect};

fn fixture(name: &str) -> SkillFixture {
    SkillFixture::new(name).script("scripts/run.py", "print(1)\n")
}

/// Create, get, list, a second version, its list, its content, delete.
async fn life(dialect: TestDialect) -> String {
    let server = Server::new().await;
    let title = match dialect {
        TestDialect::Beta => "display_title",
        _ => "display_name",
    };
    let mut log = String::new();
    let mut record = |step: &str, exchange: String| {
        log.push_str(&format!("=== {step}\n{exchange}\n\n"));
    };
    let form = Form::skill(&fixture("pdf-forms")).text(title, "PDF forms");
    let created = server.post(dialect, "/v1/skills").form(&form).await;
    record("create", created.exchange());
    let id = created.ok()["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/skills/{id}");
    record("get", server.get(dialect, &path).send().await.exchange());
    record(
        "list",
        server.get(dialect, "/v1/skills").send().await.exchange(),
    );

    let next = fixture("pdf-forms").body("# Better\n");
    let versions = format!("{path}/versions");
    let call = server.post(dialect, &versions);
    record(
        "new version",
        call.form(&Form::skill(&next)).await.exchange(),
    );
    record(
        "versions",
        server.get(dialect, &versions).send().await.exchange(),
    );
    let latest = format!("{versions}/latest");
    record(
        "latest",
        server.get(dialect, &latest).send().await.exchange(),
    );
    let content = server
        .get(dialect, &format!("{latest}/content"))
        .send()
        .await;
    record("content", content.exchange());
    let bundle = Bundle::from_zip(&content.body, &BundleLimits::default()).unwrap();
    assert_eq!(bundle.skill_md(), next.skill_md().as_bytes());
    assert_eq!(bundle.folder(), Some("pdf-forms"));

    let first = server
        .get(TestDialect::OpenAi, &format!("{versions}/1"))
        .send()
        .await;
    let first_id = first.ok()["id"].as_str().unwrap().to_owned();
    let deleted = server
        .delete(dialect, &format!("{versions}/{first_id}"))
        .send()
        .await;
    record("delete the first version", deleted.exchange());
    let last = server.delete(dialect, &latest).send().await;
    record("delete the last version", last.exchange());
    record(
        "delete",
        server.delete(dialect, &path).send().await.exchange(),
    );
    record(
        "get what is gone",
        server.get(dialect, &path).send().await.exchange(),
    );
    log
}

#[tokio::test]
async fn scripts_that_are_uploaded_as_files_of_their_own_are_executable() {
    let server = Server::new().await;
    let skill = SkillFixture::new("pdf-forms")
        .file("scripts/run.sh", "#!/bin/bash\necho hi\n")
        .file("scripts/data.txt", "no #! at the start\n");
    let call = server.post(TestDialect::OpenAi, "/v1/skills");
    let created = call.form(&Form::skill(&skill)).await.ok();
    let id = created["id"].as_str().unwrap();
    let path = format!("/v1/skills/{id}/versions/1/files");
    let listed = server.get(TestDialect::OpenAi, &path).send().await.ok();
    let files = listed["data"].as_array().unwrap().iter();
    let executable = files.filter(|file| file["executable"] == true);
    let names: Vec<_> = executable.map(|file| &file["path"]).collect();
    assert_eq!(names, ["scripts/run.sh"], "{listed}");
}

#[tokio::test]
async fn a_skill_lives_in_anthropics_beta() {
    insta::assert_snapshot!(life(TestDialect::Beta).await);
}

#[tokio::test]
async fn a_skill_lives_in_anthropics_general_availability() {
    insta::assert_snapshot!(life(TestDialect::Ga).await);
}

#[tokio::test]
async fn the_newest_generation_has_the_shapes_of_general_availability() {
    assert_eq!(life(TestDialect::G3).await, life(TestDialect::Ga).await);
}

#[tokio::test]
async fn a_skill_lives_in_openais_dialect() {
    insta::assert_snapshot!(life(TestDialect::OpenAi).await);
}

#[tokio::test]
async fn mounts_decide_the_dialect_and_a_doubled_v1_is_forgiven() {
    let server = Server::new().await;
    let id = server.skill("pdf-forms").await;
    for (dialect, mount, key) in [
        (TestDialect::OpenAi, "/anthropic/v1", "type"),
        (TestDialect::OpenAi, "/anthropic/v1/v1", "type"),
        (TestDialect::Ga, "/openai/v1", "object"),
        (TestDialect::OpenAi, "/v1/v1", "object"),
        (TestDialect::G3, "/v1/v1", "type"),
    ] {
        let answer = server
            .get(dialect, &format!("{mount}/skills/{id}"))
            .send()
            .await;
        assert_eq!(answer.ok()[key], "skill", "{mount}");
    }
}

#[tokio::test]
async fn the_default_version_is_set_and_fetched_and_kept() {
    let server = Server::new().await;
    let id = server.skill("pdf-forms").await;
    let path = format!("/v1/skills/{id}");
    let versions = format!("{path}/versions");
    let form = Form::skill(&SkillFixture::new("pdf-forms").body("two\n")).text("default", "false");
    server
        .post(TestDialect::OpenAi, &versions)
        .form(&form)
        .await
        .ok();
    let skill = server.get(TestDialect::OpenAi, &path).send().await.ok();
    assert_eq!(
        (&skill["default_version"], &skill["latest_version"]),
        (&json!("1"), &json!("2"))
    );

    let set = server
        .post(TestDialect::OpenAi, &path)
        .json(&json!({ "default_version": "2" }))
        .await;
    assert_eq!(set.ok()["default_version"], "2");
    let content = server
        .get(TestDialect::OpenAi, &format!("{path}/content"))
        .send()
        .await;
    let bundle = Bundle::from_zip(&content.body, &BundleLimits::default()).unwrap();
    assert!(bundle.skill_md().ends_with(b"two\n"));
    let refused = server
        .delete(TestDialect::OpenAi, &format!("{versions}/2"))
        .send()
        .await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert_eq!(refused.code(), "skill-default-version");

    let form = Form::skill(&SkillFixture::new("pdf-forms").body("three\n")).text("default", "true");
    server
        .post(TestDialect::OpenAi, &versions)
        .form(&form)
        .await
        .ok();
    assert_eq!(
        server.get(TestDialect::OpenAi, &path).send().await.ok()["default_version"],
        "3"
    );
}

#[tokio::test]
async fn a_skill_emptied_in_the_beta_is_hidden_elsewhere() {
    let server = Server::new().await;
    let id = server.skill("pdf-forms").await;
    let path = format!("/v1/skills/{id}");
    let kept = server.delete(TestDialect::Beta, &path).send().await;
    assert_eq!(kept.status, StatusCode::BAD_REQUEST);
    assert_eq!(kept.code(), "skill-has-versions");
    server
        .delete(TestDialect::Beta, &format!("{path}/versions/latest"))
        .send()
        .await
        .ok();

    let empty = server.get(TestDialect::Beta, &path).send().await.ok();
    assert_eq!(empty["latest_version"], json!(null));
    for dialect in [TestDialect::Ga, TestDialect::G3, TestDialect::OpenAi] {
        let answer = server.get(dialect, &path).send().await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{dialect:?}");
        assert_eq!(answer.code(), "skill-without-version");
        let list = server.get(dialect, "/v1/skills").send().await.ok();
        assert_eq!(list["data"], json!([]), "{dialect:?}");
    }
    server.delete(TestDialect::Beta, &path).send().await.ok();
}

#[tokio::test]
async fn general_availability_keeps_the_last_version_and_cascades() {
    let server = Server::new().await;
    let id = server.skill("pdf-forms").await;
    let path = format!("/v1/skills/{id}");
    let kept = server
        .delete(TestDialect::Ga, &format!("{path}/versions/latest"))
        .send()
        .await;
    assert_eq!(
        (kept.status, kept.code().as_str()),
        (StatusCode::BAD_REQUEST, "skill-last-version")
    );
    server.delete(TestDialect::Ga, &path).send().await.ok();
    let gone = server.get(TestDialect::Ga, &path).send().await;
    assert_eq!(gone.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_last_version_takes_the_skill_with_it_in_openais_dialect() {
    let server = Server::new().await;
    let id = server.skill("pdf-forms").await;
    server
        .delete(TestDialect::OpenAi, &format!("/v1/skills/{id}/versions/1"))
        .send()
        .await
        .ok();
    let gone = server
        .get(TestDialect::OpenAi, &format!("/v1/skills/{id}"))
        .send()
        .await;
    assert_eq!(gone.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn ids_written_as_litellm_writes_them_mean_ours() {
    let server = Server::new().await;
    let id = server.skill("pdf-forms").await;
    for dialect in ALL {
        for written in [format!("litellm_{id}"), format!("litellm:{id}")] {
            let answer = server
                .get(dialect, &format!("/v1/skills/{written}"))
                .send()
                .await;
            assert_eq!(answer.ok()["id"], id.as_str());
        }
    }
}

#[tokio::test]
async fn titles_are_unique_in_the_beta_only() {
    let server = Server::new().await;
    let form = |title| Form::skill(&SkillFixture::new("pdf-forms")).text(title, "Same");
    server
        .post(TestDialect::Beta, "/v1/skills")
        .form(&form("display_title"))
        .await
        .ok();
    let taken = server
        .post(TestDialect::Beta, "/v1/skills")
        .form(&form("display_title"))
        .await;
    assert_eq!(taken.status, StatusCode::BAD_REQUEST);
    let message = taken.json()["error"]["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        message.starts_with("Skill cannot reuse an existing display_title"),
        "{message}"
    );
    server
        .post(TestDialect::Ga, "/v1/skills")
        .form(&form("display_name"))
        .await
        .ok();
}

#[tokio::test]
async fn files_of_a_version_are_listed_without_content_and_read_one_by_one() {
    let server = Server::new().await;
    let skill = SkillFixture::new("pdf-forms").file("scripts/fill.py", "print('filled')\n");
    let made = server.post(TestDialect::Ga, "/v1/skills");
    let made = made.form(&Form::skill(&skill)).await.ok();
    let id = made["id"].as_str().unwrap();
    for dialect in ALL {
        let path = format!("/v1/skills/{id}/versions/latest");
        let listed = server
            .get(dialect, &format!("{path}/files"))
            .send()
            .await
            .ok();
        let files = listed["data"].as_array().unwrap();
        let paths: Vec<_> = files
            .iter()
            .map(|file| file["path"].as_str().unwrap())
            .collect();
        assert_eq!(paths, ["SKILL.md", "scripts/fill.py"], "{dialect:?}");
        assert_eq!(files[1]["size_bytes"], 16, "{listed}");
        assert!(files[1]["digest"].as_str().unwrap().len() >= 64, "{listed}");
        let script = format!("{path}/file?path=scripts%2Ffill.py");
        let script = server.get(dialect, &script).send().await;
        assert_eq!(&*script.body, b"print('filled')\n", "{dialect:?}");
        assert_eq!(
            script.header("content-type"),
            Some("application/octet-stream")
        );
        assert_eq!(script.header("content-disposition"), Some("attachment"));
        assert_eq!(script.header("x-content-type-options"), Some("nosniff"));
        let main = server.get(dialect, &format!("{path}/file")).send().await;
        assert!(
            main.body.starts_with(b"---\nname: pdf-forms"),
            "{dialect:?}"
        );
        for none in [
            "../SKILL.md",
            "scripts",
            "/etc/passwd",
            "scripts%2F..%2FSKILL.md",
        ] {
            let answer = server.get(dialect, &format!("{path}/file?path={none}"));
            let answer = answer.send().await;
            assert_eq!(answer.status, StatusCode::NOT_FOUND, "{none}");
            assert_eq!(answer.code(), "skill-file-not-found", "{none}");
        }
    }
}
