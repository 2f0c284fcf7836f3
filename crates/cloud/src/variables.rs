//! Environment variables, from wherever the caller looks them up.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Environment variables.
#[derive(Clone)]
pub struct Variables(Arc<Lookup>);

impl Variables {
    /// Variables that this function looks up.
    pub fn new(look_up: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Variables(Arc::new(look_up))
    }

    /// A variable's value; an empty one counts as unset.
    pub fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).filter(|value| !value.trim().is_empty())
    }

    /// A variable's value as a path.
    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from)
    }

    /// The user's home folder.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.path("HOME").or_else(|| self.path("USERPROFILE"))
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Variables may contain keys.
        f.write_str("Variables")
    }
}
