//! Fireworks AI: responses of many tokens come as streams only.

use prowess_provider::config::{ProviderConfig, ProviderKind};
use prowess_testkit::upstream::{MockResponse, MockUpstream};

use crate::common::*;

#[tokio::test]
async fn a_long_response_is_streamed_to_here_and_given_whole() {
    let upstream = MockUpstream::start().await;
    let kind = ProviderKind::from_name("fireworks_ai").unwrap();
    let route = route_to(ProviderConfig {
        policies: quick(),
        ..ProviderConfig::new("fw", kind)
            .with_base_url(upstream.url())
            .with_api_key(KEY)
    });
    let mut request = hello(false);
    let streams = r#""stream":true"#;

    upstream.respond(MockResponse::json(200, CHAT_RESPONSE));
    request.max_tokens = Some(4096);
    whole(call(&route, &request).await.unwrap());
    assert!(!upstream.next_request().await.text().contains(streams));

    // A stream that breaks off is a failed call, which is made again.
    let begin = CHAT_STREAM.split_inclusive("\n\n").next().unwrap();
    upstream.respond(MockResponse::sse(begin));
    upstream.respond(MockResponse::sse(CHAT_STREAM));
    request.max_tokens = Some(4097);
    let reply = call(&route, &request).await.unwrap();
    assert_eq!(reply.failures.len(), 1);
    let response = whole(reply);
    assert_eq!(response.content[0].as_text(), Some("Hi"));
    for _ in 0..2 {
        assert!(upstream.next_request().await.text().contains(streams));
    }

    // Not every server streams when it is asked to.
    upstream.respond(MockResponse::json(200, CHAT_RESPONSE));
    let response = whole(call(&route, &request).await.unwrap());
    assert_eq!(response.content[0].as_text(), Some("Hi"));
    upstream.next_request().await;

    upstream.respond(MockResponse::sse(CHAT_STREAM));
    request.stream = true;
    let (text, error) = collect_text(&rest(stream(call(&route, &request).await.unwrap())).await);
    assert_eq!((text.as_str(), error), ("Hi", None));
}
