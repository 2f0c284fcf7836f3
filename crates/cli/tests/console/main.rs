//! The console as people use it: the real server, a scripted model, and a real Chromium.
//!
//! | module | owns |
//! |---|---|
//! | [`driver`] | Chromium, driven by WebDriver |
//! | [`browser`] | what a person does with a browser, and what must never happen in it |
//! | [`accessible`] | rules for accessible pages |
//! | [`pictures`] | pictures of pages, of which some are in the guide |
//! | [`stage`] | the server, and clients of its API and its console |
//! | [`story`] | a skill and a model with which most of these tests work, and the pages |
//! | [`every_page`] | what holds for every page: accessible, quiet, small, no wider than the screen |
//! | [`journey`] | what people do, from signing in to searching the audit log |
//! | [`keyboard`] | keys, copy buttons, and pages without scripts |
//! | [`corpus`], [`hostile`] | texts that try to run as code, and all places where they are shown |
//! | [`playground`] | files in, two models, stopping, repeating, and the programs that it shows |
//! | [`containers`] | deleting a container |
//! | [`pdf`] | pages of PDF files |
//! | [`crawl`] | every link of the console |
//! | [`tenancy`] | who sees and changes what |
//! | [`shell`] | the same from a shell on another machine |
//! | [`off`] | a server without its console |
//!
//! `cargo xtask test` unpacks the browser. Pictures of all pages are in
//! `target/console-screenshots` afterwards.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

#[path = "../installed/mod.rs"]
mod installed;
#[path = "../scripted/mod.rs"]
mod scripted;
#[path = "../server/mod.rs"]
mod server;

mod accessible;
mod browser;
mod containers;
mod corpus;
mod crawl;
mod driver;
mod every_page;
mod hostile;
mod journey;
mod keyboard;
mod off;
mod pdf;
mod pictures;
mod playground;
mod shell;
mod stage;
mod story;
mod tenancy;
