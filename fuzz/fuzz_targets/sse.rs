//! Any bytes as server-sent events.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| prowess_fuzz::check_sse(bytes));
