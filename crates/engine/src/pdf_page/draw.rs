//! Draws a page by a command in a temporary container, without network.

use std::time::Duration;

use bytes::Bytes;
use prowess_sandbox::{
    Command, CommandOutcome, Error as SandboxError, Execution, ExecutionReport, Network,
    SharedSandboxes,
};
use prowess_store::TenantId;

use super::PdfPage;
use super::error::PdfPageError;
use super::png::dimensions;
use crate::engine::Engine;

/// Where the PDF file and the picture are, in the container.
const PDF_FILE: &str = "file.pdf";
const PICTURE_FILE: &str = "page.png";

/// Describes the file, then draws the page `$1` so that its longer side has 1400 pixels: a
/// picture has the same size however large the page says that it is.
const SCRIPT: &str = "\
command -v pdfinfo >/dev/null && command -v pdftoppm >/dev/null || exit 96
pdfinfo file.pdf || exit 97
exec pdftoppm -png -singlefile -f \"$1\" -l \"$1\" -scale-to 1400 file.pdf page
";
/// How it ends without the programs. Neither of them has this exit code.
const PROGRAM_MISSING: CommandOutcome = CommandOutcome::Exit(96);

/// How long a page may take to draw.
const MAX_TIME: Duration = Duration::from_secs(10);
/// How long it may take with the time that its command waits for those of others.
const MAX_TOTAL_TIME: Duration = Duration::from_secs(20);
/// Pixels of a side of a picture: those that are asked for, and some for rounding.
const MAX_SIDE: u32 = 1_410;
/// Bytes of a picture. Its pixels need fewer even if nothing of them is compressed.
const MAX_PICTURE_BYTES: u64 = 8 << 20;
/// Characters of what the program says that an error quotes.
const MAX_QUOTED_CHARS: usize = 200;

impl Engine {
    /// Draws a page of a PDF file, counted from 1. The command is killed when `given_up` is ready.
    ///
    /// When this future is dropped, its container remains until it expires: callers should let it
    /// end, and give up instead.
    ///
    /// # Errors
    /// When there is no sandbox, its runtime lacks the programs, the file has no such page, the
    /// page cannot be drawn, or was given up.
    pub async fn draw_pdf_page(
        &self,
        tenant: &TenantId,
        pdf: Vec<u8>,
        number: u32,
        given_up: impl Future<Output = ()> + Send,
    ) -> Result<PdfPage, PdfPageError> {
        tokio::pin!(given_up);
        let sandbox = tokio::select! {
            opened = self.sandbox_handle().sandbox() => opened?,
            () = &mut given_up => return Err(PdfPageError::GivenUp { number }),
        };
        let owner = tenant.as_str();
        // With the limits of any other command, so that a sandbox that was made ahead fits.
        let mut policy = self.settings().policy.clone();
        policy.network = Network::Off;
        let container = sandbox.create_temporary(owner, policy).await?;
        let drawing = draw(&sandbox, owner, &container, pdf, number);
        // Dropping the future has the command killed: at once on this host, by a message in a
        // cluster.
        let drawn = tokio::select! {
            drawn = tokio::time::timeout(MAX_TOTAL_TIME, drawing) => drawn.unwrap_or_else(|_| {
                let seconds = MAX_TOTAL_TIME.as_secs();
                Err(PdfPageError::Busy { number, seconds })
            }),
            () = &mut given_up => Err(PdfPageError::GivenUp { number }),
        };
        if let Err(error) = sandbox.destroy(owner, &container).await {
            // It expires like any other.
            let error = error.detail();
            tracing::warn!(
                error,
                container,
                "the container of a drawn page was not removed"
            );
        }
        drawn
    }
}

