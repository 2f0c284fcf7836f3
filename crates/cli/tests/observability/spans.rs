//! The spans of runs with commands, as a collector gets them.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as AttributeValue;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, Span};
use prost::Message;
use prowess_testkit::upstream::{MockResponse, MockUpstream, ReceivedRequest};
use reqwest::Client;

use crate::server::{MASTER, TestServer};
use crate::{SCRIPT, messages, run, upload_skill};

fn decode(request: &ReceivedRequest) -> Vec<ResourceSpans> {
    let decoded = ExportTraceServiceRequest::decode(request.body.as_slice());
    decoded.unwrap().resource_spans
}

fn spans(request: &ReceivedRequest) -> Vec<Span> {
    let scopes = decode(request)
        .into_iter()
        .flat_map(|resource| resource.scope_spans);
    scopes.flat_map(|scope| scope.spans).collect()
}

pub(super) fn attribute(all: &[KeyValue], key: &str) -> Option<String> {
    let found = all.iter().find(|one| one.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        AttributeValue::StringValue(text) => Some(text.clone()),
        AttributeValue::IntValue(number) => Some(number.to_string()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn commands_are_spans_below_their_calls_and_a_server_that_ends_sends_its_last_spans() {
    run(async {
        let collector = MockUpstream::start().await;
        collector.respond_always(MockResponse::bytes(200, "application/x-protobuf", ""));
        let config = tempfile::tempdir().unwrap();
        std::fs::write(config.path().join("script.toml"), SCRIPT).unwrap();
        let path = config.path().join("prowess.toml");
        let text = "[telemetry]\nenabled = true\n\
                    [providers.stage]\nkind = 'scripted'\nscript = 'script.toml'\n";
        std::fs::write(&path, text).unwrap();
        let mut server = TestServer::start(&[
            ("PROWESS_CONFIG", path.to_str().unwrap()),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url()),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-token=a%20b,x-other=c"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "4000"),
            (
                "OTEL_RESOURCE_ATTRIBUTES",
                "service.namespace=tests,service.instance.id=one",
            ),
            ("OTEL_SERVICE_NAME", "gate"),
        ]);
        let http = Client::new();
        let skill = upload_skill(&http, server.url()).await;
        let ask = async |prompt: &str| {
            let url = format!("{}/v1/messages", server.url());
            let request = http.post(url).bearer_auth(MASTER);
            let body = messages(&skill, prompt, true).to_string();
            let answer = request.body(body).send().await.unwrap();
            answer.text().await.unwrap()
        };
        ask("both of them").await;
        let request = collector.next_request().await;
        assert_eq!(request.header("x-token"), Some("a b"));
        assert_eq!(request.header("x-other"), Some("c"));
        let resource = decode(&request).remove(0).resource.unwrap().attributes;
        for (key, value) in [
            ("service.name", "gate"),
            ("service.namespace", "tests"),
            ("service.instance.id", "one"),
            ("service.version", env!("CARGO_PKG_VERSION")),
        ] {
            assert_eq!(attribute(&resource, key).as_deref(), Some(value), "{key}");
        }
        let all = spans(&request);
        let run = all.iter().find(|span| span.name == "invoke_agent prowess");
        let run = run.unwrap();
        let mut codes = Vec::new();
        for command in all.iter().filter(|span| span.name == "sandbox command") {
            let mut tools = all.iter();
            let tool = tools.find(|span| span.span_id == command.parent_span_id);
            let tool = tool.unwrap();
            assert_eq!(tool.name, "execute_tool bash_code_execution");
            assert_eq!(tool.parent_span_id, run.span_id);
            assert_eq!(command.trace_id, run.trace_id);
            assert!(command.start_time_unix_nano >= tool.start_time_unix_nano);
            let code = attribute(&command.attributes, "process.exit.code").unwrap();
            let is_error = command.status.as_ref().unwrap().code == 2;
            assert_eq!(is_error, code != "0");
            codes.push(code);
        }
        codes.sort();
        assert_eq!(codes, ["0", "3"]);
        // It waits for spans to be sent when it is asked to stop.
        ask("no step fits this").await;
        server.log();
        let last: Vec<Span> = collector.requests().await.iter().flat_map(spans).collect();
        let runs = last
            .iter()
            .filter(|span| span.name == "invoke_agent prowess");
        assert_eq!(runs.count(), 1);
    });
}
