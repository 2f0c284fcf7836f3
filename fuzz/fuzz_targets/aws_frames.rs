//! Any bytes as AWS event-stream frames.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| prowess_fuzz::check_frames(bytes));
