//! How long a response may be used without a new request.

use std::time::Duration;

use super::options::CacheOptions;

/// What a response's `cache-control` allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CachePolicy {
    /// It must not be cached.
    NoStore,
    /// Fresh for this long; after that it must be revalidated.
    Fresh(Duration),
}

/// Reads `cache-control` within the configured limits. `age` is how long the response has
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
                // Not a number: treat it as not fresh.
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
