//! How long an answer may be used without asking again.

use std::time::Duration;

use super::options::CacheOptions;

/// What an answer's `cache-control` allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CachePolicy {
    /// Not at all: it must not reach a disk.
    NoStore,
    /// For this long without asking; after that, if the host says it still holds.
    Fresh(Duration),
}

/// Reads `cache-control` within our own bounds. `age` is how long the answer has
/// been in other caches.
pub(super) fn cache_policy(
    cache_control: &str,
    age: Duration,
    options: &CacheOptions,
) -> CachePolicy {
    let mut fresh = options.default_age;
    let mut revalidate = false;
    for directive in cache_control.split(',') {
        let directive = directive.trim().to_ascii_lowercase();
        let (name, value) = directive.split_once('=').unwrap_or((&directive, ""));
        match name.trim() {
            "no-store" => return CachePolicy::NoStore,
            "no-cache" => revalidate = true,
            "max-age" => match value.trim().trim_matches('"').parse() {
                Ok(seconds) => fresh = Duration::from_secs(seconds).saturating_sub(age),
                // Not a number: the careful reading is that it is not fresh.
                Err(_) => revalidate = true,
            },
            _ => {}
        }
    }
    if revalidate {
        fresh = Duration::ZERO;
    }
    CachePolicy::Fresh(fresh.min(options.max_age))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(cache_control: &str, age: u64) -> Option<u64> {
        let options = CacheOptions::in_folder("unused");
        match cache_policy(cache_control, Duration::from_secs(age), &options) {
            CachePolicy::NoStore => None,
            CachePolicy::Fresh(time) => Some(time.as_secs()),
        }
    }

    #[test]
    fn what_a_host_allows_counts_within_bounds() {
        assert_eq!(seconds("", 0), Some(3600));
        assert_eq!(seconds("public, max-age=60", 0), Some(60));
        assert_eq!(seconds("Max-Age=\"60\"", 45), Some(15));
        assert_eq!(seconds("max-age=60", 90), Some(0));
        assert_eq!(seconds("max-age=31536000, immutable", 0), Some(86_400));
        assert_eq!(seconds("max-age=18446744073709551616", 0), Some(0));
        assert_eq!(seconds("max-age=60, no-cache", 0), Some(0));
        assert_eq!(seconds("private, no-store", 0), None);
        assert_eq!(seconds(",,=;", 0), Some(3600));
    }
}
