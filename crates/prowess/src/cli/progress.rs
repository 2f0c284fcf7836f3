//! A progress bar on standard error, for long work, and only on a terminal.

use std::convert::Infallible;
use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work shorter than this needs no bar.
const WORTH_A_BAR: usize = 64;

/// A bar over `length` steps; invisible when there is no terminal to see it.
pub(crate) fn bar(length: usize, what: &'static str) -> ProgressBar {
    let visible = length >= WORTH_A_BAR && std::io::stderr().is_terminal();
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

/// Less than this is sent before a bar could be read.
const WORTH_BYTES: u64 = 1 << 20;
/// Bytes handed on at once.
const CHUNK: usize = 64 << 10;

/// A bar over `length` bytes; invisible when there is no terminal to see it.
pub(crate) fn bytes(length: u64, what: &'static str) -> ProgressBar {
    let visible = length >= WORTH_BYTES && std::io::stderr().is_terminal();
    let target = if visible {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(Some(length), target).with_message(what);
    match ProgressStyle::with_template("{msg} [{bar:30}] {bytes}/{total_bytes} {eta}") {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}

/// A body that moves a bar on as it is sent.
pub(crate) fn body(data: Vec<u8>, bar: &ProgressBar) -> reqwest::Body {
    let bar = bar.clone();
    let chunks: Vec<Vec<u8>> = data.chunks(CHUNK).map(<[u8]>::to_vec).collect();
    let chunks = chunks.into_iter().map(move |chunk| {
        bar.inc(chunk.len() as u64);
        Ok::<_, Infallible>(chunk)
    });
    reqwest::Body::wrap_stream(futures_util::stream::iter(chunks))
}
