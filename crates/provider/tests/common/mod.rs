//! Shared by the tests of this crate: providers with a mock upstream, and a few bodies.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests stop at the first surprise"
)]
#![allow(
    dead_code,
    unreachable_pub,
    clippy::allow_attributes,
    reason = "every test file uses a part of it"
)]

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use prowess_provider::config::{
    AnthropicOptions, OpenAiOptions, Policies, ProviderConfig, ProviderKind, ProvidersConfig,
    RetryPolicy, ScriptedOptions,
};
use prowess_provider::{
    ByteStream, CallError, ClientCredentials, ClientRequest, Env, EventStream, ForwardOutcome,
    ModelOutput, ModelTask, PassThroughResponse, Providers, Route, UpstreamReply,
};
use prowess_wire::neutral::{ApiError, Message, Request, Response, StreamEvent};
use prowess_wire::raw::RawObject;
use prowess_wire::{ClientDialect, Dialect};

pub const KEY: &str = "sk-test-0123456789";

pub const MESSAGES_RESPONSE: &str = r#"{"id":"msg_up","type":"message","role":"assistant","model":"m1","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":1}}"#;

pub const CHAT_RESPONSE: &str = r#"{"id":"c1","object":"chat.completion","created":1,"model":"m1","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}"#;

pub const MESSAGES_STREAM: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_up\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m1\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":1}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

pub const CHAT_STREAM: &str = concat!(
    "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"finish_reason\":null}]}\n\n",
    "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    "data: [DONE]\n\n",
);

/// Delays so short that retries take no time.
pub fn quick() -> Policies {
    Policies {
        retry: RetryPolicy {
            first_delay: Duration::from_millis(1),
            max_delay: Duration::from_millis(1),
            ..RetryPolicy::default()
        },
        ..Policies::default()
    }
}

pub fn anthropic(url: &str) -> ProviderConfig {
    let kind = ProviderKind::new(AnthropicOptions::default());
    ProviderConfig {
        policies: quick(),
        ..ProviderConfig::new("ant", kind)
            .with_base_url(url)
            .with_api_key(KEY)
    }
}

pub fn openai(url: &str) -> ProviderConfig {
    let kind = ProviderKind::new(OpenAiOptions::default());
    ProviderConfig {
        policies: quick(),
        ..ProviderConfig::new("oai", kind)
            .with_base_url(format!("{url}/v1"))
            .with_api_key(KEY)
    }
}

pub fn scripted(script: &str) -> ProviderConfig {
    let kind = ProviderKind::new(ScriptedOptions::Text(script.to_owned()));
    ProviderConfig::new("stage", kind)
}

pub fn providers<const N: usize>(list: [ProviderConfig; N]) -> Providers {
    Providers::new(ProvidersConfig {
        providers: list.to_vec(),
        env: Env::from_pairs([]),
        ..ProvidersConfig::default()
    })
    .unwrap()
}

/// A route to model `m1` of a single provider.
pub fn route_to(provider: ProviderConfig) -> Route {
    let name = format!("{}/m1", provider.name);
    providers([provider]).route(&name).unwrap()
}

/// A request with one word, from a Messages client.
pub fn hello(stream: bool) -> Request {
    let mut request = Request::new(Dialect::Messages, "anything");
    request.max_tokens = Some(5);
    request.messages.push(Message::user("Hello"));
    request.stream = stream;
    request
}

pub async fn call(route: &Route, request: &Request) -> Result<UpstreamReply, CallError> {
    route.call(request, &ClientCredentials::default()).await
}

pub fn whole(reply: UpstreamReply) -> Response {
    match reply.output {
        ModelOutput::Response(response) => *response,
        ModelOutput::Stream(_) => panic!("a whole answer was expected"),
    }
}

pub fn stream(reply: UpstreamReply) -> EventStream {
    match reply.output {
        ModelOutput::Stream(events) => events,
        ModelOutput::Response(_) => panic!("a stream was expected"),
    }
}

/// The remaining events of a stream.
pub async fn rest(mut events: EventStream) -> Vec<StreamEvent> {
    let mut all = Vec::new();
    while let Some(event) = events.next().await {
        all.push(event);
    }
    all
}

/// The text of a stream, and the error it ends with.
pub fn collect_text(events: &[StreamEvent]) -> (String, Option<ApiError>) {
    use prowess_wire::neutral::Delta;
    let mut text = String::new();
    let mut error = None;
    for event in events {
        match event {
            StreamEvent::BlockDelta {
                delta: Delta::Text(more),
                ..
            } => text.push_str(more),
            StreamEvent::Error(found) => error = Some(found.clone()),
            _ => {}
        }
    }
    (text, error)
}

pub fn headers<const N: usize>(pairs: [(&'static str, &'static str); N]) -> HeaderMap {
    pairs
        .into_iter()
        .map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        })
        .collect()
}

pub async fn forward(
    route: &Route,
    client: ClientDialect,
    task: ModelTask,
    body: &str,
    credentials: &ClientCredentials,
) -> Result<ForwardOutcome, CallError> {
    let body = Bytes::copy_from_slice(body.as_bytes());
    let raw = RawObject::parse(&body).unwrap();
    let incoming = ClientRequest {
        model: "",
        json_array: false,
        client,
        task,
        body: &body,
        raw: &raw,
        stream: raw.routing_fields().stream,
    };
    route.forward(incoming, credentials).await
}

pub fn passed(forwarded: ForwardOutcome) -> PassThroughResponse {
    match forwarded {
        ForwardOutcome::PassedThrough(passed) => *passed,
        other => panic!("it was not passed on: {other:?}"),
    }
}

/// All bytes of a body, and the error it ends with.
pub async fn drain(mut body: ByteStream) -> (Vec<u8>, Option<ApiError>) {
    use futures_core::Stream;
    let mut all = Vec::new();
    loop {
        let next = std::future::poll_fn(|context| std::pin::Pin::new(&mut body).poll_next(context));
        match next.await {
            Some(Ok(bytes)) => all.extend_from_slice(&bytes),
            Some(Err(error)) => return (all, Some(*error)),
            None => return (all, None),
        }
    }
}
