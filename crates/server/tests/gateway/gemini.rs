//! Google's paths: passed to Gemini unchanged, answered by any other model, with keys, limits
//! and errors as its clients expect them.

use prowess_server::{SecretString, ServerSettings};
use prowess_store::{KeyLimits, KeyScope};
use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;
use serde_json::{Value, json};

use crate::bodies::{CHAT, CHAT_STREAM, MESSAGES, MESSAGES_STREAM, question};
use crate::gateway::{ClientResponse, Gateway, KEY};

/// In a format that no serializer would write.
const ODD: &str = "{ \"contents\" : [{\"parts\":[{\"text\":\"Hell\\u00f6\"}]}],\n \"safety_settings\": [],\t\"big\": 12345678901234567890123}\n";
const GEMINI: &str = "{\n  \"candidates\": [{\"content\": {\"parts\": [{\"text\": \"Looking.\"}], \"role\": \"model\"}, \"finishReason\": \"STOP\"}],\n  \"usageMetadata\": {\"promptTokenCount\": 30, \"candidatesTokenCount\": 7, \"thoughtsTokenCount\": 3, \"totalTokenCount\": 40}\n}\n";
const GEMINI_STREAM: &str = concat!(
    "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"Look\"}],\"role\": \"model\"}}],\"usageMetadata\": {\"promptTokenCount\": 30,\"candidatesTokenCount\": 1}}\r\n\r\n",
    "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"ing.\"}],\"role\": \"model\"},\"finishReason\": \"STOP\"}],\"usageMetadata\": {\"promptTokenCount\": 30,\"candidatesTokenCount\": 7,\"thoughtsTokenCount\": 3}}\r\n\r\n",
);

fn path(model: &str, method: &str) -> String {
    format!("/v1beta/models/{model}:{method}")
}

fn request_body() -> String {
    question(ClientDialect::Gemini, "", false).to_string()
}

/// The stream as Google's servers send it without `alt=sse`.
fn as_array() -> String {
    let events = GEMINI_STREAM.split("\r\n\r\n").filter(|e| !e.is_empty());
    let elements: Vec<&str> = events.map(|e| &e["data: ".len()..]).collect();
    format!("[{}\n]\n", elements.join("\n,\r\n"))
}

