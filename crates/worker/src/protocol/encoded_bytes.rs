//! Bytes inside JSON, as base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Bytes that are base64 in JSON.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct EncodedBytes(pub Bytes);

impl From<Vec<u8>> for EncodedBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }
}

impl From<Bytes> for EncodedBytes {
    fn from(bytes: Bytes) -> Self {
        Self(bytes)
    }
}

impl AsRef<[u8]> for EncodedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Only the length: contents belong to tenants.
impl fmt::Debug for EncodedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl Serialize for EncodedBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for EncodedBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Base64Text)
    }
}

/// Decodes the text where it is, without a copy of it.
struct Base64Text;

impl Visitor<'_> for Base64Text {
    type Value = EncodedBytes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a base64 text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<EncodedBytes, E> {
        let bytes = STANDARD.decode(text).map_err(E::custom)?;
        Ok(bytes.into())
    }
}
