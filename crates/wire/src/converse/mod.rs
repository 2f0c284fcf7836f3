//! Bedrock Converse.

mod error;

pub(crate) use error::read_exception;