async fn draw(
    sandbox: &SharedSandboxes,
    owner: &str,
    container: &str,
    pdf: Vec<u8>,
    number: u32,
) -> Result<PdfPage, PdfPageError> {
    sandbox.put(owner, container, PDF_FILE, pdf).await?;
    let page = number.to_string();
    let arguments = ["sh", "-c", SCRIPT, "sh", page.as_str()];
    let execution = Execution {
        command: Command::Argv(arguments.map(str::to_owned).to_vec()),
        timeout: Some(MAX_TIME),
        ..Execution::default()
    };
    let report = sandbox.exec(owner, container, execution).await?;
    let pages = read_outcome(&report, number)?;
    let not_drawn = |why: &str| PdfPageError::NotDrawn {
        number,
        why: why.to_owned(),
    };
    let picture = match sandbox.get(owner, container, PICTURE_FILE).await {
        Err(SandboxError::FileNotFound { .. }) => {
            return Err(not_drawn("the program made no picture"));
        }
        found => found?,
    };
    if picture.size > MAX_PICTURE_BYTES {
        return Err(not_drawn("its picture is too large"));
    }
    let png = picture.read_up_to(MAX_PICTURE_BYTES).await;
    let png = png.map_err(|_| not_drawn("its picture cannot be read"))?;
    let is_side = |side: u32| (1..=MAX_SIDE).contains(&side);
    match dimensions(&png) {
        Some((width, height)) if is_side(width) && is_side(height) => Ok(PdfPage {
            png: Bytes::from(png),
            pages,
        }),
        Some(_) => Err(not_drawn("its picture is too large")),
        None => Err(not_drawn("the program's output is not a picture")),
    }
}

/// How many pages there are, if the page was drawn.
fn read_outcome(report: &ExecutionReport, number: u32) -> Result<u32, PdfPageError> {
    if report.outcome == PROGRAM_MISSING {
        return Err(PdfPageError::ProgramMissing);
    }
    let pages = page_count(&report.stdout.text);
    if let Some(pages) = pages.filter(|pages| number > *pages) {
        return Err(PdfPageError::NoSuchPage { number, pages });
    }
    let why = match report.outcome {
        CommandOutcome::Exit(0) => match pages {
            Some(pages) => return Ok(pages),
            None => "the program does not say how many pages it has".to_owned(),
        },
        CommandOutcome::Timeout => {
            format!("it takes longer than {} seconds", MAX_TIME.as_secs())
        }
        CommandOutcome::OutOfMemory => "it needs more memory than a command may use".to_owned(),
        outcome => quoted_error(&report.stderr.text).unwrap_or_else(|| outcome.to_string()),
    };
    Err(PdfPageError::NotDrawn { number, why })
}

/// The number that `pdfinfo` prints. Titles come before it and may have lines like it.
fn page_count(info: &str) -> Option<u32> {
    let mut lines = info.lines().rev();
    let number = lines.find_map(|line| line.strip_prefix("Pages:"))?;
    number.trim().parse().ok()
}

/// The first line about an error, or the first at all, for people.
fn quoted_error(stderr: &str) -> Option<String> {
    let mut lines = stderr.lines().map(str::trim);
    let first = lines.clone().find(|line| !line.is_empty());
    let line = lines.find(|line| line.contains("Error")).or(first)?;
    let shown = line.chars().filter(|character| !character.is_control());
    Some(shown.take(MAX_QUOTED_CHARS).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_does_not_change_the_number_of_pages() {
        let info = "Title:  a\nPages:  9\nAuthor: b\nPages:          3\nEncrypted:  no\n";
        assert_eq!(page_count(info), Some(3));
        for none in [
            "",
            "Pages: many\n",
            "Pages: 99999999999\n",
            "Title: Pages: 3\n",
        ] {
            assert_eq!(page_count(none), None, "{none:?}");
        }
    }

    #[test]
    fn one_line_of_what_the_program_prints_is_quoted() {
        let printed =
            "\nSyntax Warning: odd\nSyntax Error: no \x1b[31mtrailer\u{7}\nSyntax Error: b\n";
        assert_eq!(
            quoted_error(printed).as_deref(),
            Some("Syntax Error: no [31mtrailer")
        );
        assert_eq!(quoted_error("odd\n").as_deref(), Some("odd"));
        assert_eq!(quoted_error(" \n"), None);
        let long = quoted_error(&"x".repeat(9_999)).unwrap();
        assert_eq!(long.len(), MAX_QUOTED_CHARS);
    }
}
