//! Sizes.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The units, with their number of bytes; the largest first.
const UNITS: [(&str, u64); 4] = [
    ("T", 1 << 40),
    ("G", 1 << 30),
    ("M", 1 << 20),
    ("K", 1 << 10),
];

/// A number of bytes: `"64K"`, `"512M"`, `"2G"`, `"1T"` in powers of 1024, or a plain number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::config) struct BytesSetting(u64);

impl BytesSetting {
    pub(in crate::config) const fn new(bytes: u64) -> Self {
        BytesSetting(bytes)
    }

    pub(in crate::config) const fn get(self) -> u64 {
        self.0
    }

    /// As a size in memory; more than that has is the most.
    pub(in crate::config) fn in_memory(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    /// None if it is zero, where that means "no limit".
    pub(in crate::config) fn unless_zero(self) -> Option<u64> {
        Some(self.0).filter(|bytes| *bytes > 0)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a size; write a whole number of bytes, or one with a unit in \
                 powers of 1024 (K, M, G or T), for instance \"512M\""
            )
        };
        let unit = UNITS.iter().find_map(|(name, bytes)| {
            let count = text.strip_suffix(name)?;
            Some((count, *bytes))
        });
        let (count, unit) = unit.unwrap_or((text, 1));
        if !count.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        let count: u64 = count.parse().map_err(|_| wrong())?;
        let bytes = count.checked_mul(unit);
        bytes
            .filter(|bytes| i64::try_from(*bytes).is_ok())
            .map_or_else(
                || Err(format!("`{text}` is too large; at most {}", i64::MAX)),
                |bytes| Ok(BytesSetting(bytes)),
            )
    }
}

/// In the largest unit in which it is a whole number.
impl fmt::Display for BytesSetting {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut units = UNITS.iter();
        let whole = units.find(|(_, bytes)| self.0 > 0 && self.0.is_multiple_of(*bytes));
        match whole {
            Some((name, bytes)) => write!(out, "{}{name}", self.0 / bytes),
            None => write!(out, "{}", self.0),
        }
    }
}

/// A number without a unit is a number.
impl Serialize for BytesSetting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if UNITS
            .iter()
            .any(|(_, bytes)| self.0 > 0 && self.0.is_multiple_of(*bytes))
        {
            serializer.collect_str(self)
        } else {
            serializer.serialize_u64(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for BytesSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BytesVisitor)
    }
}

struct BytesVisitor;

impl Visitor<'_> for BytesVisitor {
    type Value = BytesSetting;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a size such as \"512M\" (units: K, M, G, T), or a whole number of bytes")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        BytesSetting::parse(text).map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, bytes: u64) -> Result<Self::Value, E> {
        Ok(BytesSetting(bytes))
    }

    fn visit_i64<E: Error>(self, bytes: i64) -> Result<Self::Value, E> {
        match u64::try_from(bytes) {
            Ok(bytes) => Ok(BytesSetting(bytes)),
            Err(_) => Err(E::invalid_type(Unexpected::Signed(bytes), &self)),
        }
    }
}

impl JsonSchema for BytesSetting {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Bytes")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "integer"],
            "pattern": "^[0-9]+[KMGT]?$",
            "minimum": 0,
            "x-value": "size",
            "x-plain-unit": "bytes",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Table {
        size: BytesSetting,
    }

    fn read(written: &str) -> Result<u64, String> {
        let table = toml::from_str::<Table>(&format!("size = {written}"));
        let size = table.map(|table| table.size.get());
        size.map_err(|error| error.message().to_owned())
    }

    #[test]
    fn units_are_powers_of_1024() {
        assert_eq!(read("\"64K\""), Ok(65_536));
        assert_eq!(read("\"512M\""), Ok(512 << 20));
        assert_eq!(read("\"2G\""), Ok(2 << 30));
        assert_eq!(read("\"1T\""), Ok(1 << 40));
        assert_eq!(read("\"10\""), Ok(10));
        assert_eq!(read("500_000_000"), Ok(500_000_000));
        assert_eq!(read("0"), Ok(0));
    }

    #[test]
    fn what_is_no_size_is_refused_with_what_is() {
        for wrong in [
            "\"64KB\"", "\"64k\"", "\"1.5G\"", "\"G\"", "\"\"", "\"-1K\"", "\"1 G\"",
        ] {
            let refused = read(wrong).unwrap_err();
            assert!(
                refused.contains(" is not a size; write a whole number of bytes"),
                "{refused}"
            );
        }
        for wrong in ["-1", "1.5", "true", "[]"] {
            let refused = read(wrong).unwrap_err();
            assert!(
                refused.contains("expected a size such as \"512M\""),
                "{refused}"
            );
        }
        let refused = read("\"9999999999T\"").unwrap_err();
        assert!(refused.contains("too large"), "{refused}");
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let mut bytes = 1_u64;
        for step in 0..2_000_u64 {
            bytes = bytes
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(step);
            let size = BytesSetting((bytes % 100_000) << (10 * (step % 5)));
            assert_eq!(BytesSetting::parse(&size.to_string()), Ok(size));
        }
    }
}
