//! Errors of every upstream reach every client in its own words.

mod support;

use prowess_wire::neutral::{ApiError, ErrorKind};
use prowess_wire::{ClientDialect, Dialect, read_error, read_request, render_client_error};
use serde_json::json;
use support::{CLIENTS, UPSTREAMS};

#[test]
fn an_upstreams_refusal_to_serve_keeps_its_kind_its_words_and_its_status() {
    for (dialect, status, body, kind, message) in [
        (
            Dialect::Messages,
            429,
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"Slow down"},"request_id":"req_1"}"#,
            ErrorKind::RateLimit,
            "Slow down",
        ),
        (
            Dialect::Chat,
            429,
            r#"{"error":{"message":"Pay first","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
            ErrorKind::Billing,
            "Pay first",
        ),
        (
            Dialect::Chat,
            400,
            r#"{"error":"model does not support tools"}"#,
            ErrorKind::InvalidRequest,
            "model does not support tools",
        ),
        (
            Dialect::Chat,
            400,
            r#"[{"error":{"code":400,"message":"No such field","status":"INVALID_ARGUMENT"}}]"#,
            ErrorKind::InvalidRequest,
            "No such field",
        ),
        (
            Dialect::Responses,
            404,
            r#"{"error":{"message":"No such model","type":"invalid_request_error","param":"model","code":"model_not_found"}}"#,
            ErrorKind::NotFound,
            "No such model",
        ),
        (
            Dialect::Gemini,
            503,
            r#"[{"error":{"code":503,"message":"Overloaded","status":"UNAVAILABLE"}}]"#,
            ErrorKind::Overloaded,
            "Overloaded",
        ),
        (
            Dialect::Messages,
            404,
            r#"{"error":"No such model"}"#,
            ErrorKind::NotFound,
            "No such model",
        ),
        (
            Dialect::Gemini,
            400,
            r#"{"error":"No such field"}"#,
            ErrorKind::InvalidRequest,
            "No such field",
        ),
        (
            Dialect::Converse,
            400,
            r#"{"__type":"com.amazon.coral#ThrottlingException","message":"Too many"}"#,
            ErrorKind::RateLimit,
            "Too many",
        ),
    ] {
        let error = read_error(dialect, status, body.as_bytes());
        assert_eq!(
            (error.status, error.kind, error.message.as_str()),
            (status, kind, message)
        );
    }
}

#[test]
fn a_page_of_a_proxy_still_gives_an_error_of_the_right_kind() {
    for (dialect, _) in UPSTREAMS {
        let error = read_error(dialect, 504, b"<html>Gateway Timeout</html>");
        assert_eq!(error.kind, ErrorKind::Timeout);
        assert_eq!(
            error.message,
            "the upstream answered 504: <html>Gateway Timeout</html>"
        );
        let empty = read_error(dialect, 500, b"");
        assert_eq!(empty.message, "the upstream answered 500 without a message");
    }
}

#[test]
fn each_dialect_has_its_own_body_status_and_headers() {
    let error = ApiError {
        code: Some("skill-not-found".to_owned()),
        request_id: Some("req_1".to_owned()),
        details: Some(Box::new(json!({"skill": "x"}))),
        ..ApiError::new(ErrorKind::NotFound, "There is no skill x.")
    };
    let messages = render_client_error(ClientDialect::Messages, &error);
    assert_eq!(messages.status, 404);
    assert_eq!(
        messages.body,
        json!({"type": "error", "request_id": "req_1", "error": {
            "type": "not_found_error",
            "message": "There is no skill x.",
            "details": {"skill": "x", "error_code": "skill-not-found"},
        }})
    );
    assert_eq!(messages.headers, [("request-id", "req_1".to_owned())]);
    let chat = render_client_error(ClientDialect::Chat, &error);
    assert_eq!(
        chat.body,
        json!({"error": {
            "message": "There is no skill x.",
            "type": "invalid_request_error",
            "param": null,
            "code": "skill-not-found",
            "details": {"skill": "x"},
        }})
    );
    assert_eq!(chat.headers, [("x-request-id", "req_1".to_owned())]);
}

#[test]
fn clients_are_advised_not_to_repeat_what_will_fail_again() {
    let conflict = ApiError::new(ErrorKind::Conflict, "taken");
    let overloaded = ApiError::new(ErrorKind::Overloaded, "busy");
    for (client, _) in CLIENTS {
        let headers = render_client_error(client, &conflict).headers;
        assert_eq!(headers, [("x-should-retry", "false".to_owned())]);
        assert!(render_client_error(client, &overloaded).headers.is_empty());
    }
    assert_eq!(
        render_client_error(ClientDialect::Messages, &overloaded).status,
        529
    );
    assert_eq!(
        render_client_error(ClientDialect::Chat, &overloaded).status,
        503
    );
}

#[test]
fn an_error_names_the_faulty_field_of_a_request() {
    for (client, body, expected) in [
        (
            ClientDialect::Messages,
            r#"{"messages":[]}"#,
            "model: Field required",
        ),
        (
            ClientDialect::Messages,
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"base64","media_type":1}}]}]}"#,
            "messages[0].content[1].source.media_type: expected a string, found 1",
        ),
        (
            ClientDialect::Messages,
            r#"{"model":"m","messages":[{"role":"bot","content":""}]}"#,
            r#"messages[0].role: expected "user", "assistant" or "system", found "bot""#,
        ),
        (
            ClientDialect::Chat,
            r#"{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{}}]}]}"#,
            "messages[0].tool_calls[0].function.name: Field required",
        ),
        (
            ClientDialect::Chat,
            r#"{"model":"m","n":2,"messages":[]}"#,
            "n: only one choice is supported: omit n or set it to 1",
        ),
        (
            ClientDialect::Responses,
            r#"{"model":"m","input":[{"type":"function_call_output","output":"x"}]}"#,
            "input[0].call_id: Field required",
        ),
        (
            ClientDialect::Responses,
            r#"{"model":"m","input":7}"#,
            "input: expected a string or a list of items, found 7",
        ),
        (
            ClientDialect::Chat,
            "{",
            "the body is not valid JSON: EOF while parsing an object at line 1 column 1",
        ),
    ] {
        let error = read_request(client, body.as_bytes()).expect_err(body);
        assert_eq!(error.to_string(), expected);
        let api = error.to_api_error();
        assert_eq!((api.status, api.param.as_deref()), (400, error.field()));
    }
}
