//! Files as pages show them. Whatever is in a file is hostile: images are loaded by `<img>` from
//! `/console/raw/…`, pages of PDF files are pictures that the server has drawn in the sandbox,
//! tables and texts are made here and escaped by templates, and everything else is offered as a
//! download. Nothing here runs or fetches anything.
//!
//! | module | owns |
//! |---|---|
//! | `kind` | what a file is, by its first bytes and its name |
//! | `csv` | the beginning of a table |
//! | `excerpt` | the beginning of a text |
//! | `ansi` | output of programs, with its colours |
//! | `pdf` | a page of a PDF file, or why there is none |
//! | `place` | addresses of previews, and of pages of PDF files |
//! | `show` | the routes that send previews, as parts of pages or as pages |
//! | `picture` | the routes that send pictures of pages of PDF files |
//! | `raw` | the routes that send files as they are, under a policy of their own |

mod ansi;
mod csv;
mod excerpt;
mod kind;
mod pdf;
mod picture;
mod place;
mod raw;
mod show;

use askama::Template;
use axum::Router;

pub(crate) use ansi::terminal_html;
pub(crate) use csv::CsvTable;
pub(crate) use excerpt::TextExcerpt;
pub(crate) use kind::PreviewKind;
pub(crate) use pdf::PdfPlace;
pub(crate) use place::{container_file_preview_url, file_preview_url, skill_pdf};
pub(crate) use raw::{container_file_url, file_url, skill_file_url};
pub(crate) use show::read_beginning;

use pdf::{MissingPage, PdfView};

use crate::api::{Api, PageError};
use crate::format::bytes;
use crate::state::ConsoleState;

/// The routes of files and of their previews.
pub(crate) fn routes() -> Router<ConsoleState> {
    raw::routes().merge(picture::routes()).merge(show::routes())
}

/// What a page shows of a file. Templates show it by `{{ preview|safe }}`: it escapes itself.
#[derive(Debug, Template)]
#[template(path = "preview.html")]
pub(crate) struct Preview {
    name: String,
    /// Where its bytes are, below `/console/raw/`.
    url: String,
    /// Of the whole file, if it is known.
    size: Option<String>,
    body: PreviewBody,
}

/// The part of a file that is shown.
#[derive(Debug)]
enum PreviewBody {
    Image,
    Table(CsvTable),
    Text(TextExcerpt),
    Pdf(PdfView),
    /// Only a link, and why.
    Download(&'static str),
}

impl Preview {
    /// Shows a file. `content` may be only its beginning; then `is_whole` is false.
    pub(crate) fn new(
        name: impl Into<String>,
        url: impl Into<String>,
        content: &[u8],
        is_whole: bool,
    ) -> Preview {
        let name = name.into();
        let body = match PreviewKind::detect(&name, content) {
            PreviewKind::Image(_) => PreviewBody::Image,
            PreviewKind::Csv => {
                PreviewBody::Table(CsvTable::read(&String::from_utf8_lossy(content), is_whole))
            }
            PreviewKind::Text => PreviewBody::Text(TextExcerpt::new(
                &String::from_utf8_lossy(content),
                is_whole,
            )),
            PreviewKind::Pdf => PreviewBody::Pdf(PdfView::Missing(MissingPage {
                why: "its pages were not drawn".to_owned(),
                command: None,
            })),
            PreviewKind::Other if content.is_empty() => PreviewBody::Download("The file is empty"),
            PreviewKind::Other => PreviewBody::Download("Files of this kind are not shown"),
        };
        Preview {
            name,
            url: url.into(),
            size: None,
            body,
        }
    }

    /// Shows this page of the file, if it is a PDF file. Until now nothing of it was drawn.
    pub(crate) async fn with_page(
        self,
        api: &Api,
        place: &PdfPlace,
        number: u32,
    ) -> Result<Preview, PageError> {
        if !matches!(self.body, PreviewBody::Pdf(_)) {
            return Ok(self);
        }
        Ok(Preview {
            body: PreviewBody::Pdf(place.view(api, number).await?),
            ..self
        })
    }

    /// Says how large the whole file is.
    pub(crate) fn with_size(self, size: u64) -> Preview {
        Preview {
            size: Some(bytes(size)),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(name: &str, content: &[u8]) -> String {
        let preview = Preview::new(name, "/console/raw/files/file_1", content, true);
        preview.render().unwrap()
    }

    #[test]
    fn each_kind_of_file_is_shown_in_its_own_way() {
        let png = shown("chart.png", b"\x89PNG\r\n\x1a\n\0\0");
        assert!(png.contains("<img") && png.contains("src=\"/console/raw/files/file_1\""));
        let csv = shown("a.csv", b"name,count\nAda,3\n");
        assert!(csv.contains("<th scope=\"col\">name</th>") && csv.contains("<td>Ada</td>"));
        let pdf = shown("a.pdf", b"%PDF-1.7\n");
        assert!(!pdf.contains("<img") && pdf.contains("?download"));
        assert!(pdf.contains("its pages were not drawn") && !pdf.contains("<iframe"));
        let sized = Preview::new("a.pdf", "/console/raw/files/file_1", b"%PDF-1.7\n", true);
        let sized = sized.with_size(1_234_000).render().unwrap();
        assert!(sized.contains("Download a.pdf (1.2 MB)"), "{sized}");
        let text = shown("a.txt", b"one\ntwo\n");
        assert!(text.contains("<pre") && text.contains("one\ntwo"));
    }

    #[test]
    fn nothing_of_a_file_becomes_html() {
        let hostile = b"<script>alert(1)</script>,\"><img src=x onerror=alert(1)>\n1,2\n";
        for name in ["<b>.csv", "<b>.txt", "<b>.svg", "<b>.html", "<b>.bin"] {
            let shown = shown(name, hostile);
            assert!(!shown.contains("<script"), "{shown}");
            assert!(!shown.contains("<b>"), "{shown}");
            assert!(!shown.contains("<img"), "{shown}");
        }
    }
}
