//! Signing in and out, what ends a session, and what other sites' pages can do.

use http::{Method, StatusCode};
use prowess_server::{SecretString, ServerSettings};
use prowess_store::{KeyScope, NewKey, TenantId};
use std::time::Duration;

use crate::browser::{Console, Page};

pub(crate) const MASTER: &str = "a-master-key-of-the-tests";

/// A server with a master key.
pub(crate) fn locked() -> ServerSettings {
    ServerSettings {
        master_key: Some(SecretString::new(MASTER)),
        ..ServerSettings::default()
    }
}

/// A key of a tenant: its id and its secret.
pub(crate) async fn new_key(
    console: &Console,
    tenant: &str,
    scopes: &[KeyScope],
) -> (String, String) {
    let tenant = TenantId::new(tenant).unwrap();
    let store = console.app.store();
    store.ensure_tenant(&tenant, "a tenant").await.unwrap();
    let new = NewKey {
        name: "ada <b>",
        scopes,
        expires_in: None,
        auto: None,
    };
    let (key, secret) = store.create_key(&tenant, &new).await.unwrap();
    (key.id, secret.reveal().to_owned())
}

async fn try_sign_in(console: &Console, key: &str) -> Page {
    let form = [("key", key), ("next", "/console/runs?state=failed")];
    console.post("/console/sign-in", &form).await
}

/// Signs in and returns the cookie.
pub(crate) async fn sign_in(console: &Console, key: &str) -> String {
    let page = try_sign_in(console, key).await;
    assert_eq!(page.status, StatusCode::SEE_OTHER, "{}", page.text());
    let cookie = page.header("set-cookie").split(';').next().unwrap();
    assert!(cookie.starts_with("prowess_console="), "{cookie}");
    cookie.to_owned()
}

/// A page with a cookie.
pub(crate) async fn open(console: &Console, cookie: &str, path: &str) -> Page {
    console.get_with(path, &[("cookie", cookie)]).await
}

/// A form of a page, with a cookie.
pub(crate) async fn submit(
    console: &Console,
    cookie: &str,
    path: &str,
    fields: &[(&str, &str)],
) -> Page {
    let mut form = form_urlencoded::Serializer::new(String::new());
    let form = form.extend_pairs(fields).finish();
    let headers = [
        ("content-type", "application/x-www-form-urlencoded"),
        ("sec-fetch-site", "same-origin"),
        ("cookie", cookie),
    ];
    console.send(Method::POST, path, &headers, form).await
}

fn is_sent_to_sign_in(page: &Page) -> bool {
    page.status == StatusCode::SEE_OTHER && page.header("location").starts_with("/console/sign-in")
}

#[tokio::test]
async fn a_key_opens_the_console_and_signing_out_closes_it() {
    let console = Console::with(locked()).await;
    let page = console.get("/console/runs?state=failed").await;
    assert_eq!(
        page.header("location"),
        "/console/sign-in?next=%2Fconsole%2Fruns%3Fstate%3Dfailed"
    );
    let (_, key) = new_key(&console, "acme", &[KeyScope::Read]).await;
    let page = try_sign_in(&console, &key).await;
    assert_eq!(page.header("location"), "/console/runs?state=failed");
    let cookie = page.header("set-cookie").to_owned();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains(&key), "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    let page = open(&console, cookie, "/console/skills").await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text());
    assert!(page.text().contains("ada &#60;b&#62;"), "{}", page.text());
    assert!(page.text().contains("read only"), "{}", page.text());
    let page = submit(&console, cookie, "/console/sign-out", &[]).await;
    assert!(page.header("set-cookie").contains("Max-Age=0"));
    assert!(is_sent_to_sign_in(
        &open(&console, cookie, "/console/skills").await
    ));
}

#[tokio::test]
async fn who_has_no_key_gets_small_responses_whatever_they_send() {
    let console = Console::with(locked()).await;
    // Each takes five bytes in a page, and three in an address.
    let long = "'".repeat(12_000);
    let page = console
        .get(&format!("/console/sign-in?next=/console/{long}"))
        .await;
    assert_eq!(page.status, StatusCode::OK);
    let text = page.text();
    assert!(text.len() < 8_000, "{} bytes", text.len());
    let page = console.get(&format!("/console/runs?state={long}")).await;
    assert_eq!(page.header("location"), "/console/sign-in");
}

