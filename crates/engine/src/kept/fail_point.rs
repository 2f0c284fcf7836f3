//! Named places at which tests end the process, as if it were killed there.
//!
//! Only in debug builds: `PROWESS_FAIL_POINT=NAME` aborts at the first time the place is
//! reached, `NAME:3` at the third.

/// Aborts the process if `PROWESS_FAIL_POINT` names this place.
#[cfg(debug_assertions)]
pub fn fail_point(name: &str) {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    static CHOSEN: LazyLock<Option<(String, u32)>> = LazyLock::new(|| {
        let text = std::env::var("PROWESS_FAIL_POINT").ok()?;
        let (name, count) = text.split_once(':').unwrap_or((&text, "1"));
        Some((name.to_owned(), count.parse().ok()?))
    });
    static REACHED: AtomicU32 = AtomicU32::new(0);

    if let Some((chosen, count)) = &*CHOSEN
        && chosen == name
        && REACHED.fetch_add(1, Ordering::Relaxed) + 1 == *count
    {
        std::process::abort();
    }
}

/// Does nothing in release builds.
#[cfg(not(debug_assertions))]
pub fn fail_point(_name: &str) {}
