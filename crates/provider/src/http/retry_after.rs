//! Retry hints of an upstream.

use std::time::{Duration, SystemTime};

use http::HeaderMap;

/// The delay that a response requests: milliseconds, seconds or a date.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(millis) = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return seconds_to_duration(millis / 1000.0);
    }
    let text = text("retry-after")?;
    if let Ok(seconds) = text.parse::<f64>() {
        return seconds_to_duration(seconds);
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

fn seconds_to_duration(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

/// Whether a response recommends a retry.
pub(crate) fn should_retry(headers: &HeaderMap) -> Option<bool> {
    match headers.get("x-should-retry")?.as_bytes() {
        b"true" => Some(true),
        b"false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_pause_is_read_in_all_its_spellings() {
        let now = httpdate::parse_http_date("Sun, 15 Nov 2026 10:00:00 GMT").unwrap();
        for (name, value, expected) in [
            ("retry-after", "2", Some(2000)),
            ("retry-after", "0.5", Some(500)),
            ("retry-after-ms", "120", Some(120)),
            ("retry-after", "Sun, 15 Nov 2026 10:00:07 GMT", Some(7000)),
            ("retry-after", "Sun, 15 Nov 2026 09:00:00 GMT", Some(0)),
            ("retry-after", "-1", None),
            ("retry-after", "inf", None),
            ("retry-after", "soon", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            let millis = retry_after(&headers, now).map(|pause| pause.as_millis());
            assert_eq!(millis, expected, "{name}: {value}");
        }
    }
}
