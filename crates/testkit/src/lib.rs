//! Fixtures for the tests of every crate.

pub mod postgres;
