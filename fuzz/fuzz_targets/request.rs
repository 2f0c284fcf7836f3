//! Any bytes as the request of a client, in each dialect.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| prowess_fuzz::check_request(bytes));
