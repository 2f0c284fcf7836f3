//! Keys, usage, audit log, providers and settings.

use http::{Method, StatusCode};
use prowess_server::ServerSettings;
use prowess_store::KeyScope;
use serde_json::json;

use crate::browser::Console;
use crate::sign_in::{MASTER, locked, new_key, open, sign_in, submit};

/// The key on the page that shows it once.
fn shown_secret(text: &str) -> String {
    let from = text.find("sk-pw-").unwrap_or_else(|| panic!("{text}"));
    let rest = &text[from..];
    rest[..rest.find(['<', '"']).unwrap()].to_owned()
}

#[tokio::test]
async fn a_key_is_created_limited_rotated_and_revoked() {
    let console = Console::start().await;
    let fields = [
        ("name", "reports <b>"),
        ("scope", "read"),
        ("scope", "use"),
        ("models", "hero, second"),
        ("requests_per_minute", "30"),
        ("budget", "12.5"),
        ("period", "month"),
        ("expires_in_days", "30"),
    ];
    let page = console.post("/console/keys", &fields).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text());
    assert_eq!(page.header("cache-control"), "no-store");
    let secret = shown_secret(page.main());
    let list = console.get("/console/keys").await;
    let main = list.main();
    assert!(main.contains("reports &#60;b&#62;"), "{main}");
    assert!(main.contains("$12.50 per month"), "{main}");
    assert!(!main.contains(&secret), "{main}");
    let keys = console.api(Method::GET, "/v1/admin/keys", &[], "").await;
    let key = keys.json()["data"][0].clone();
    let id = key["id"].as_str().unwrap();
    assert_eq!(key["requests_per_minute"], 30);

    let here = format!("/console/keys/{id}");
    let page = console.get(&here).await;
    assert!(
        page.main().contains("value=\"hero, second\""),
        "{}",
        page.main()
    );
    assert!(
        page.main().contains("$0 of $12.50 this month"),
        "{}",
        page.main()
    );
    let fields = [("scope", "read"), ("models", ""), ("budget", "")];
    let page = console.post(&here, &fields).await;
    assert_eq!(page.header("location"), format!("{here}?saved=1"));
    let keys = console.api(Method::GET, "/v1/admin/keys", &[], "").await;
    let changed = &keys.json()["data"][0];
    assert_eq!(changed["scopes"], json!(["read"]));
    assert_eq!(changed["budget"], json!(null));
    assert_eq!(changed["requests_per_minute"], json!(null));
    assert_eq!(changed["models"], json!([]));

    let page = console
        .post(&format!("{here}/rotate"), &[("grace_hours", "0")])
        .await;
    let second = shown_secret(page.main());
    assert_ne!(second, secret);
    let with = |key: &str| [("x-api-key", key.to_owned())];
    for (key, status) in [
        (&secret, StatusCode::UNAUTHORIZED),
        (&second, StatusCode::OK),
    ] {
        let headers = with(key);
        let headers: Vec<_> = headers.iter().map(|(n, v)| (*n, v.as_str())).collect();
        let answer = console.api(Method::GET, "/v1/skills", &headers, "").await;
        assert_eq!(answer.status, status);
    }
    let page = console.post(&format!("{here}/revoke"), &[]).await;
    assert_eq!(page.header("location"), "/console/keys?revoked=1");
    let page = console.get(&here).await;
    assert!(page.main().contains("revoked</span>"), "{}", page.main());
    assert!(!page.main().contains("Give it a new secret"));
}

#[tokio::test]
async fn wrong_values_are_refused_with_the_apis_own_words() {
    let console = Console::start().await;
    for (fields, expected) in [
        (vec![("name", "x")], "at least one of read"),
        (vec![("name", ""), ("scope", "read")], "name"),
        (
            vec![("name", "x"), ("scope", "read"), ("budget", "much")],
            "is not a number",
        ),
    ] {
        let page = console.post("/console/keys", &fields).await;
        assert_eq!(page.status, StatusCode::BAD_REQUEST, "{fields:?}");
        assert!(page.main().contains(expected), "{}", page.main());
    }
}

#[tokio::test]
async fn an_administrator_sees_the_keys_of_their_tenant_only() {
    let console = Console::with(locked()).await;
    let (_, admin) = new_key(&console, "acme", &[KeyScope::Admin]).await;
    let (foreign, _) = new_key(&console, "other", &[KeyScope::Read]).await;
    let cookie = sign_in(&console, &admin).await;
    let page = open(&console, &cookie, "/console/keys").await;
    assert!(!page.main().contains(&foreign), "{}", page.main());
    for path in ["", "/rotate", "/revoke"] {
        let path = format!("/console/keys/{foreign}{path}");
        let fields = [("scope", "admin")];
        let page = submit(&console, &cookie, &path, &fields).await;
        assert_eq!(page.status, StatusCode::NOT_FOUND, "{path}");
    }
    let page = open(&console, &cookie, "/console/providers").await;
    assert_eq!(page.status, StatusCode::FORBIDDEN);
    let page = open(&console, &cookie, "/console/settings").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(!page.main().contains("Configuration"), "{}", page.main());
    assert!(!page.main().contains("Installation"), "{}", page.main());
}

