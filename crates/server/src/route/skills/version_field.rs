//! A version in a JSON body.

use prowess_store::VersionSelector;
use serde::Deserialize;

use crate::error::HttpError;

/// Clients send the integer as a string or as a number.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum VersionField {
    Text(String),
    Number(u64),
}

impl VersionField {
    pub(super) fn selector(&self) -> Result<VersionSelector, HttpError> {
        Ok(match self {
            VersionField::Text(text) => VersionSelector::parse(text)?,
            VersionField::Number(number) => VersionSelector::parse(&number.to_string())?,
        })
    }
}
