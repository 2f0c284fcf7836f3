//! All errors of a configuration.

use std::path::Path;

use super::error::ConfigError;

/// The errors of a configuration, in the order of the file where that is known.
#[derive(Debug, Default)]
pub struct ConfigProblems(Vec<ConfigError>);

impl ConfigProblems {
    pub(super) fn from_list(problems: Vec<ConfigError>) -> Self {
        ConfigProblems(problems)
    }

    /// Iterates over the errors.
    pub fn iter(&self) -> impl Iterator<Item = &ConfigError> {
        self.0.iter()
    }

    /// The value of a result; an error is added to the problems.
    pub(super) fn record<T>(&mut self, result: Result<T, ConfigError>) -> Option<T> {
        result.map_err(|error| self.0.push(error)).ok()
    }

    /// Fails if there are any problems.
    pub(super) fn ensure_none(&mut self) -> Result<(), ConfigProblems> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(ConfigProblems(std::mem::take(&mut self.0)))
        }
    }

    /// With the lines of invalid values, in the order of the file; `line_of` knows the line of
    /// a setting.
    pub(super) fn with_lines(self, line_of: impl Fn(&str) -> Option<usize>) -> Self {
        let problems =
            self.0
                .into_iter()
                .map(|problem| match problem.setting().and_then(&line_of) {
                    Some(line) => problem.at_line(line),
                    None => problem,
                });
        let mut problems: Vec<_> = problems.collect();
        problems.sort_by_key(ConfigError::line_number);
        ConfigProblems(problems)
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

/// The first problem.
pub(super) fn first_problem(problems: ConfigProblems) -> ConfigError {
    let none = || ConfigError::invalid("prowess.toml", "cannot be read");
    problems.0.into_iter().next().unwrap_or_else(none)
}
