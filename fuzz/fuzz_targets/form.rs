//! Any bytes as a multipart form.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| prowess_fuzz::check_form(bytes));
