//! The scanner from the outside: a skill in, a report out.
#![expect(clippy::panic, reason = "a test that meets a surprise should stop")]

mod cases;
mod context;
mod hostile;
mod report;
mod sarif;
mod skill;