#[tokio::test]
async fn a_wrong_key_is_refused_and_too_many_of_them_wait() {
    let console = Console::with(locked()).await;
    for _ in 0..10 {
        let page = try_sign_in(&console, "sk-pw-0000000000-0000000000000000000000000").await;
        assert_eq!(page.status, StatusCode::UNAUTHORIZED);
        assert!(page.main().contains("unknown, expired or revoked"));
        assert!(!page.text().contains("sk-pw-0000000000"));
    }
    let page = try_sign_in(&console, MASTER).await;
    assert_eq!(page.status, StatusCode::TOO_MANY_REQUESTS);
    assert_ne!(page.header("retry-after"), "");
    assert_eq!(page.header("set-cookie"), "");
}

#[tokio::test]
async fn failures_of_others_do_not_lock_out_who_has_a_key_of_the_server() {
    let console = Console::with(locked()).await;
    for _ in 0..10 {
        let page = try_sign_in(&console, "guessed").await;
        assert_eq!(page.status, StatusCode::UNAUTHORIZED);
    }
    let page = try_sign_in(&console, "guessed").await;
    assert_eq!(page.status, StatusCode::TOO_MANY_REQUESTS);
    let (_, key) = new_key(&console, "acme", &[KeyScope::Read]).await;
    let cookie = sign_in(&console, &key).await;
    let page = open(&console, &cookie, "/console/skills").await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text());
}

