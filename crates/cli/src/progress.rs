//! A progress bar on standard error, for long work, and only on a terminal.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work shorter than this needs no bar.
const MIN_ITEMS_FOR_BAR: usize = 64;

/// A bar over `length` steps; hidden when standard error is not a terminal.
pub(crate) fn items_bar(length: usize, what: &'static str) -> ProgressBar {
    let visible = length >= MIN_ITEMS_FOR_BAR && std::io::stderr().is_terminal();
    let target = if visible {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(Some(length as u64), target).with_message(what);
    match ProgressStyle::with_template("{msg} [{bar:30}] {pos}/{len} {eta}") {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}

/// Counts transferred bytes; hidden when standard error is not a terminal.
pub(crate) fn bytes_bar(what: &'static str) -> ProgressBar {
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(None, target).with_message(what);
    match ProgressStyle::with_template("{msg} {bytes} {elapsed}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
