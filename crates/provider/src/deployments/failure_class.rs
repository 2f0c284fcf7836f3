//! What kind of failure an error is: what it says of the deployment that caused it, and which
//! fallbacks it leads to.
//!
//! Vendors have no common code for a request that is too long, or that a filter refused: some
//! send a code, most a sentence. The sentences here are parts that their messages have kept over
//! years; an unknown one is an ordinary error of the request.

use prowess_wire::neutral::{ApiError, ErrorKind};

use crate::error::{CallError, is_account_fault, is_model_fault};

/// What kind of failure an error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureClass {
    /// Too many requests or tokens.
    RateLimited,
    /// The server failed, or could not be reached.
    ServerError,
    /// No response in time.
    Timeout,
    /// The key is refused, or the account cannot pay.
    Auth,
    /// The model or deployment does not exist, or not for this account.
    ModelNotFound,
    /// The request is too long for the model.
    ContextOverflow,
    /// A filter of the provider refused the request or the response.
    ContentFilter,
    /// The request names something that another deployment may have stored.
    StoredElsewhere,
    /// The request is at fault, or nothing was sent.
    Other,
}

impl FailureClass {
    /// All of them, in the order of their numbers.
    pub(crate) const ALL: [FailureClass; 9] = [
        FailureClass::RateLimited,
        FailureClass::ServerError,
        FailureClass::Timeout,
        FailureClass::Auth,
        FailureClass::ModelNotFound,
        FailureClass::ContextOverflow,
        FailureClass::ContentFilter,
        FailureClass::StoredElsewhere,
        FailureClass::Other,
    ];

    /// Its name in the health of a deployment.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            FailureClass::RateLimited => "rate_limited",
            FailureClass::ServerError => "server_error",
            FailureClass::Timeout => "timeout",
            FailureClass::Auth => "auth",
            FailureClass::ModelNotFound => "model_not_found",
            FailureClass::ContextOverflow => "context",
            FailureClass::ContentFilter => "content_filter",
            FailureClass::StoredElsewhere => "stored_elsewhere",
            FailureClass::Other => "other",
        }
    }
}

/// Codes of requests that are too long.
const CONTEXT_CODES: [&str; 3] = [
    "context_length_exceeded",
    "string_above_max_length",
    "model_context_window_exceeded",
];

/// Parts of messages about requests that are too long, in lower case.
const CONTEXT_WORDS: [&str; 19] = [
    "context_length_exceeded",
    "maximum context length",
    "maximum prompt length",
    "context window",
    "context length",
    "exceed context limit",
    "prompt is too long",
    "input is too long",
    "input length and `max_tokens` exceed",
    "exceeds the maximum number of tokens",
    "too many input tokens",
    "too many tokens",
    "reduce the length of the messages",
    "reduce the length of the prompt",
    "longer than the model's context",
    "exceeds the model's maximum",
    "exceeds the available context size",
    "`max_new_tokens` must be <=",
    "contextwindowexceedederror",
];

/// Codes of requests that a filter refused.
const FILTER_CODES: [&str; 5] = [
    "content_filter",
    "content_policy_violation",
    "responsibleaipolicyviolation",
    "content_policy",
    "prohibited_content",
];

/// Parts of messages about requests that a filter refused, in lower case.
const FILTER_WORDS: [&str; 9] = [
    "content filtering policy",
    "content management policy",
    "content_filter",
    "content filter",
    "flagged as potentially violating",
    "rejected as a result of our safety system",
    "responsible ai",
    "blocked by guardrail",
    "contentpolicyviolationerror",
];

/// Codes of models and deployments that do not exist, in lower case: of OpenAI and those who have
/// its API, Azure, and Together.
const MISSING_MODEL_CODES: [&str; 4] = [
    "model_not_found",
    "deploymentnotfound",
    "modelnotfound",
    "model_not_available",
];

/// How messages about such models begin, in lower case. What a client wrote may follow later in a
/// message, but does not begin it.
const MISSING_MODEL_STARTS: [&str; 11] = [
    "model: ",
    "model '",
    "model \"",
    "models/",
    "model not found",
    "publisher model ",
    "the model `",
    "the model '",
    "the api deployment for this resource does not exist",
    "the provided model identifier is invalid",
    "could not resolve the foundation model",
];

/// Fields that name something that a provider stores.
const STATE_FIELDS: [&str; 3] = ["previous_response_id", "conversation", "container"];