#[tokio::test]
async fn the_operator_may_choose_a_tenant() {
    let console = Console::with(locked()).await;
    new_key(&console, "acme", &[KeyScope::Read]).await;
    new_key(&console, "other", &[KeyScope::Read]).await;
    let fields = [("key", MASTER), ("tenant", "acme")];
    let page = console.post("/console/sign-in", &fields).await;
    let cookie = page.header("set-cookie").split(';').next().unwrap();
    let page = open(&console, cookie, "/console/keys").await;
    assert!(page.main().contains("<td>acme</td>"), "{}", page.main());
    assert!(!page.main().contains("<td>other</td>"), "{}", page.main());
    assert!(page.text().contains("prowess-tenant: acme"), "as curl");
    let fields = [("key", MASTER), ("tenant", "No Tenant")];
    let page = console.post("/console/sign-in", &fields).await;
    assert_eq!(page.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn usage_is_shown_by_day_model_and_key_and_as_a_file() {
    let console = Console::start().await;
    let body = json!({ "model": "hero", "messages": [{"role": "user", "content": "hello"}] });
    let headers = [("content-type", "application/json")];
    let path = "/v1/chat/completions";
    let answer = console
        .api(Method::POST, path, &headers, body.to_string())
        .await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
    console.app.flush().await;
    for by in ["day", "model", "provider", "key", "skill"] {
        let page = console.get(&format!("/console/usage?by={by}")).await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.text());
        assert!(page.main().contains("<svg"), "{by}: {}", page.main());
    }
    let page = console.get("/console/usage?by=model&since=7d").await;
    assert!(page.main().contains(">hero<"), "{}", page.main());
    let file = console.get("/console/usage.csv?by=model").await;
    assert!(
        file.header("content-disposition")
            .contains("usage-by-model.csv")
    );
    let mut lines = file.text().lines();
    assert_eq!(
        lines.next(),
        Some("model,requests,errors,input_tokens,output_tokens,sandbox_ms,cost")
    );
    assert!(
        lines.next().unwrap().starts_with("\"hero\",1,0,"),
        "{}",
        file.text()
    );
}

#[tokio::test]
async fn pages_without_anything_to_show_give_the_next_command() {
    let console = Console::start().await;
    for (path, command) in [
        ("/console/keys", "prowess keys create"),
        ("/console/usage", "prowess run"),
        ("/console/audit", "prowess skill push"),
        ("/console/runs", "prowess run"),
    ] {
        let page = console.get(path).await;
        let main = page.main();
        assert!(main.contains("class=\"empty\""), "{path}: {main}");
        let copied = format!("data-copy=\"{command}");
        assert!(main.contains(&copied), "{path}: {main}");
    }
}

#[tokio::test]
async fn the_audit_log_is_searched_and_exported() {
    let console = Console::start().await;
    for name in ["one", "two"] {
        let fields = [("name", name), ("scope", "read")];
        console.post("/console/keys", &fields).await;
    }
    let keys = console.api(Method::GET, "/v1/admin/keys", &[], "").await;
    let id = keys.json()["data"][0]["id"].as_str().unwrap().to_owned();
    console
        .post(&format!("/console/keys/{id}/revoke"), &[])
        .await;
    let page = console.get("/console/audit").await;
    assert_eq!(page.main().matches("key.create</code>").count(), 2);
    let page = console.get("/console/audit?action=key.revoke").await;
    assert!(page.main().contains(&id), "{}", page.main());
    assert!(
        !page.main().contains("key.create</code>"),
        "{}",
        page.main()
    );
    let headers = [("hx-request", "true")];
    let rows = console
        .get_with("/console/audit?action=key.revoke", &headers)
        .await;
    assert!(!rows.text().contains("<html"));
    let wrong = console.get("/console/audit?since=soon").await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
    let file = console.get("/console/audit/export?action=key.create").await;
    assert_eq!(file.text().lines().count(), 2, "{}", file.text());
    assert!(file.header("content-disposition").contains("audit.ndjson"));
}

#[tokio::test]
async fn providers_and_settings_are_shown_to_the_operator() {
    let console = Console::with(ServerSettings {
        configuration: json!({"server": {"listen": "127.0.0.1:4141", "master_key": "from file"}}),
        ..ServerSettings::default()
    })
    .await;
    let page = console.get("/console/providers").await;
    assert!(page.main().contains("stage"), "{}", page.main());
    let page = console.get("/console/settings").await;
    let main = page.main();
    assert!(main.contains("127.0.0.1:4141"), "{main}");
    assert!(main.contains(env!("CARGO_PKG_VERSION")), "{main}");
    assert!(main.contains("sqlite"), "{main}");
    assert!(main.contains("SQLite and blobs, writable"), "{main}");
    assert!(main.contains("prowess doctor"), "{main}");
}

#[tokio::test]
async fn pages_that_are_not_there_and_methods_that_are_not_taken_have_a_page() {
    let console = Console::start().await;
    let page = console.get("/console/nothing/here").await;
    assert_eq!(page.status, StatusCode::NOT_FOUND);
    assert!(page.main().contains("no such page"));
    let headers = [("sec-fetch-site", "same-origin")];
    let page = console
        .send(Method::DELETE, "/console/skills", &headers, "")
        .await;
    assert_eq!(page.status, StatusCode::METHOD_NOT_ALLOWED);
    assert!(page.main().contains("does not take DELETE"));
    let page = console
        .get_with("/console/skills/none", &[("hx-request", "true")])
        .await;
    assert!(
        page.text().starts_with("<p class=\"error\""),
        "{}",
        page.text()
    );
}
