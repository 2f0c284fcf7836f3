//! A page of a PDF file, as the server's API has it drawn in the sandbox: neither a browser's
//! viewer nor this process reads the file. Here are only the picture's address, the number of
//! pages, or why there is no picture.

use axum::body::Body;
use http::{HeaderName, Request, StatusCode};
use serde_json::Value;

use crate::api::{Api, PageError, error_message};

/// How many pages the file has, in an answer of the API.
const PAGES_HEADER: HeaderName = HeaderName::from_static("prowess-pages");
/// The API's code when the runtime lacks the programs.
const PROGRAM_MISSING: &str = "preview-program-missing";
/// Installs a runtime that has them.
const INSTALL: &str = "prowess runtime install full";
/// Bytes of an error that is read.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// Where a PDF file and its pages are. Addresses are without the number of a page.
pub(crate) struct PdfPlace {
    /// The route of the API that draws pages.
    pub(crate) api: String,
    /// The console's own address of the pictures.
    pub(crate) picture: String,
    /// The page of the console that shows them.
    pub(crate) here: String,
}

/// What is shown of a PDF file.
#[derive(Debug)]
pub(super) enum PdfView {
    Page(PdfPageView),
    Missing(MissingPage),
}

/// One page, and the way to the others.
#[derive(Debug)]
pub(super) struct PdfPageView {
    pub(super) picture: String,
    pub(super) number: u32,
    pub(super) pages: u32,
    pub(super) previous: Option<String>,
    pub(super) next: Option<String>,
}

/// Why there is no picture.
#[derive(Debug)]
pub(super) struct MissingPage {
    pub(super) why: String,
    /// What an operator can do about it.
    pub(super) command: Option<&'static str>,
}

impl PdfPlace {
    /// Has a page drawn, so that its picture is there when the browser asks for it.
    pub(super) async fn view(&self, api: &Api, number: u32) -> Result<PdfView, PageError> {
        let answer = api.exchange(self.request(number)?).await;
        if answer.status() == StatusCode::OK {
            let pages = answer.headers().get(&PAGES_HEADER);
            let pages = pages.and_then(|pages| pages.to_str().ok()?.parse().ok());
            return Ok(PdfView::Page(self.page(number, pages.unwrap_or(number))));
        }
        let body = axum::body::to_bytes(answer.into_body(), MAX_ERROR_BYTES).await;
        let body: Value = serde_json::from_slice(&body.unwrap_or_default()).unwrap_or_default();
        let code = body.pointer("/error/code").and_then(Value::as_str);
        let why = error_message(&body);
        Ok(PdfView::Missing(MissingPage {
            why: why.unwrap_or_else(|| "its pages cannot be drawn".to_owned()),
            command: (code == Some(PROGRAM_MISSING)).then_some(INSTALL),
        }))
    }

    /// The request to the API for the picture of a page.
    pub(super) fn request(&self, number: u32) -> Result<Request<Body>, PageError> {
        let request = Request::get(numbered(&self.api, number)).body(Body::empty());
        request.map_err(|_| PageError::bad_request("this address does not name a file"))
    }

    fn page(&self, number: u32, pages: u32) -> PdfPageView {
        let previous = number.checked_sub(1).filter(|previous| *previous > 0);
        let next = number.checked_add(1).filter(|next| *next <= pages);
        PdfPageView {
            picture: numbered(&self.picture, number),
            number,
            pages,
            previous: previous.map(|number| numbered(&self.here, number)),
            next: next.map(|number| numbered(&self.here, number)),
        }
    }
}

/// An address with the number of a page.
fn numbered(address: &str, number: u32) -> String {
    let mark = if address.contains('?') { '&' } else { '?' };
    format!("{address}{mark}page={number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_leads_to_its_neighbours() {
        let place = PdfPlace {
            api: String::new(),
            picture: "/console/picture/files/file_1".to_owned(),
            here: "/console/skills/skill_1?tab=files&file=a.pdf".to_owned(),
        };
        let first = place.page(1, 3);
        assert_eq!(first.picture, "/console/picture/files/file_1?page=1");
        assert_eq!(first.previous, None);
        let next = "/console/skills/skill_1?tab=files&file=a.pdf&page=2";
        assert_eq!(first.next.as_deref(), Some(next));
        let last = place.page(3, 3);
        assert_eq!(last.previous.as_deref(), Some(next));
        assert_eq!(last.next, None);
    }
}
