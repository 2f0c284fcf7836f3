//! Uploads in every format that clients send.

use axum::http::StatusCode;
use bytes::Bytes;
use prowess_skill::{ArchiveLayout, Bundle, BundleLimits, Manifest};
use prowess_testkit::{SkillFixture, hostile};

use crate::client::{ALL, Form, Server, TestDialect};

fn fixture() -> SkillFixture {
    SkillFixture::new("pdf-forms").file("scripts/run.py", "print(1)\n")
}

fn bundle(files: impl IntoIterator<Item = (String, Bytes, bool)>) -> Bundle {
    Bundle::from_files(files, &BundleLimits::default()).unwrap()
}

/// The digest of a form's skill, from the server.
async fn digest(server: &Server, form: &Form) -> String {
    let answer = server.post(TestDialect::Ga, "/v1/skills").form(form).await;
    answer.ok();
    answer.header("prowess-digest").unwrap().to_owned()
}

#[tokio::test]
async fn folders_flat_names_and_archives_make_the_same_skill() {
    let server = Server::new().await;
    let bundle = bundle(fixture().files());
    let wrapped = ArchiveLayout::wrapped("pdf-forms").unwrap();
    let flat = fixture()
        .files()
        .into_iter()
        .fold(Form::default(), |form, (path, data, _)| {
            form.file("files[]", &path, &data)
        });
    let archive = |field: &str, name: &str, data: Vec<u8>| Form::default().file(field, name, &data);
    let expected = Manifest::from_bundle(&bundle).digest().to_string();
    for (how, form) in [
        ("with folders", Form::skill(&fixture())),
        ("flat", flat),
        (
            "zip in files[]",
            archive("files[]", "pdf-forms.zip", bundle.to_zip(&wrapped).unwrap()),
        ),
        (
            "zip in files",
            archive(
                "files",
                "s.zip",
                bundle.to_zip(&ArchiveLayout::FLAT).unwrap(),
            ),
        ),
        (
            "zip without an ending",
            archive("files", "blob", bundle.to_zip(&wrapped).unwrap()),
        ),
        (
            "tar.gz",
            archive("files", "s.tgz", bundle.to_tar_gz(&wrapped).unwrap()),
        ),
    ] {
        assert_eq!(digest(&server, &form).await, expected, "{how}");
    }
}

#[tokio::test]
async fn names_are_read_as_the_sdks_write_them() {
    let server = Server::new().await;
    let form = Form::skill(&SkillFixture::new("pdf-forms"))
        .file("files[]", "pdf-forms/résumé 1.md", b"x")
        .file("files[]", "pdf-forms/say %22hi%22.md", b"x");
    let id = server
        .post(TestDialect::Ga, "/v1/skills")
        .form(&form)
        .await
        .ok()["id"]
        .clone();
    let path = format!(
        "/v1/skills/{}/versions/latest/content",
        id.as_str().unwrap()
    );
    let zip = server.get(TestDialect::Ga, &path).send().await.body;
    let bundle = Bundle::from_zip(&zip, &BundleLimits::default()).unwrap();
    let names: Vec<_> = bundle.files().map(|(path, _)| path.as_str()).collect();
    assert_eq!(names, ["SKILL.md", "résumé 1.md", "say \"hi\".md"]);
}

#[tokio::test]
async fn colliding_flat_names_are_refused_with_the_advice_to_send_a_zip() {
    let server = Server::new().await;
    let form = Form::default()
        .file(
            "files[]",
            "SKILL.md",
            SkillFixture::new("a").skill_md().as_bytes(),
        )
        .file("files[]", "util.py", b"1")
        .file("files[]", "util.py", b"2");
    let refused = server
        .post(TestDialect::OpenAi, "/v1/skills")
        .form(&form)
        .await;
    insta::assert_snapshot!(refused.json()["error"]["message"].as_str().unwrap(), @"skill upload refused: two files are named `util.py`. If they are in different folders, your client has dropped the folders from their names: send the skill as one zip instead");
    assert_eq!(refused.code(), "skill-names-collide");
}

