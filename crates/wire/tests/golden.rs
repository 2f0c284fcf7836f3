//! Every fixture through every codec, as snapshots.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod support;

use prowess_wire::{
    ClientDialect, Dropped, ReplyContext, StreamWriter, WireError, WriteOptions, read_request,
    read_response, render_client_error, write_request, write_response,
};
use serde_json::{Map, Value, json};
use support::{CLIENTS, UPSTREAMS, assert_well_formed, context, events, folder, wire_bytes};

fn reply() -> ReplyContext {
    let mut reply = ReplyContext::default();
    reply.created = 1_760_000_000;
    reply.include_usage = true;
    reply
}

fn dropped(dropped: &[Dropped]) -> Value {
    let lines = dropped.iter().map(|d| format!("{}: {}", d.field, d.why));
    lines.collect::<Vec<_>>().into()
}

fn failure(error: &WireError) -> Value {
    json!({"error": error.code(), "field": error.field(), "message": error.to_string()})
}

#[test]
fn every_request_goes_to_every_upstream() {
    for (client, from) in CLIENTS {
        for (name, body) in folder(&format!("requests/{from}")) {
            let request = read_request(client, &body).unwrap();
            let mut requests = Map::new();
            for (upstream, to) in UPSTREAMS {
                let written = match write_request(upstream, &request, &WriteOptions::default()) {
                    Ok(sent) => json!({"body": sent.body, "dropped": dropped(&sent.dropped)}),
                    Err(error) => failure(&error),
                };
                requests.insert(format!("to {to}"), written);
            }
            insta::assert_json_snapshot!(format!("request__{from}__{name}"), requests);
        }
    }
}

#[test]
fn every_answer_goes_to_every_client() {
    for (upstream, from) in UPSTREAMS {
        for (name, body) in folder(&format!("answers/{from}")) {
            let mut responses = Map::new();
            match read_response(upstream, &body, &context()) {
                Ok(response) => {
                    for (client, to) in CLIENTS {
                        let (body, lost) = write_response(client, &response, &reply());
                        let written = json!({"body": body, "dropped": dropped(&lost)});
                        responses.insert(format!("to {to}"), written);
                    }
                }
                Err(error) => {
                    for (client, to) in CLIENTS {
                        let rendered = render_client_error(client, &error.to_upstream_error());
                        let written = json!({"status": rendered.status, "body": rendered.body});
                        responses.insert(format!("to {to}"), written);
                    }
                }
            }
            insta::assert_json_snapshot!(format!("answer__{from}__{name}"), responses);
        }
    }
}

#[test]
fn every_stream_goes_to_every_client() {
    for (upstream, from) in UPSTREAMS {
        for (name, fixture) in folder(&format!("streams/{from}")) {
            let events = events(upstream, &wire_bytes(upstream, &fixture), &[]);
            assert_well_formed(&events);
            let mut text = String::new();
            for (client, to) in CLIENTS {
                text.push_str(&format!("======== to {to}\n"));
                text.push_str(&write_events(client, &events));
            }
            insta::assert_snapshot!(format!("stream__{from}__{name}"), text);
        }
    }
}

fn write_events(client: ClientDialect, events: &[prowess_wire::neutral::StreamEvent]) -> String {
    let mut writer = StreamWriter::new(client, reply());
    let mut out = Vec::new();
    for event in events {
        writer.write(event, &mut out);
    }
    let mut text = String::from_utf8(out).unwrap();
    for lost in writer.take_dropped() {
        text.push_str(&format!("-------- dropped {}: {}\n", lost.field, lost.why));
    }
    text
}
