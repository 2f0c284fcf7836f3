//! Fixtures for the tests of every crate.