#[tokio::test]
async fn every_hostile_archive_is_refused_with_its_reason() {
    let server = Server::new().await;
    let all = hostile::all();
    assert!(all.len() > 50, "the table is there");
    for archive in all {
        let form = Form::default().file("files[]", "skill.zip", &archive.bytes);
        let answer = server.post(TestDialect::Ga, "/v1/skills").form(&form).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{}", archive.name);
        assert_eq!(answer.code(), archive.code, "{}", archive.name);
    }
    let list = server.get(TestDialect::Ga, "/v1/skills").send().await.ok();
    assert_eq!(list["data"].as_array().unwrap().len(), 0);
}

#[tokio::test]
async fn what_is_no_upload_is_refused_in_the_clients_envelope() {
    let server = Server::new().await;
    for dialect in ALL {
        for path in ["/v1/skills", "/v1/skills/skill_x/versions"] {
            let empty = server
                .post(dialect, path)
                .json(&serde_json::json!({}))
                .await;
            assert_eq!(empty.status, StatusCode::BAD_REQUEST, "{dialect:?}");
            assert_eq!(empty.code(), "skill-files-missing");
            let none = server.post(dialect, path).form(&Form::default()).await;
            assert_eq!(none.status, StatusCode::BAD_REQUEST);
            let cut = server
                .post(dialect, path)
                .header("content-type", &Form::kind());
            let cut = cut.body("--a-boundary-of-the-tests\r\nCont".into()).await;
            assert_eq!(cut.status, StatusCode::BAD_REQUEST);
            assert_eq!(cut.code(), "form-invalid");
        }
    }
}

#[tokio::test]
async fn a_body_beyond_all_limits_is_too_large_before_it_is_read_whole() {
    let settings = prowess_server::ServerSettings {
        skill_limits: BundleLimits {
            total_bytes: 10_000,
            archive_bytes: 10_000,
            ..BundleLimits::default()
        },
        ..prowess_server::ServerSettings::default()
    };
    let server = Server::with(settings).await;
    let form = Form::skill(&SkillFixture::new("big").file("data.bin", vec![0; 20_000]));
    for dialect in ALL {
        let answer = server.post(dialect, "/v1/skills").form(&form).await;
        assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(answer.code(), "body-too-large");
    }
}

#[tokio::test]
async fn an_upload_may_be_repeated_without_making_a_second_skill() {
    let server = Server::new().await;
    let form = Form::skill(&fixture());
    let send = || {
        server
            .post(TestDialect::Ga, "/v1/skills")
            .header("idempotency-key", "once")
    };
    let first = send().form(&form).await;
    let again = send().form(&form).await;
    assert_eq!(first.ok()["id"], again.ok()["id"]);
    assert_eq!(first.header("prowess-outcome"), Some("created"));
    assert_eq!(again.header("prowess-outcome"), Some("repeated"));
    let other = send().form(&Form::skill(&SkillFixture::new("other"))).await;
    assert_eq!(other.status, StatusCode::CONFLICT);
    assert_eq!(other.header("x-should-retry"), Some("false"));
}

#[tokio::test]
async fn unchanged_files_make_no_version_on_request() {
    let server = Server::new().await;
    let id = server.skill("pdf-forms").await;
    let path = format!("/v1/skills/{id}/versions");
    let form = Form::skill(&SkillFixture::new("pdf-forms"));
    let kept = server
        .post(TestDialect::OpenAi, &path)
        .header("prowess-unchanged", "keep");
    let kept = kept.form(&form).await;
    assert_eq!(kept.ok()["version"], "1");
    assert_eq!(kept.header("prowess-outcome"), Some("unchanged"));
    assert_eq!(
        server
            .post(TestDialect::OpenAi, &path)
            .form(&form)
            .await
            .ok()["version"],
        "2"
    );
}

#[tokio::test]
async fn a_version_must_bear_the_name_of_its_skill() {
    let server = Server::new().await;
    let id = server.skill("pdf-forms").await;
    let form = Form::skill(&SkillFixture::new("other"));
    let refused = server
        .post(TestDialect::Ga, &format!("/v1/skills/{id}/versions"))
        .form(&form)
        .await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert_eq!(refused.code(), "skill-name-mismatch");
}
