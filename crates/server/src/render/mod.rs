//! Rows to each dialect's JSON. All generations are rendered from the same rows.

pub(crate) mod anthropic;
pub(crate) mod openai;

use prowess_store::Timestamp;

/// RFC 3339 in UTC, as Anthropic writes times.
fn rfc3339(time: Timestamp) -> String {
    match jiff::Timestamp::from_microsecond(time.as_micros()) {
        Ok(time) => time.to_string(),
        // Only a damaged row is out of that range.
        Err(_) => jiff::Timestamp::UNIX_EPOCH.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_with_their_fractions_in_utc() {
        let time = Timestamp::from_micros(1_790_000_000_000_001);
        assert_eq!(rfc3339(time), "2026-09-21T14:13:20.000001Z");
    }
}
