//! Fixtures for the tests of every crate.

pub mod postgres;
pub mod s3;