/// The class of an error.
pub(crate) fn classify(error: &CallError) -> FailureClass {
    match error {
        CallError::Upstream { error, .. } => classify_upstream(error),
        CallError::Unreachable { .. } => FailureClass::ServerError,
        CallError::Timeout { .. } => FailureClass::Timeout,
        _ => FailureClass::Other,
    }
}

fn classify_upstream(error: &ApiError) -> FailureClass {
    if matches!(error.status, 400 | 403 | 413 | 422) {
        if mentions(error, &CONTEXT_CODES, &CONTEXT_WORDS) {
            return FailureClass::ContextOverflow;
        }
        if mentions(error, &FILTER_CODES, &FILTER_WORDS) {
            return FailureClass::ContentFilter;
        }
    }
    if matches!(error.status, 400 | 404) && is_about_stored_state(error) {
        return FailureClass::StoredElsewhere;
    }
    if is_account_fault(error) {
        return FailureClass::Auth;
    }
    if error.status == 404 && is_about_missing_model(error) {
        return FailureClass::ModelNotFound;
    }
    match error.kind {
        ErrorKind::RateLimit => FailureClass::RateLimited,
        ErrorKind::Authentication | ErrorKind::Permission | ErrorKind::Billing => {
            FailureClass::Auth
        }
        ErrorKind::Timeout => FailureClass::Timeout,
        _ if is_model_fault(error) => FailureClass::Other,
        _ if error.status >= 500 => FailureClass::ServerError,
        _ => FailureClass::Other,
    }
}

fn is_about_stored_state(error: &ApiError) -> bool {
    if error.code.as_deref() == Some("previous_response_not_found") {
        return true;
    }
    let param = error.param.as_deref().unwrap_or_default();
    STATE_FIELDS.contains(&param) && error.message.contains("not found")
}

/// Whether the model that was called does not exist. Anything else that a request names may be
/// missing too, such as a file or the model of a tool: a deployment is not passed over for it.
fn is_about_missing_model(error: &ApiError) -> bool {
    if !matches!(error.param.as_deref(), None | Some("" | "model")) {
        return false;
    }
    let code = error.code.as_deref().unwrap_or_default();
    let mut codes = MISSING_MODEL_CODES.iter();
    let mut starts = MISSING_MODEL_STARTS.iter();
    codes.any(|known| code.eq_ignore_ascii_case(known))
        || starts.any(|known| {
            let start = error.message.get(..known.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(known))
        })
}

fn mentions(error: &ApiError, codes: &[&str], words: &[&str]) -> bool {
    let code = error.code.as_deref().unwrap_or_default();
    if codes.iter().any(|known| code.eq_ignore_ascii_case(known)) {
        return true;
    }
    let message = error.message.to_ascii_lowercase();
    words.iter().any(|words| message.contains(words))
}

#[cfg(test)]
mod tests {
    use prowess_wire::{Dialect, read_error};

    use super::*;

    fn class(dialect: Dialect, status: u16, body: &str) -> FailureClass {
        classify_upstream(&read_error(dialect, status, body.as_bytes()))
    }

    #[test]
    fn a_request_that_is_too_long_is_recognised_by_each_vendors_error() {
        for (dialect, status, body) in [
            (
                Dialect::Chat,
                400,
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
            ),
            (
                Dialect::Responses,
                400,
                r#"{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}"#,
            ),
            (
                Dialect::Messages,
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 215000 tokens > 200000 maximum"}}"#,
            ),
            (
                Dialect::Messages,
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"}}"#,
            ),
            (
                Dialect::Gemini,
                400,
                r#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#,
            ),
            (
                Dialect::Converse,
                400,
                r#"{"message":"Input is too long for requested model."}"#,
            ),
            (
                Dialect::Chat,
                400,
                r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error"}}"#,
            ),
            (
                Dialect::Chat,
                400,
                r#"{"error":{"message":"litellm.ContextWindowExceededError: the input has 9000 tokens","type":"None","param":"None","code":"400"}}"#,
            ),
            (
                Dialect::Chat,
                400,
                r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. Please reduce the length of the messages.","type":"BadRequestError","code":400}"#,
            ),
        ] {
            assert_eq!(
                class(dialect, status, body),
                FailureClass::ContextOverflow,
                "{body}"
            );
        }
    }

