//! What a response says of its account's rate limits: whether one is used up, and until when.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::HeaderMap;

/// Headers with what remains of a limit, and when it is whole again. OpenAI and most compatible
/// servers send the first, Anthropic the others.
const LIMITS: [(&str, &str); 6] = [
    (
        "x-ratelimit-remaining-requests",
        "x-ratelimit-reset-requests",
    ),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    (
        "anthropic-ratelimit-requests-remaining",
        "anthropic-ratelimit-requests-reset",
    ),
    (
        "anthropic-ratelimit-tokens-remaining",
        "anthropic-ratelimit-tokens-reset",
    ),
    (
        "anthropic-ratelimit-input-tokens-remaining",
        "anthropic-ratelimit-input-tokens-reset",
    ),
    (
        "anthropic-ratelimit-output-tokens-remaining",
        "anthropic-ratelimit-output-tokens-reset",
    ),
];

/// How long a limit of the account is used up; `None` if none is, or if no time is given.
pub(crate) fn exhausted_for(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let spent = LIMITS.iter().filter(|(remaining, _)| {
        let remaining = headers.get(*remaining);
        remaining.is_some_and(|value| value.as_bytes() == b"0")
    });
    spent
        .filter_map(|(_, reset)| read_reset(headers.get(*reset)?.to_str().ok()?.trim(), now))
        .max()
}

/// A time of three forms: `6m0s`, `20ms`; seconds; `2026-11-17T20:00:00Z`.
fn read_reset(text: &str, now: SystemTime) -> Option<Duration> {
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    if text.contains('T') {
        let at = read_timestamp(text)?;
        return Some(at.duration_since(now).unwrap_or_default());
    }
    read_units(text)
}

/// Numbers with units, one after another.
fn read_units(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at_checked(digits)?;
        let letters = after
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(after.len());
        let (unit, next) = after.split_at_checked(letters)?;
        let scale = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        seconds += number.parse::<f64>().ok()? * scale;
        rest = next;
    }
    Duration::try_from_secs_f64(seconds).ok()
}

/// A time of RFC 3339 in UTC, to the second.
fn read_timestamp(text: &str) -> Option<SystemTime> {
    let text = text
        .strip_suffix('Z')
        .or_else(|| text.strip_suffix("+00:00"))?;
    let (date, time) = text.split_once('T')?;
    let time = time.split('.').next()?;
    let date: Vec<i64> = numbers(date, '-')?;
    let time: Vec<i64> = numbers(time, ':')?;
    let ([year, month, day], [hour, minute, second]) = (date.as_slice(), time.as_slice()) else {
        return None;
    };
    if !(1970..10_000).contains(year) || !(1..=12).contains(month) || !(1..=31).contains(day) {
        return None;
    }
    // Days since 1970, counted in years that begin in March, so that a leap day is the last.
    let year = if *month <= 2 { year - 1 } else { *year };
    let (era, in_era) = (year / 400, year % 400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + in_era * 365 + in_era / 4 - in_era / 100 + day_of_year - 719_468;
    let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second;
    Some(UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).ok()?))
}

fn numbers(text: &str, separator: char) -> Option<Vec<i64>> {
    let parts = text.split(separator).map(|part| part.parse::<u32>().ok());
    parts.map(|part| part.map(i64::from)).collect()
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn exhausted(pairs: &[(&'static str, &'static str)]) -> Option<u64> {
        let now = UNIX_EPOCH + Duration::from_secs(1_794_950_400);
        let headers = pairs
            .iter()
            .map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            })
            .collect();
        exhausted_for(&headers, now).map(|pause| pause.as_millis().try_into().unwrap())
    }

    #[test]
    fn a_limit_that_is_used_up_is_seen_with_its_end() {
        let requests = "x-ratelimit-remaining-requests";
        for (reset, expected) in [
            ("1s", Some(1_000)),
            ("6m0s", Some(360_000)),
            ("1h2m3.5s", Some(3_723_500)),
            ("20ms", Some(20)),
            ("0.25", Some(250)),
            ("soon", None),
            ("1w", None),
            ("1.s.", None),
        ] {
            let seen = exhausted(&[(requests, "0"), ("x-ratelimit-reset-requests", reset)]);
            assert_eq!(seen, expected, "{reset}");
        }
        assert_eq!(
            exhausted(&[(requests, "1"), ("x-ratelimit-reset-requests", "1s")]),
            None
        );
        assert_eq!(exhausted(&[(requests, "0")]), None);
    }

    #[test]
    fn anthropics_limits_end_at_a_time() {
        let remaining = "anthropic-ratelimit-input-tokens-remaining";
        let reset = "anthropic-ratelimit-input-tokens-reset";
        for (at, expected) in [
            // The moment of the test is 17 November 2026, 21:20.
            ("2026-11-17T21:20:07Z", Some(7_000)),
            ("2026-11-17T21:21:00.5Z", Some(60_000)),
            ("2026-11-17T21:19:00Z", Some(0)),
            ("2028-02-29T21:20:00+00:00", Some(40_521_600_000)),
            ("2026-13-17T21:20:07Z", None),
            ("2026-11-17T21:20Z", None),
            ("yesTerday", None),
        ] {
            assert_eq!(
                exhausted(&[(remaining, "0"), (reset, at)]),
                expected,
                "{at}"
            );
        }
    }
}