#[tokio::test]
async fn bodies_and_streams_pass_to_gemini_byte_for_byte() {
    let gateway = Gateway::start().await;
    let upstream = &gateway.upstream;
    upstream.respond(MockResponse::json(200, GEMINI));
    let headers = [("x-goog-api-key", "of-the-client")];
    let path_of = |method| path("gem/m1", method);
    let whole = path_of("generateContent?key=of-the-client&prettyPrint=true");
    let answer = gateway.send(&whole, &headers, ODD).await;
    assert_eq!(answer.text(), GEMINI);
    let sent = upstream.next_request().await;
    assert_eq!(sent.text(), ODD);
    assert_eq!(sent.path, "/v1beta/models/m1:generateContent");
    assert_eq!(sent.header("x-goog-api-key"), Some(KEY));
    assert!(!sent.render().contains("of-the-client"));

    upstream.respond(MockResponse::sse(GEMINI_STREAM).in_chunks(7));
    let events = path_of("streamGenerateContent?alt=sse");
    let answer = gateway.send(&events, &headers, ODD).await;
    assert_eq!(answer.text(), GEMINI_STREAM);
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let sent = upstream.next_request().await;
    assert_eq!(sent.text(), ODD);
    assert_eq!(sent.path, "/v1beta/models/m1:streamGenerateContent?alt=sse");

    upstream.respond(MockResponse::json(200, &as_array()).in_chunks(7));
    let array = path_of("streamGenerateContent");
    let answer = gateway.send(&array, &headers, ODD).await;
    assert_eq!(answer.text(), as_array());
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let sent = upstream.next_request().await;
    assert_eq!(sent.path, "/v1beta/models/m1:streamGenerateContent");

    upstream.respond(MockResponse::json(200, r#"{ "totalTokens": 31 }"#));
    let counted = gateway.send(&path_of("countTokens"), &headers, ODD).await;
    assert_eq!(counted.text(), r#"{ "totalTokens": 31 }"#);
    let sent = upstream.next_request().await;
    assert_eq!(
        (sent.text(), sent.path.as_str()),
        (ODD, "/v1beta/models/m1:countTokens")
    );
}

#[tokio::test]
async fn a_body_that_names_a_model_as_well_means_the_one_in_the_path() {
    let gateway = Gateway::start().await;
    gateway
        .upstream
        .respond_always(MockResponse::json(200, GEMINI));
    let body = r#"{"model":"models/other", "contents":[]}"#;
    gateway.post(&path("gem/m1", "generateContent"), body).await;
    let sent = gateway.upstream.next_request().await;
    assert_eq!(sent.text(), r#"{"model":"models/m1", "contents":[]}"#);
    let body = r#"{"generateContentRequest": {"model":"models/other","contents":[]}}"#;
    gateway.post(&path("gem/m1", "countTokens"), body).await;
    let sent = gateway.upstream.next_request().await;
    assert_eq!(
        sent.text(),
        r#"{"generateContentRequest": {"model":"models/m1","contents":[]}}"#
    );
}

#[tokio::test]
async fn errors_of_gemini_pass_and_a_broken_stream_ends_with_an_error() {
    let gateway = Gateway::start().await;
    let error = r#"{"error": {"code": 400, "message": "bad", "status": "INVALID_ARGUMENT"}}"#;
    gateway.upstream.respond(MockResponse::json(400, error));
    let answer = gateway.post(&path("gem/m1", "generateContent"), ODD).await;
    assert_eq!((answer.status.as_u16(), answer.text()), (400, error));
    let listed = format!("[{error}]");
    gateway.upstream.respond(MockResponse::json(400, &listed));
    let array = path("gem/m1", "streamGenerateContent");
    let answer = gateway.post(&array, ODD).await;
    assert_eq!(
        (answer.status.as_u16(), answer.text()),
        (400, listed.as_str())
    );

    gateway
        .upstream
        .respond(MockResponse::sse(GEMINI_STREAM).cut_off());
    let events = path("gem/m1", "streamGenerateContent?alt=sse");
    let answer = gateway.post(&events, ODD).await;
    let rest = answer.text().strip_prefix(GEMINI_STREAM).unwrap();
    let last_error: Value =
        serde_json::from_str(&rest["data: ".len()..rest.find("\n\n").unwrap()]).unwrap();
    assert_eq!(last_error["error"]["status"], "UNAVAILABLE", "{last_error}");
}

#[tokio::test]
async fn models_of_other_vendors_answer() {
    for (model, whole, stream) in [
        ("oai/m1", CHAT, CHAT_STREAM),
        ("ant/m1", MESSAGES, MESSAGES_STREAM),
        ("ant%2Fm1", MESSAGES, MESSAGES_STREAM),
    ] {
        let gateway = Gateway::start().await;
        gateway.upstream.respond(MockResponse::json(200, whole));
        let answer = gateway
            .post(&path(model, "generateContent"), request_body())
            .await;
        let body = answer.json();
        let parts = &body["candidates"][0]["content"]["parts"];
        assert_eq!(parts[0], json!({"text": "Looking."}), "{body}");
        let call = &parts[1]["functionCall"];
        assert_eq!(
            (&call["name"], &call["args"]),
            (&json!("weather"), &json!({"city": "Bern"}))
        );
        assert!(call["id"].is_string(), "{call}");
        assert_eq!(body["candidates"][0]["finishReason"], "STOP");
        assert_eq!(body["usageMetadata"]["totalTokenCount"], 40);
        assert_eq!(body["modelVersion"], model.replace("%2F", "/"));

        gateway.upstream.respond(MockResponse::sse(stream));
        let sse = path(model, "streamGenerateContent?alt=sse");
        let answer = gateway.post(&sse, request_body()).await;
        let kind = answer.header("content-type").unwrap();
        assert!(kind.starts_with("text/event-stream"), "{kind}");
        let events: Vec<Value> = answer
            .text()
            .split("\n\n")
            .filter(|event| !event.is_empty())
            .map(|event| serde_json::from_str(&event["data: ".len()..]).unwrap())
            .collect();

        gateway.upstream.respond(MockResponse::sse(stream));
        let array = path(model, "streamGenerateContent");
        let answer = gateway.post(&array, request_body()).await;
        let kind = answer.header("content-type").unwrap();
        assert!(kind.starts_with("application/json"), "{kind}");
        assert_eq!(answer.json(), json!(events));
        assert_eq!(
            events.last().unwrap()["candidates"][0]["finishReason"],
            "STOP"
        );
    }
}

#[tokio::test]
async fn every_form_of_path_leads_to_the_model() {
    let gateway = Gateway::start().await;
    for place in [
        "/v1beta/models",
        "/v1/models",
        "/v1alpha/models",
        "/gemini/v1beta/models",
        "/v1beta/v1beta/models",
        "/v1/projects/p/locations/l/publishers/google/models",
    ] {
        let path = format!("{place}/stage/hero:generateContent");
        let body = r#"{"contents":[{"parts":[{"text":"Hi"}]}]}"#;
        let answer = gateway.post(&path, body).await;
        let text = &answer.json()["candidates"][0]["content"]["parts"][0]["text"];
        assert_eq!(text, "You said: Hi", "{path}");
    }
    let counted = gateway
        .post(&path("stage/hero", "countTokens"), request_body())
        .await;
    assert!(counted.json()["totalTokens"].as_u64().unwrap() > 0);
    assert_eq!(counted.header("prowess-estimated"), Some("true"));
}

#[tokio::test]
async fn tokens_are_counted_on_every_path() {
    for (model, response, method) in [
        ("gem/m1", MockResponse::json(200, GEMINI), "generateContent"),
        (
            "gem/m1",
            MockResponse::sse(GEMINI_STREAM).in_chunks(9),
            "streamGenerateContent?alt=sse",
        ),
        (
            "gem/m1",
            MockResponse::json(200, &as_array()).in_chunks(9),
            "streamGenerateContent",
        ),
        ("oai/m1", MockResponse::json(200, CHAT), "generateContent"),
        (
            "ant/m1",
            MockResponse::sse(MESSAGES_STREAM),
            "streamGenerateContent?alt=sse",
        ),
    ] {
        let gateway = Gateway::start().await;
        gateway.upstream.respond(response);
        gateway.post(&path(model, method), request_body()).await;
        gateway.app.flush().await;
        let usage = gateway.get("/v1/usage", &[]).await.json();
        let row = &usage["data"][0];
        let counts = [
            "requests",
            "errors",
            "input_tokens",
            "output_tokens",
            "requests_estimated",
        ];
        let counts: Vec<_> = counts
            .iter()
            .map(|key| row[*key].as_u64().unwrap())
            .collect();
        assert_eq!(counts, [1, 0, 30, 10, 0], "{model} {method}");
        assert_eq!(row["model"], model);
    }
}

fn error_of(answer: &ClientResponse) -> (u16, String, String) {
    let body = answer.json();
    let error = &body["error"];
    assert_eq!(error["code"], answer.status.as_u16(), "{body}");
    let text = |key: &str| error[key].as_str().unwrap().to_owned();
    assert!(error["details"].is_array(), "{body}");
    (answer.status.as_u16(), text("status"), text("message"))
}

async fn locked() -> Gateway {
    Gateway::with(ServerSettings {
        master_key: Some(SecretString::new("the-master-key-of-these-tests")),
        ..ServerSettings::default()
    })
    .await
}

#[tokio::test]
async fn a_key_comes_in_googles_header_in_the_query_or_as_a_bearer_token() {
    let gateway = locked().await;
    let key = gateway
        .key("default", KeyScope::Use, &KeyLimits::default())
        .await;
    let plain = path("stage/hero", "generateContent");
    let in_query = format!("{plain}?key={key}");
    let bearer = format!("Bearer {key}");
    for (path, headers) in [
        (&plain, vec![("x-goog-api-key", key.as_str())]),
        (&plain, vec![("authorization", bearer.as_str())]),
        (&in_query, vec![]),
    ] {
        let answer = gateway.send(path, &headers, request_body()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let none = gateway.post(&plain, request_body()).await;
    let (status, word, message) = error_of(&none);
    assert_eq!((status, word.as_str()), (401, "UNAUTHENTICATED"));
    assert!(message.contains("x-goog-api-key"), "{message}");
    let wrong = gateway
        .post(&format!("{plain}?key=sk-pw-wrong"), request_body())
        .await;
    assert_eq!(error_of(&wrong).0, 401);
    assert!(!wrong.text().contains("sk-pw-wrong"));
    // What is in front of the server may read the other one.
    let twice = format!("{in_query}&key=sk-pw-wrong");
    let refused = gateway.post(&twice, request_body()).await;
    assert_eq!(error_of(&refused).0, 400);
    let same = format!("{in_query}&key={key}");
    assert_eq!(gateway.post(&same, request_body()).await.status, 200);
    // In the URL of another vendor's API a key would not be secret.
    let chat = format!("/v1/chat/completions?key={key}");
    let body = question(ClientDialect::Chat, "stage/hero", false).to_string();
    assert_eq!(gateway.post(&chat, body).await.status, 401);
}

#[tokio::test]
async fn errors_have_googles_shape() {
    let gateway = Gateway::with(ServerSettings {
        request_bytes: 1_000,
        ..ServerSettings::default()
    })
    .await;
    let limits = KeyLimits {
        models: vec!["stage/*".to_owned()],
        requests_per_minute: Some(1),
        ..KeyLimits::default()
    };
    let key = gateway.key("default", KeyScope::Use, &limits).await;
    let mine = [("x-goog-api-key", key.as_str())];
    let hero = path("stage/hero", "generateContent");
    let big = format!("{{\"contents\":\"{}\"}}", "x".repeat(2_000));
    let twice = r#"{"contents":[],"generationConfig":{},"generation_config":{}}"#;
    let same = r#"{"contents":[],"contents":[]}"#;
    let words = |answer: ClientResponse| {
        let (status, word, _) = error_of(&answer);
        (status, word)
    };
    let is = |status: u16, word: &str| (status, word.to_owned());
    let unknown = gateway
        .post(&path("nobody", "generateContent"), request_body())
        .await;
    assert_eq!(words(unknown), is(404, "NOT_FOUND"));
    assert_eq!(
        words(gateway.post(&hero, big).await),
        is(413, "INVALID_ARGUMENT")
    );
    assert_eq!(
        words(gateway.post(&hero, twice).await),
        is(400, "INVALID_ARGUMENT")
    );
    assert_eq!(
        words(gateway.post(&hero, same).await),
        is(400, "INVALID_ARGUMENT")
    );
    assert_eq!(
        words(gateway.post(&hero, "no json").await),
        is(400, "INVALID_ARGUMENT")
    );
    let embed = gateway
        .post(&path("stage/hero", "embedContent"), request_body())
        .await;
    assert_eq!(embed.status, 405);
    assert_eq!(error_of(&embed).1, "INVALID_ARGUMENT");
    let other = gateway.post("/v1beta/nothing", request_body()).await;
    assert_eq!(words(other), is(404, "NOT_FOUND"));
    let get = gateway.get(&hero, &[]).await;
    assert_eq!(words(get), is(405, "INVALID_ARGUMENT"));
    let body = r#"{"contents":[{"parts":[{"text":"fail"}]}]}"#;
    let busy = gateway.post(&hero, body).await;
    assert_eq!(words(busy), is(503, "UNAVAILABLE"));

    let forbidden = gateway
        .send(&path("ant/m1", "generateContent"), &mine, request_body())
        .await;
    assert_eq!(words(forbidden), is(403, "PERMISSION_DENIED"));
    let slow = gateway.send(&hero, &mine, request_body()).await;
    assert!(slow.header("retry-after").is_some());
    assert_eq!(words(slow), is(429, "RESOURCE_EXHAUSTED"));
}

#[tokio::test]
async fn a_translated_stream_that_breaks_ends_with_an_error() {
    let gateway = Gateway::start().await;
    let body = r#"{"contents":[{"parts":[{"text":"break"}]}]}"#;
    let events = path("stage/hero", "streamGenerateContent?alt=sse");
    let answer = gateway.post(&events, body).await;
    let last = answer.text().lines().last().unwrap();
    let error: Value = serde_json::from_str(last).unwrap();
    assert_eq!(error["error"]["message"], "and then it does not");
    let array = path("stage/hero", "streamGenerateContent");
    let answer = gateway.post(&array, body).await.json();
    let error = answer.as_array().unwrap().last().unwrap();
    assert_eq!(error["error"]["code"], 500);
}

#[tokio::test]
async fn models_are_listed_as_google_lists_them() {
    let gateway = Gateway::start().await;
    let list = gateway.get("/v1beta/models?pageSize=50", &[]).await.json();
    let names = list["models"].as_array().unwrap().iter();
    let names: Vec<_> = names.map(|model| model["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["models/small", "models/patient"]);
    let one = gateway
        .get("/gemini/v1beta/models/ant/m1", &[])
        .await
        .json();
    assert_eq!(one["name"], "models/ant/m1");
    let methods = one["supportedGenerationMethods"].as_array().unwrap();
    assert!(methods.contains(&json!("generateContent")));
    // On the path that all vendors share, the header decides.
    let google = [("x-goog-api-key", "k")];
    let list = gateway.get("/v1/models", &google).await.json();
    assert!(list["models"].is_array(), "{list}");
    let list = gateway.get("/v1/models", &[]).await.json();
    assert!(list["data"].is_array(), "{list}");
    let missing = gateway.get("/v1beta/models/nobody", &[]).await;
    assert_eq!(error_of(&missing).1, "NOT_FOUND");
}
