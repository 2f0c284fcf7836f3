//! Why there is no picture of a page.

use prowess_sandbox::Error as SandboxError;

use crate::error::RunError;

/// Why there is no picture of a page of a PDF file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PdfPageError {
    /// There is no sandbox.
    #[error(
        "pages of PDF files are drawn in the sandbox, and this server has none: {why}; see \
         `prowess doctor`"
    )]
    NoSandbox {
        /// Why not.
        why: String,
    },
    /// The runtime of the sandbox lacks the programs.
    #[error(
        "the runtime of the sandbox has no `pdftoppm` and `pdfinfo`, which draw pages of PDF \
         files: install Debian's `poppler-utils` where skills use the host's own programs, or run \
         `prowess runtime install full` and configure it"
    )]
    ProgramMissing,
    /// The file has fewer pages.
    #[error("the PDF file has no page {number}; its last one is {pages}")]
    NoSuchPage {
        /// The requested page.
        number: u32,
        /// How many there are.
        pages: u32,
    },
    /// The program failed, or what it made is no picture that may be shown.
    #[error("page {number} of the PDF file cannot be drawn: {why}")]
    NotDrawn {
        /// The requested page.
        number: u32,
        /// One line, which may quote the program, without control characters.
        why: String,
    },
    /// The sandbox has other commands to run first.
    #[error(
        "page {number} of the PDF file was not drawn within {seconds} seconds, because other \
         commands run; try again shortly"
    )]
    Busy {
        /// The requested page.
        number: u32,
        /// How long it took.
        seconds: u64,
    },
    /// Nobody waits for it any more.
    #[error("nobody waits for page {number} of the PDF file any more")]
    GivenUp {
        /// The requested page.
        number: u32,
    },
    /// The sandbox failed.
    #[error(transparent)]
    Sandbox(RunError),
}

impl From<SandboxError> for PdfPageError {
    fn from(error: SandboxError) -> Self {
        PdfPageError::Sandbox(RunError::Toolbox(error.into()))
    }
}

/// An error when the sandbox is opened.
impl From<RunError> for PdfPageError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::SandboxUnavailable { why } => PdfPageError::NoSandbox { why },
            other => PdfPageError::Sandbox(other),
        }
    }
}