#[tokio::test]
async fn a_session_ends_with_its_key() {
    let console = Console::with(locked()).await;
    let store = console.app.store().clone();
    let acme = TenantId::new("acme").unwrap();
    let (revoked, key) = new_key(&console, "acme", &[KeyScope::Read]).await;
    let cookie = sign_in(&console, &key).await;
    store.revoke_key(&acme, &revoked).await.unwrap();
    assert!(is_sent_to_sign_in(
        &open(&console, &cookie, "/console/skills").await
    ));

    let (rotated, key) = new_key(&console, "acme", &[KeyScope::Read]).await;
    let cookie = sign_in(&console, &key).await;
    let operator = prowess_store::KeyGranter::Operator;
    let again = |grace| store.rotate_key(Some(&acme), &rotated, grace, &operator);
    let (_, second) = again(Duration::from_secs(60)).await.unwrap();
    let page = open(&console, &cookie, "/console/skills").await;
    assert_eq!(page.status, StatusCode::OK, "as long as the secret works");
    again(Duration::ZERO).await.unwrap();
    assert!(is_sent_to_sign_in(
        &open(&console, &cookie, "/console/skills").await
    ));
    let page = try_sign_in(&console, second.reveal()).await;
    assert_eq!(page.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn the_operators_session_ends_when_the_master_key_changes() {
    let console = Console::with(locked()).await;
    let cookie = sign_in(&console, MASTER).await;
    let page = open(&console, &cookie, "/console/providers").await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text());
    let other = ServerSettings {
        master_key: Some(SecretString::new("another-master-key")),
        ..ServerSettings::default()
    };
    let later = console.restart(other);
    assert!(is_sent_to_sign_in(
        &open(&later, &cookie, "/console/skills").await
    ));
}

#[tokio::test]
async fn a_cookie_is_worth_nothing_to_the_api() {
    let console = Console::with(locked()).await;
    let cookie = sign_in(&console, MASTER).await;
    let headers = [("cookie", cookie.as_str())];
    let answer = console.api(Method::GET, "/v1/skills", &headers, "").await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_cookie_that_is_no_session_opens_nothing() {
    let console = Console::with(locked()).await;
    for value in ["", "x", &"0".repeat(64), &"é".repeat(32), "' OR 1=1 --"] {
        let cookie = format!("prowess_console={value}");
        let page = open(&console, &cookie, "/console/skills").await;
        assert!(is_sent_to_sign_in(&page), "{value}");
    }
}

#[tokio::test]
async fn without_keys_this_machine_is_let_in_and_other_names_are_not() {
    let console = Console::start().await;
    let page = console.get("/console/skills").await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text());
    assert!(page.text().contains("no sign-in"), "{}", page.text());
    let page = console.get("/console/sign-in").await;
    assert!(page.main().contains("no master key"), "{}", page.text());
    let elsewhere = [("host", "rebound.example")];
    let page = console.get_at("/console/skills", &elsewhere).await;
    assert_eq!(page.status, StatusCode::FORBIDDEN, "{}", page.text());
}

#[tokio::test]
async fn over_plain_http_of_another_machine_nobody_signs_in() {
    let console = Console::with(locked()).await;
    let headers = [
        ("host", "console.example"),
        ("origin", "http://console.example"),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    let body = format!("key={MASTER}");
    let page = console
        .send_at(Method::POST, "/console/sign-in", &headers, body)
        .await;
    assert_eq!(page.status, StatusCode::BAD_REQUEST, "{}", page.text());
    assert!(page.main().contains("HTTPS"));
    assert_eq!(page.header("set-cookie"), "");
    let headers = [
        ("host", "console.example"),
        ("origin", "https://console.example"),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    let body = format!("key={MASTER}");
    let page = console
        .send_at(Method::POST, "/console/sign-in", &headers, body)
        .await;
    let cookie = page.header("set-cookie");
    assert!(cookie.starts_with("__Host-prowess="), "{cookie}");
    assert!(cookie.contains("; Secure"), "{cookie}");
}

#[tokio::test]
async fn pages_of_other_sites_change_nothing() {
    let console = Console::start().await;
    let form = ("content-type", "application/x-www-form-urlencoded");
    for headers in [
        vec![form],
        vec![form, ("sec-fetch-site", "cross-site")],
        vec![form, ("sec-fetch-site", "same-site")],
        vec![form, ("origin", "https://evil.example")],
        vec![form, ("origin", "null")],
    ] {
        let page = console
            .send(
                Method::POST,
                "/console/keys",
                &headers,
                "name=x&scope=admin",
            )
            .await;
        assert_eq!(page.status, StatusCode::FORBIDDEN, "{headers:?}");
    }
    let keys = console.api(Method::GET, "/v1/admin/keys", &[], "").await;
    assert_eq!(keys.json()["data"].as_array().unwrap().len(), 0);
}

#[tokio::test]
async fn every_response_has_the_policy() {
    let console = Console::with(locked()).await;
    for path in ["/console/sign-in", "/console/skills", "/console/none"] {
        let page = console.get(path).await;
        let policy = page.header("content-security-policy");
        assert!(policy.contains("default-src 'none'"), "{path}: {policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{path}");
        assert!(!policy.contains("unsafe"), "{path}");
        assert_eq!(page.header("x-content-type-options"), "nosniff");
        assert_eq!(page.header("cross-origin-opener-policy"), "same-origin");
        assert_eq!(page.header("referrer-policy"), "same-origin");
    }
}

#[tokio::test]
async fn browsers_that_open_the_server_get_the_console_and_clients_do_not() {
    let console = Console::start().await;
    let service = console
        .app
        .service_with_pages(Some(prowess_console::router(&console.app)));
    let open = async |accept: &str| {
        let headers = [("accept", accept)];
        crate::browser::request(&service, Method::GET, "/", &headers).await
    };
    let page = open("text/html,application/xhtml+xml").await;
    assert_eq!(page.header("location"), "/console");
    let answer = open("application/json").await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert_eq!(answer.json()["error"]["code"], "route-not-found");
    let headers = [("accept", "text/html")];
    let page = crate::browser::request(&service, Method::GET, "/console", &headers).await;
    assert_eq!(page.header("location"), "/console/skills");
    assert_ne!(page.header("x-request-id"), "", "it is in the access log");
    let without = console.app.service();
    let answer = crate::browser::request(&without, Method::GET, "/console", &headers).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
}
