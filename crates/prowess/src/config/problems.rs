//! All that is wrong with a configuration.

use std::path::Path;

use super::error::ConfigError;

/// What is wrong with a configuration, in the order of the file where that is known.
#[derive(Debug)]
pub struct ConfigProblems(Vec<ConfigError>);

impl ConfigProblems {
    pub(super) fn from_list(problems: Vec<ConfigError>) -> Self {
        ConfigProblems(problems)
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &ConfigError> {
        self.0.iter()
    }

    /// The value of a result; its error is added to the problems.
    pub(super) fn record<T>(&mut self, result: Result<T, ConfigError>) -> Option<T> {
        result.map_err(|error| self.0.push(error)).ok()
    }

    /// Goes on only if there is no problem yet.
    pub(super) fn ensure_none(&mut self) -> Result<(), ConfigProblems> {
        match self.0.is_empty() {
            true => Ok(()),
            false => Err(ConfigProblems(std::mem::take(&mut self.0))),
        }
    }

    pub(super) fn in_file(self, path: &Path) -> Self {
        let problems = self.0.into_iter();
        ConfigProblems(problems.map(|problem| problem.in_file(path)).collect())
    }
}

impl From<ConfigError> for ConfigProblems {
    fn from(problem: ConfigError) -> Self {
        ConfigProblems(vec![problem])
    }
}

/// The first problem, for those who stop at it.
pub(super) fn first_problem(problems: ConfigProblems) -> ConfigError {
    let none = || ConfigError::invalid("prowess.toml", "cannot be read");
    problems.0.into_iter().next().unwrap_or_else(none)
}
