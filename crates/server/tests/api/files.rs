//! The life cycle of a file, in both vendors' APIs.

use axum::http::StatusCode;
use futures_util::stream;
use prowess_store::{NewFile, TenantId};
use prowess_testkit::SkillFixture;
use serde_json::json;

use crate::client::{Form, Server, TestDialect};

async fn life(dialect: TestDialect) -> String {
    let server = Server::new().await;
    let mut log = String::new();
    let mut record = |step: &str, exchange: String| {
        log.push_str(&format!("=== {step}\n{exchange}\n\n"));
    };
    let form = Form::default().text("purpose", "user_data");
    let form = form
        .file("file", "notes/a.txt", b"hello")
        .text("expires_in_seconds", "3600");
    let created = server.post(dialect, "/v1/files").form(&form).await;
    record("create", created.exchange());
    let id = created.ok()["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/files/{id}");
    record("get", server.get(dialect, &path).send().await.exchange());
    record(
        "list",
        server.get(dialect, "/v1/files").send().await.exchange(),
    );
    let content = format!("{path}/content");
    record(
        "content",
        server.get(dialect, &content).send().await.exchange(),
    );
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
async fn a_file_lives_in_anthropics_beta() {
    insta::assert_snapshot!(life(TestDialect::Beta).await);
}

#[tokio::test]
async fn a_file_lives_in_anthropics_general_availability() {
    insta::assert_snapshot!(life(TestDialect::Ga).await);
}

#[tokio::test]
async fn a_file_lives_in_openais_dialect() {
    insta::assert_snapshot!(life(TestDialect::OpenAi).await);
}

async fn upload(server: &Server, name: &str, data: &[u8]) -> String {
    let form = Form::default().file("file", name, data);
    let answer = server.post(TestDialect::Ga, "/v1/files").form(&form).await;
    answer.ok()["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn files_are_fetched_by_ids_and_unknown_ones_left_out() {
    let server = Server::new().await;
    let (a, b) = (
        upload(&server, "a", b"1").await,
        upload(&server, "b", b"2").await,
    );
    let path = format!("/v1/files?ids%5B%5D={b}&ids%5B%5D=file_none&ids[]={a}");
    let list = server.get(TestDialect::G3, &path).send().await.ok();
    let names: Vec<_> = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| &f["id"])
        .collect();
    assert_eq!(names, [b.as_str(), a.as_str()]);
    assert_eq!(list["next_page"], json!(null));
    let both = server
        .get(TestDialect::G3, &format!("/v1/files?ids[]={a}&limit=2"))
        .send()
        .await;
    assert_eq!(both.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn the_beta_pages_files_by_their_ids() {
    let server = Server::new().await;
    let mut made = Vec::new();
    for name in ["a", "b", "c"] {
        made.push(upload(&server, name, b"x").await);
    }
    let page = server
        .get(
            TestDialect::Beta,
            &format!("/v1/files?limit=1&after_id={}", made[2]),
        )
        .send()
        .await
        .ok();
    assert_eq!(
        (&page["first_id"], &page["has_more"]),
        (&json!(made[1]), &json!(true))
    );
    let page = server
        .get(
            TestDialect::Beta,
            &format!("/v1/files?limit=1&before_id={}", made[0]),
        )
        .send()
        .await
        .ok();
    assert_eq!(
        (&page["first_id"], &page["has_more"]),
        (&json!(made[1]), &json!(true))
    );
}

#[tokio::test]
async fn openais_clients_may_ask_for_ten_thousand_files_and_get_all_by_default() {
    let server = Server::new().await;
    for number in 0..21 {
        upload(&server, &format!("{number}.txt"), b"x").await;
    }
    for query in ["", "?limit=10000", "?limit=1001"] {
        let path = format!("/v1/files{query}");
        let page = server.get(TestDialect::OpenAi, &path).send().await.ok();
        let count = page["data"].as_array().unwrap().len();
        assert_eq!((count, &page["has_more"]), (21, &json!(false)), "{query}");
    }
    for (dialect, limit) in [
        (TestDialect::OpenAi, 0),
        (TestDialect::OpenAi, 10_001),
        (TestDialect::Ga, 10_000),
        (TestDialect::Beta, 10_000),
    ] {
        let path = format!("/v1/files?limit={limit}");
        let refused = server.get(dialect, &path).send().await;
        assert_eq!(
            refused.status,
            StatusCode::BAD_REQUEST,
            "{dialect:?} {limit}"
        );
    }
    let page = server.get(TestDialect::Ga, "/v1/files").send().await.ok();
    assert_eq!(page["data"].as_array().unwrap().len(), 20);
}

#[tokio::test]
async fn what_a_run_made_can_be_fetched_by_anthropics_clients() {
    let server = Server::new().await;
    let new = NewFile {
        name: "résumé.html",
        mime: "text/html",
        purpose: "assistants_output",
        scope: Some("container_1"),
        downloadable: true,
        expires_in: None,
        limit: 100,
    };
    let content = stream::iter([Ok(bytes::Bytes::from_static(b"<script>"))]);
    let tenant = TenantId::default_tenant();
    let file = server
        .app
        .store()
        .create_file(&tenant, &new, content)
        .await
        .unwrap();
    let answer = server
        .get(TestDialect::G3, &format!("/v1/files/{}/content", file.id))
        .send()
        .await;
    insta::assert_snapshot!(answer.exchange());
    assert_eq!(&answer.body[..], b"<script>");
    let scoped = server
        .get(TestDialect::Ga, "/v1/files?scope_id=container_1")
        .send()
        .await
        .ok();
    assert_eq!(scoped["data"][0]["scope"]["id"], "container_1");
}

#[tokio::test]
async fn a_large_file_comes_back_byte_for_byte() {
    let server = Server::new().await;
    let data: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    let id = upload(&server, "big.bin", &data).await;
    let answer = server
        .get(TestDialect::OpenAi, &format!("/v1/files/{id}/content"))
        .send()
        .await;
    assert!(answer.body == data);
}

#[tokio::test]
async fn a_file_beyond_its_limit_is_too_large() {
    let settings = prowess_server::ServerSettings {
        file_bytes: 1_000,
        ..prowess_server::ServerSettings::default()
    };
    let server = Server::with(settings).await;
    let form = Form::default().file("file", "a", &[0; 1_001]);
    let answer = server.post(TestDialect::Ga, "/v1/files").form(&form).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(answer.code(), "file-too-large");
}

#[tokio::test]
async fn forms_without_a_file_or_with_nonsense_are_refused() {
    let server = Server::new().await;
    let file = || Form::default().file("file", "a.txt", b"x");
    for (dialect, form, code) in [
        (
            TestDialect::Ga,
            Form::default().text("purpose", "user_data"),
            "file-missing",
        ),
        (
            TestDialect::Ga,
            Form::default().file("upload", "a", b"x"),
            "form-field-invalid",
        ),
        (
            TestDialect::Ga,
            file().text("expires_in_seconds", "1"),
            "form-field-invalid",
        ),
        (
            TestDialect::Ga,
            file().file("file", "b", b"y"),
            "form-field-invalid",
        ),
        (
            TestDialect::OpenAi,
            file().text("expires_after[anchor]", "last_active_at"),
            "form-field-invalid",
        ),
        (
            TestDialect::OpenAi,
            file().text("purpose", "batch").text("purpose", "vision"),
            "form-field-invalid",
        ),
        (
            TestDialect::Ga,
            file()
                .text("expires_in_seconds", "3600")
                .text("expires_after[seconds]", "7200"),
            "form-field-invalid",
        ),
        (TestDialect::OpenAi, file(), "file-purpose"),
        (
            TestDialect::OpenAi,
            file().text("purpose", "fun"),
            "file-purpose",
        ),
    ] {
        let answer = server.post(dialect, "/v1/files").form(&form).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST);
        assert_eq!(answer.code(), code);
    }
    let json = server
        .post(TestDialect::Ga, "/v1/files")
        .json(&json!({}))
        .await;
    assert_eq!(json.code(), "form-missing");
}

#[tokio::test]
async fn names_that_show_as_others_are_refused() {
    let server = Server::new().await;
    for name in ["invoice_\u{202e}fdp.exe", "a\u{200b}.txt", "\u{feff}a"] {
        for (path, form, code) in [
            (
                "/v1/files",
                Form::default().file("file", name, b"x"),
                "file-name",
            ),
            (
                "/v1/skills",
                Form::skill(&SkillFixture::new("plain")).text("display_name", name),
                "skill-title-invalid",
            ),
        ] {
            let answer = server.post(TestDialect::Ga, path).form(&form).await;
            assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{name:?}");
            assert_eq!(answer.code(), code, "{name:?}");
        }
        let call = server.post(TestDialect::OpenAi, "/v1/containers");
        let answer = call.json(&json!({ "name": name })).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{name:?}");
        assert_eq!(answer.code(), "container-invalid", "{name:?}");
    }
    for name in ["\u{645}\u{6cc}\u{200c}\u{62e}.txt", "\u{5e9}\u{200f}.txt"] {
        let form = Form::default().file("file", name, b"x");
        let answer = server.post(TestDialect::Ga, "/v1/files").form(&form).await;
        assert_eq!(answer.ok()["filename"], name);
    }
}

#[tokio::test]
async fn only_pages_of_pdf_files_are_drawn_and_only_in_a_sandbox() {
    let server = Server::new().await;
    let form = Form::default().text("purpose", "user_data");
    let text = form.clone().file("file", "a.pdf", b"hello");
    let pdf = form.file("file", "a.txt", b"%PDF-1.7\n");
    for (form, query, status, code) in [
        (&text, "", 400, "preview-not-pdf"),
        (&text, "?page=2", 400, "preview-not-pdf"),
        (&text, "?page=", 400, "query-invalid"),
        (&text, "?page=0", 400, "query-invalid"),
        (&text, "?page=1000001", 400, "query-invalid"),
        (&pdf, "?page=3", 503, "sandbox-unavailable"),
    ] {
        let dialect = TestDialect::OpenAi;
        let stored = server.post(dialect, "/v1/files").form(form).await.ok();
        let id = stored["id"].as_str().unwrap();
        let path = format!("/v1/files/{id}/preview{query}");
        let answer = server.get(dialect, &path).send().await;
        assert_eq!(answer.status.as_u16(), status, "{query}");
        assert_eq!(answer.code(), code, "{query}");
    }
}
