//! The log line of a request as JSON, with the fields and in the order of
//! `tracing-subscriber`'s formatter.

use std::cell::RefCell;
use std::time::{SystemTime, UNIX_EPOCH};

use super::{LineSink, RequestInfo};

/// Buffers that a thread reuses.
#[derive(Default)]
struct Scratch {
    line: Vec<u8>,
    /// The second of `date`.
    second: u64,
    /// `2026-11-16T11:28:40`; formatting a date costs more than everything else here.
    date: String,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::default());
}

/// Writes the line to the sink.
pub(super) fn write(sink: &dyn LineSink, info: &RequestInfo, level: &str, status: u16, ms: u64) {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    SCRATCH.with_borrow_mut(|scratch| {
        if scratch.date.is_empty() || scratch.second != now.as_secs() {
            scratch.second = now.as_secs();
            scratch.date = date(now.as_secs());
        }
        let Scratch { line, date, .. } = scratch;
        line.clear();
        line.extend_from_slice(br#"{"timestamp":""#);
        line.extend_from_slice(date.as_bytes());
        line.push(b'.');
        line.extend_from_slice(&six_digits(now.subsec_micros()));
        line.extend_from_slice(br#"Z","level":""#);
        line.extend_from_slice(level.as_bytes());
        line.extend_from_slice(br#"","message":"done","status":"#);
        // Writing to memory cannot fail.
        let _ = serde_json::to_writer(&mut *line, &status);
        line.extend_from_slice(br#","ms":"#);
        let _ = serde_json::to_writer(&mut *line, &ms);
        line.extend_from_slice(br#","span":"#);
        span(info, line);
        line.extend_from_slice(b"}\n");
        sink.write_line(line);
    });
}

/// The fields of the request.
pub(super) fn span(info: &RequestInfo, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"id":""#);
    out.extend_from_slice(&info.id.to_ascii());
    out.push(b'"');
    let fields = [
        (&b"key"[..], info.key_id()),
        (b"key_name", info.key_name()),
        (b"method", Some(info.shown_method())),
        (b"model", info.model()),
        (b"path", Some(info.path())),
        (b"route", Some(info.route.as_str())),
        (b"tenant", info.tenant()),
        (b"name", Some("request")),
    ];
    for (name, value) in fields {
        let Some(value) = value else {
            continue;
        };
        out.extend_from_slice(b",\"");
        out.extend_from_slice(name);
        out.extend_from_slice(b"\":");
        let _ = serde_json::to_writer(&mut *out, value);
    }
    out.push(b'}');
}

/// Digits without `write!`, which took half of the instructions of a line.
fn six_digits(mut number: u32) -> [u8; 6] {
    let mut digits = [b'0'; 6];
    for digit in digits.iter_mut().rev() {
        *digit += (number % 10) as u8;
        number /= 10;
    }
    digits
}

fn date(second: u64) -> String {
    let second = i64::try_from(second).unwrap_or_default();
    let time = jiff::Timestamp::from_second(second).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use axum::http::Method;

    use super::*;
    use crate::request_id::RequestId;

    #[derive(Default)]
    struct CollectingSink(Mutex<Vec<u8>>);

    impl LineSink for CollectingSink {
        fn write_line(&self, line: &[u8]) {
            self.0.lock().unwrap().extend_from_slice(line);
        }
    }

    #[test]
    fn a_part_of_a_second_has_six_digits() {
        for number in [0, 7, 895_149, 999_999] {
            assert_eq!(six_digits(number), *format!("{number:06}").as_bytes());
        }
    }

    #[test]
    fn a_line_is_json_with_fixed_fields_in_a_fixed_order() {
        let sink = CollectingSink::default();
        let method = Method::from_bytes(b"POST").unwrap();
        let info = RequestInfo::new(RequestId::default(), method, "/v1/x", "/v1/\"x\"\n");
        info.model.set("m \"1\"".to_owned()).unwrap();
        for _ in 0..2 {
            write(&sink, &info, "INFO", 200, 8);
        }
        let text = String::from_utf8(sink.0.into_inner().unwrap()).unwrap();
        assert_eq!(text.lines().count(), 2);
        for line in text.lines() {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            let stamp = value["timestamp"].as_str().unwrap();
            assert!(stamp.parse::<jiff::Timestamp>().is_ok(), "{stamp}");
            assert_eq!(stamp.len(), "2026-11-16T11:28:40.895149Z".len());
            let rest = line.split_once("Z\",").unwrap().1;
            assert_eq!(
                rest,
                concat!(
                    r#""level":"INFO","message":"done","status":200,"ms":8,"span":{"#,
                    r#""id":"req_000000000000000000000000","method":"POST","#,
                    r#""model":"m \"1\"","path":"/v1/x","route":"/v1/\"x\"\n","#,
                    r#""name":"request"}}"#
                )
            );
        }
    }
}