    #[test]
    fn a_filters_refusal_is_recognised_by_each_vendors_error() {
        for (dialect, status, body) in [
            (
                Dialect::Chat,
                400,
                r#"{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","type":null,"param":"prompt","code":"content_filter","status":400}}"#,
            ),
            (
                Dialect::Chat,
                400,
                r#"{"error":{"message":"Your request was rejected as a result of our safety system.","type":"invalid_request_error","param":null,"code":"content_policy_violation"}}"#,
            ),
            (
                Dialect::Responses,
                400,
                r#"{"error":{"message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy.","type":"invalid_request_error","code":"invalid_prompt"}}"#,
            ),
            (
                Dialect::Messages,
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}"#,
            ),
        ] {
            assert_eq!(
                class(dialect, status, body),
                FailureClass::ContentFilter,
                "{body}"
            );
        }
    }

    #[test]
    fn a_key_or_an_account_that_is_refused_by_status_400_is_recognised() {
        for (dialect, body) in [
            (
                Dialect::Messages,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}}"#,
            ),
            (
                Dialect::Gemini,
                r#"{"error":{"code":400,"message":"API key expired. Please renew the API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}"#,
            ),
            (
                Dialect::Chat,
                r#"{"error":{"message":"Incorrect API key provided: xa***12.","type":"invalid_request_error"}}"#,
            ),
        ] {
            assert_eq!(class(dialect, 400, body), FailureClass::Auth, "{body}");
        }
        let echoed = r#"{"error":{"message":"Invalid value: 'your credit balance is too low'","type":"invalid_request_error"}}"#;
        assert_eq!(class(Dialect::Chat, 400, echoed), FailureClass::Other);
    }

    #[test]
    fn a_model_that_does_not_exist_is_recognised() {
        for (dialect, body) in [
            (
                Dialect::Chat,
                r#"{"error":{"message":"The model `gpt-9` does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#,
            ),
            (
                Dialect::Responses,
                r#"{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again."}}"#,
            ),
            (
                Dialect::Messages,
                r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}"#,
            ),
            (
                Dialect::Gemini,
                r#"{"error":{"code":404,"message":"models/gemini-9 is not found for API version v1beta, or is not supported for generateContent.","status":"NOT_FOUND"}}"#,
            ),
            (
                Dialect::Gemini,
                r#"{"error":{"code":404,"message":"Publisher Model `projects/p/locations/l/publishers/google/models/x` was not found or your project does not have access to it.","status":"NOT_FOUND"}}"#,
            ),
            (
                Dialect::Chat,
                r#"{"object":"error","error":{"message":"The model `x` does not exist.","type":"NotFoundError","param":"model","code":404}}"#,
            ),
            (
                Dialect::Chat,
                r#"{"error":{"message":"model \"x\" not found, try pulling it first","type":"api_error","param":null,"code":null}}"#,
            ),
            (
                Dialect::Converse,
                r#"{"message":"Could not resolve the foundation model from the provided model identifier."}"#,
            ),
        ] {
            let found = class(dialect, 404, body);
            assert_eq!(found, FailureClass::ModelNotFound, "{body}");
        }
        // Something else that the request names.
        for body in [
            r#"{"error":{"message":"No such File object: the model `x` does not exist","param":"file","code":null}}"#,
            r#"{"error":{"message":"The model `x` does not exist.","param":"tools[0].model","code":"model_not_found"}}"#,
            r#"{"error":{"message":"Resource not found","code":"404"}}"#,
        ] {
            assert_eq!(class(Dialect::Chat, 404, body), FailureClass::Other);
        }
    }

    #[test]
    fn other_errors_are_classed_by_kind_and_status() {
        let plain = r#"{"error":{"message":"no","type":"x"}}"#;
        for (status, expected) in [
            (400, FailureClass::Other),
            (404, FailureClass::Other),
            (401, FailureClass::Auth),
            (402, FailureClass::Auth),
            (403, FailureClass::Auth),
            (408, FailureClass::Timeout),
            (429, FailureClass::RateLimited),
            (500, FailureClass::ServerError),
            (503, FailureClass::ServerError),
            (529, FailureClass::ServerError),
        ] {
            assert_eq!(class(Dialect::Chat, status, plain), expected, "{status}");
        }
        let quota = r#"{"error":{"message":"quota","type":"insufficient_quota","code":"insufficient_quota"}}"#;
        assert_eq!(class(Dialect::Chat, 429, quota), FailureClass::Auth);
        let stored = r#"{"error":{"message":"Previous response with id 'resp_1' not found.","type":"invalid_request_error","param":"previous_response_id","code":"previous_response_not_found"}}"#;
        assert_eq!(
            class(Dialect::Responses, 400, stored),
            FailureClass::StoredElsewhere
        );
        // A sentence about the context of something else is no error of the request.
        let failed = r#"{"error":{"message":"context window lost","type":"server_error"}}"#;
        assert_eq!(class(Dialect::Chat, 500, failed), FailureClass::ServerError);
    }
}
