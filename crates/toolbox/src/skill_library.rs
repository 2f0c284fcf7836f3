//! Skills that a toolbox does not hold yet: they can be searched, and one is loaded when it is
//! first used.
//!
//! Whoever has the skills implements [`SkillLibrary`]. A library decides which skills may be
//! found; it must not know any tool.

use crate::spec::Member;
use std::fmt::Debug;
use std::pin::Pin;

/// The result of a library.
pub type LibraryFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, String>> + Send + 'a>>;

/// Skills beyond the members of a toolbox. An error is a sentence for the model.
pub trait SkillLibrary: Debug + Send + Sync {
    /// A line `- name: description` for each skill that fits a task, best first, at most
    /// `limit`. Every name in it can be loaded with [`find`](Self::find).
    fn search<'a>(&'a self, task: &'a str, limit: usize) -> LibraryFuture<'a, Vec<String>>;

    /// The skill of this name, with its files.
    fn find<'a>(&'a self, name: &'a str) -> LibraryFuture<'a, Option<Member>>;
}
