//! The skill verbs as a person or a script uses them: what is printed, where,
//! and how the command ends.
//!
//! | module | owns |
//! |---|---|
//! | [`workdir`] | a folder to work in, and the program in it |
//! | [`help`] | help, version and completions |
//! | [`problems`] | `skill new` and `skill validate`: what is wrong, and where |
//! | [`reports`] | reports for programs |
//! | [`explain`] | what rules mean |
//! | [`files`] | folders, archives and files of skills |

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod explain;
mod files;
mod help;
mod problems;
mod reports;
mod workdir;
