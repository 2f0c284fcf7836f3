//! Archives that must be refused, each with the code it must be refused by.
//!
//! The codes are those of a bundle's errors under default limits. None of these
//! is larger than a megabyte, and none may make a reader hold more than its limits
//! allow, whatever it states or unpacks to.

mod bombs;
mod links;
mod names;
mod roots;
mod tar;
mod zip;

/// An archive that must be refused.
#[derive(Debug, Clone)]
pub struct HostileArchive {
    /// What is wrong with it, in a few words; distinct.
    pub name: String,
    /// The archive.
    pub bytes: Vec<u8>,
    /// The code it must be refused by.
    pub code: &'static str,
}

impl HostileArchive {
    fn new(name: impl Into<String>, code: &'static str, bytes: Vec<u8>) -> Self {
        HostileArchive {
            name: name.into(),
            bytes,
            code,
        }
    }
}

/// All of them.
pub fn all() -> Vec<HostileArchive> {
    [
        names::all(),
        links::all(),
        zip::all(),
        tar::all(),
        bombs::all(),
        roots::all(),
    ]
    .concat()
}
