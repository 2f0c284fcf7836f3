//! Pages of PDF files as pictures, for people who look at what a run has made.
//!
//! | module | owns |
//! |---|---|
//! | `draw` | one page, drawn by a command in a temporary container |
//! | `png` | whether a file may be taken for a picture |
//! | `error` | why there is no picture |
//!
//! A PDF file is hostile, and so is all that a program makes of it: it is read in the sandbox
//! only, and what comes back is a picture of bounded size. Nothing is kept here.

mod draw;
pub(crate) mod error;
mod png;

use bytes::Bytes;

/// A page of a PDF file.
#[derive(Debug, Clone)]
pub struct PdfPage {
    /// The picture, as a PNG file.
    pub png: Bytes,
    /// How many pages the file has.
    pub pages: u32,
}

#[cfg(test)]
mod tests;
