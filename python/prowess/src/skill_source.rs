//! A source of skills as Python gives it: a path, a URL, or a skill that was read.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::skill::Skill;

/// A source of skills.
#[derive(FromPyObject)]
pub(crate) enum Source<'py> {
    Skill(PyRef<'py, Skill>),
    Path(PathBuf),
}
