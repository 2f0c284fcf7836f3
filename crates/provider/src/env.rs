//! The environment as a value, so that tests can supply their own.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Where environment variables are looked up.
#[derive(Clone)]
pub struct Env(Arc<Lookup>);

impl Env {
    /// The variables of this process.
    pub fn from_process() -> Self {
        Env(Arc::new(|name| std::env::var(name).ok()))
    }

    /// Only these variables.
    pub fn from_pairs<const N: usize>(variables: [(&str, &str); N]) -> Self {
        let map: HashMap<String, String> = variables
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        Env(Arc::new(move |name| map.get(name).cloned()))
    }

    /// A variable's value; an empty one counts as unset.
    pub fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).filter(|value| !value.trim().is_empty())
    }

    /// The same variables, for `prowess-cloud`.
    pub(crate) fn variables(&self) -> prowess_cloud::Variables {
        let env = self.clone();
        prowess_cloud::Variables::new(move |name| env.get(name))
    }

    /// The first of these variables that is set.
    pub(crate) fn first(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.get(name))
    }
}

impl Default for Env {
    fn default() -> Self {
        Env::from_process()
    }
}

impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Variables may contain keys.
        f.write_str("Env")
    }
}
