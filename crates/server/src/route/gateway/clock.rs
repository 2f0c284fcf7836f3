//! The time, as OpenAI's objects have it.

/// Seconds since the Unix epoch.
pub(crate) fn unix_now() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or_default()
}
