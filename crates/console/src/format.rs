//! Times, sizes and amounts as people read them. Knows no page.

use serde_json::Value;

/// A moment, for machines and for people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Moment {
    /// RFC 3339.
    pub(crate) iso: String,
    /// To the minute, in UTC.
    pub(crate) text: String,
}

impl Moment {
    /// From an answer of the API: RFC 3339, or seconds since 1970. Anything else is no moment.
    pub(crate) fn from_json(value: Option<&Value>) -> Option<Moment> {
        match value? {
            Value::String(text) => Moment::parse(text),
            Value::Number(number) => Moment::from_seconds(number.as_i64()?),
            _ => None,
        }
    }

    /// From RFC 3339.
    pub(crate) fn parse(text: &str) -> Option<Moment> {
        text.parse().ok().map(Moment::new)
    }

    /// From seconds since 1970.
    pub(crate) fn from_seconds(seconds: i64) -> Option<Moment> {
        jiff::Timestamp::from_second(seconds).ok().map(Moment::new)
    }

    fn new(time: jiff::Timestamp) -> Moment {
        let iso = format!("{time:.0}");
        let text = iso.get(..16).unwrap_or(&iso).replace('T', " ");
        Moment { iso, text }
    }
}

/// Bytes in the largest unit that leaves something before the point.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if count < 1_000 {
        return format!("{count} B");
    }
    let mut amount = count as f64;
    let mut unit = "B";
    for larger in UNITS {
        if amount < 999.95 {
            break;
        }
        amount /= 1_000.0;
        unit = larger;
    }
    format!("{amount:.1} {unit}")
}

/// A number with spaces between thousands.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            // Narrow, and never at the end of a line.
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// An amount of money. Small ones keep two digits that mean something.
pub(crate) fn money(amount: f64) -> String {
    match amount.abs() {
        zero if zero < 5e-10 => "$0".to_owned(),
        small if small < 0.01 => {
            // The first digit that is not zero, and one more.
            let digits = (1.0 - small.log10().floor()).clamp(2.0, 9.0) as usize;
            format!("${amount:.digits$}")
        }
        _ => format!("${amount:.2}"),
    }
}

/// Milliseconds in the largest unit that fits.
pub(crate) fn duration(millis: u64) -> String {
    match millis {
        0..=999 => format!("{millis} ms"),
        1_000..=59_999 => format!("{:.1} s", millis as f64 / 1e3),
        _ => format!("{} min {} s", millis / 60_000, millis % 60_000 / 1_000),
    }
}

/// The beginning of a text, in characters.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default().trim_end()),
    }
}

/// A text of an answer; empty if it is not there.
pub(crate) fn text(value: &Value, name: &str) -> String {
    let text = value.get(name).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn moments_are_read_from_both_dialects() {
        let moment = Moment::from_json(Some(&json!("2026-09-21T14:13:20.000001Z"))).unwrap();
        assert_eq!(moment.iso, "2026-09-21T14:13:20Z");
        assert_eq!(moment.text, "2026-09-21 14:13");
        assert_eq!(Moment::from_json(Some(&json!(1_790_000_000))), Some(moment));
        assert_eq!(Moment::from_json(Some(&json!("soon"))), None);
        assert_eq!(Moment::from_json(None), None);
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0, 999, 1_000, 999_949, 999_950, 30_000_000].map(bytes);
        assert_eq!(
            shown,
            ["0 B", "999 B", "1.0 KB", "999.9 KB", "1.0 MB", "30.0 MB"]
        );
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(count(12), "12");
        let shown = [0.0, 0.000_012_3, 0.004_2, 0.01, 12.345].map(money);
        assert_eq!(shown, ["$0", "$0.000012", "$0.0042", "$0.01", "$12.35"]);
        assert_eq!(
            [7, 1_500, 61_000].map(duration),
            ["7 ms", "1.5 s", "1 min 1 s"]
        );
        assert_eq!(shorten("größer", 3), "grö…");
        assert_eq!(shorten("groß", 4), "groß");
    }
}
