//! Lengths of time.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const SECOND_MILLIS: u64 = 1_000;
const DAY_MILLIS: u64 = 24 * 3_600 * SECOND_MILLIS;

/// Longer times are refused: they are mistakes, and cannot be added to any moment.
const MAX_MILLIS: u64 = 36_500 * DAY_MILLIS;

/// The units, with their length in milliseconds; the longest first.
const UNITS: [(&str, u64); 5] = [
    ("d", DAY_MILLIS),
    ("h", 3_600 * SECOND_MILLIS),
    ("m", 60 * SECOND_MILLIS),
    ("s", SECOND_MILLIS),
    ("ms", 1),
];

/// A length of time whose plain number is in days.
pub(in crate::config) type Days = DurationSetting<DAY_MILLIS>;
/// A length of time whose plain number is in milliseconds.
pub(in crate::config) type Milliseconds = DurationSetting<1>;

/// A length of time: `"250ms"`, `"30s"`, `"5m"`, `"2h"`, `"7d"`, or a plain number of the unit
/// that has `PLAIN` milliseconds; without that, of seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::config) struct DurationSetting<const PLAIN: u64 = SECOND_MILLIS>(Duration);

impl<const PLAIN: u64> DurationSetting<PLAIN> {
    pub(in crate::config) const fn from_millis(millis: u64) -> Self {
        DurationSetting(Duration::from_millis(millis))
    }

    pub(in crate::config) const fn from_secs(seconds: u64) -> Self {
        DurationSetting(Duration::from_secs(seconds))
    }

    pub(in crate::config) const fn get(self) -> Duration {
        self.0
    }

    /// None if it is zero, where that means "never" or "for ever".
    pub(in crate::config) fn unless_zero(self) -> Option<Duration> {
        Some(self.0).filter(|duration| !duration.is_zero())
    }

    /// The unit of a plain number.
    const fn plain_unit() -> &'static str {
        match PLAIN {
            1 => "milliseconds",
            DAY_MILLIS => "days",
            _ => "seconds",
        }
    }

    fn from_count(count: u64, unit: u64) -> Option<Self> {
        let millis = count.checked_mul(unit)?;
        (millis <= MAX_MILLIS).then_some(DurationSetting::from_millis(millis))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a length of time; write a whole number and a unit (ms, s, m, h \
                 or d), for instance \"30s\""
            )
        };
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let (count, unit) = text.split_at_checked(digits.len()).ok_or_else(wrong)?;
        let mut units = UNITS.iter();
        let (_, unit) = units.find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        if !count.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        let count = count.parse().map_err(|_| wrong())?;
        DurationSetting::from_count(count, *unit)
            .ok_or_else(|| format!("`{text}` is too long; at most 36500d"))
    }
}

impl<const PLAIN: u64> From<Duration> for DurationSetting<PLAIN> {
    fn from(duration: Duration) -> Self {
        DurationSetting(duration)
    }
}

/// In the longest unit in which it is a whole number.
impl<const PLAIN: u64> fmt::Display for DurationSetting<PLAIN> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_millis();
        if millis == 0 {
            return out.write_str("0s");
        }
        let mut units = UNITS.iter();
        let whole = units.find(|(_, length)| millis.is_multiple_of(u128::from(*length)));
        match whole {
            Some((name, length)) => write!(out, "{}{name}", millis / u128::from(*length)),
            None => write!(out, "{millis}ms"),
        }
    }
}

impl<const PLAIN: u64> Serialize for DurationSetting<PLAIN> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, const PLAIN: u64> Deserialize<'de> for DurationSetting<PLAIN> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DurationVisitor)
    }
}

struct DurationVisitor<const PLAIN: u64>;

impl<const PLAIN: u64> Visitor<'_> for DurationVisitor<PLAIN> {
    type Value = DurationSetting<PLAIN>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = DurationSetting::<PLAIN>::plain_unit();
        write!(
            out,
            "a length of time such as \"30s\" (units: ms, s, m, h, d), or a whole number of {unit}"
        )
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        DurationSetting::parse(text).map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, count: u64) -> Result<Self::Value, E> {
        let unit = DurationSetting::<PLAIN>::plain_unit();
        DurationSetting::from_count(count, PLAIN)
            .ok_or_else(|| E::custom(format!("{count} {unit} are too long; at most 36500d")))
    }

    fn visit_i64<E: Error>(self, count: i64) -> Result<Self::Value, E> {
        match u64::try_from(count) {
            Ok(count) => self.visit_u64(count),
            Err(_) => Err(E::invalid_type(Unexpected::Signed(count), &self)),
        }
    }
}

impl<const PLAIN: u64> JsonSchema for DurationSetting<PLAIN> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Duration")
    }

    fn schema_id() -> Cow<'static, str> {
        Cow::Owned(format!("prowess::Duration::{PLAIN}"))
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "integer"],
            "pattern": "^[0-9]+(ms|s|m|h|d)$",
            "minimum": 0,
            "x-value": "duration",
            "x-plain-unit": Self::plain_unit(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Table {
        seconds: Option<DurationSetting>,
        days: Option<Days>,
        millis: Option<Milliseconds>,
    }

    fn read(text: &str) -> Result<Duration, String> {
        let table: Table = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        let seconds = table.seconds.map(DurationSetting::get);
        let days = table.days.map(DurationSetting::get);
        let millis = table.millis.map(DurationSetting::get);
        Ok(seconds.or(days).or(millis).unwrap())
    }

    #[test]
    fn a_text_has_its_unit_and_a_number_that_of_its_key() {
        for (written, millis) in [
            ("seconds = \"250ms\"", 250),
            ("seconds = \"30s\"", 30_000),
            ("seconds = \"5m\"", 300_000),
            ("millis = \"2h\"", 7_200_000),
            ("days = \"7d\"", 7 * DAY_MILLIS),
            ("seconds = 30", 30_000),
            ("days = 2", 2 * DAY_MILLIS),
            ("millis = 300", 300),
            ("seconds = \"0s\"", 0),
            ("days = 36500", MAX_MILLIS),
        ] {
            assert_eq!(
                read(written),
                Ok(Duration::from_millis(millis)),
                "{written}"
            );
        }
    }

    #[test]
    fn what_is_no_length_of_time_is_refused_with_what_is() {
        for wrong in [
            "30 s", "1h30m", "s", "-5s", "+5s", "1.5s", "5", "", "5S", "9w", "٣s",
        ] {
            let refused = read(&format!("seconds = \"{wrong}\"")).unwrap_err();
            let start =
                format!("`{wrong}` is not a length of time; write a whole number and a unit");
            assert!(refused.starts_with(&start), "{wrong}: {refused}");
        }
        for wrong in [
            "seconds = -1",
            "seconds = true",
            "seconds = 1.5",
            "seconds = [1]",
        ] {
            let refused = read(wrong).unwrap_err();
            assert!(
                refused.contains("or a whole number of seconds"),
                "{refused}"
            );
        }
        for long in [
            "days = 36501",
            "seconds = \"99999999999999999999s\"",
            "days = \"40000d\"",
        ] {
            read(long).unwrap_err();
        }
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let mut millis = 1_u64;
        for step in 0..2_000_u64 {
            // Whole numbers of every unit, and others.
            let (_, unit) = UNITS[usize::try_from(step % 5).unwrap()];
            millis = millis
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(step);
            let duration = DurationSetting::<SECOND_MILLIS>::from_millis(
                (millis % 30_000) * unit % MAX_MILLIS,
            );
            assert_eq!(DurationSetting::parse(&duration.to_string()), Ok(duration));
        }
    }
}
