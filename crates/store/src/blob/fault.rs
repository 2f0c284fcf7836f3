//! Failures of the blob storage.

use std::error::Error as StdError;
use std::io;

use crate::disk_space;
use crate::error::Error;

/// Codes in the error bodies of object stores that have no space left.
const FULL_CODES: [&str; 4] = [
    "XMinioStorageFull",
    "QuotaExceeded",
    "507 Insufficient Storage",
    "InsufficientStorage",
];

impl From<object_store::Error> for Error {
    fn from(error: object_store::Error) -> Self {
        if is_full(&error) {
            return Error::StorageFull {
                part: "blob storage",
                cause: error.to_string(),
            };
        }
        Error::BlobStorage(error)
    }
}

fn is_full(error: &object_store::Error) -> bool {
    let mut cause: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>()
            && disk_space::is_storage_full(error)
        {
            return true;
        }
        cause = error.source();
    }
    let text = error.to_string();
    FULL_CODES.iter().any(|code| text.contains(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generic(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        let source = source.into();
        let store = "test";
        Error::from(object_store::Error::Generic { store, source })
    }

    #[test]
    fn a_full_storage_is_distinguished_from_other_failures() {
        for full in [
            generic(io::Error::from(io::ErrorKind::StorageFull)),
            generic(io::Error::from(io::ErrorKind::QuotaExceeded)),
            generic("Server returned <Code>XMinioStorageFull</Code>"),
        ] {
            assert_eq!(full.code(), "storage-full", "{full}");
        }
        for other in [
            generic(io::Error::from(io::ErrorKind::PermissionDenied)),
            generic("connection refused"),
        ] {
            assert_eq!(other.code(), "blob-storage", "{other}");
        }
    }
}
