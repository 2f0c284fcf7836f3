//! Ids of containers.

use crate::error::Error;
use crate::id;

/// Prefix of every container's id.
pub(super) const ID_PREFIX: &str = "container_";

/// A new, random id for a container.
///
/// # Errors
/// When the system has no random bytes.
pub fn new_container_id() -> Result<String, Error> {
    Ok(format!("{ID_PREFIX}{}", id::random_id()?))
}

/// Checks that an id has the form of those that [`new_container_id`] returns.
///
/// # Errors
/// [`Error::BadName`] when it has not.
pub fn check_container_id(id: &str) -> Result<&str, Error> {
    match id.strip_prefix(ID_PREFIX) {
        Some(random) if id::is_random_id(random) => Ok(id),
        _ => Err(Error::BadName {
            what: "container",
            name: id.chars().take(100).collect(),
            why: "it is not the id of a container",
        }),
    }
}
