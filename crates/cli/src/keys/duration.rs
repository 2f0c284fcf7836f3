//! Spans of time as text.

use std::time::Duration;

/// Units by their letter, in seconds.
const UNITS: [(char, u64); 4] = [('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400)];

/// `90s`, `10m`, `24h`, `7d`.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let parsed = UNITS.into_iter().find_map(|(letter, seconds)| {
        let count: u64 = text.strip_suffix(letter)?.parse().ok()?;
        Some(Duration::from_secs(count.checked_mul(seconds)?))
    });
    parsed.ok_or_else(|| format!("`{text}` is not a time; write 90s, 10m, 24h or 7d"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_of_time_is_a_number_and_a_unit() {
        let seconds = |text| parse_duration(text).map(|time| time.as_secs());
        assert_eq!(seconds("90s"), Ok(90));
        assert_eq!(seconds("2d"), Ok(172_800));
        for bad in ["", "s", "1", "-1h", "1w", "99999999999999999999d"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }
}
