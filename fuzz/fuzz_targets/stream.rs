//! Any bytes as the response stream of an upstream, in each dialect.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| prowess_fuzz::check_stream(bytes));
