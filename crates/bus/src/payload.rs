//! A value as a payload: one version byte, then JSON.
//!
//! Fields that a reader does not know are its type's to ignore, and fields that a writer did not
//! know need a default, so that neighbouring releases understand each other. A change that they
//! could not understand needs another version byte, which is refused as a whole.

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The version of all payloads.
pub const VERSION: u8 = 1;

/// Why a payload cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PayloadError {
    /// It has no version byte.
    #[error("the payload is empty")]
    Empty,
    /// It is of a release that uses another format.
    #[error("the payload has version {0}, and this release reads version {VERSION}")]
    Version(u8),
    /// The JSON is not what was expected.
    #[error("the payload is not understood: {0}")]
    Json(#[from] serde_json::Error),
}

/// Writes a value.
pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Bytes, PayloadError> {
    let mut bytes = vec![VERSION];
    serde_json::to_writer(&mut bytes, value)?;
    Ok(bytes.into())
}

/// Reads a value.
pub fn decode<T: DeserializeOwned>(payload: &[u8]) -> Result<T, PayloadError> {
    match payload.split_first() {
        None => Err(PayloadError::Empty),
        Some((&VERSION, json)) => Ok(serde_json::from_slice(json)?),
        Some((other, _)) => Err(PayloadError::Version(*other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_as_it_was_written_and_other_versions_are_refused() {
        let bytes = encode(&vec![1, 2]).unwrap();
        assert_eq!(bytes.as_ref(), b"\x01[1,2]");
        assert_eq!(decode::<Vec<u8>>(&bytes).unwrap(), [1, 2]);
        let refused = |payload: &[u8]| decode::<Vec<u8>>(payload).unwrap_err().to_string();
        assert_eq!(refused(b""), "the payload is empty");
        assert_eq!(
            refused(b"\x02[1]"),
            "the payload has version 2, and this release reads version 1"
        );
        assert!(refused(b"\x01{").starts_with("the payload is not understood: "));
    }
}
