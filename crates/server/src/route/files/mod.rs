//! `/v1/files`: one file per verb. Files stored by a provider are in [`provider_files`].

mod content;
mod create;
mod delete;
mod get;
mod google;
mod list;
mod preview;
mod provider_files;

use axum::routing::MethodRouter;

pub(super) use provider_files::{FileShape, ProviderFileRequest};

use crate::app::App;
use crate::openapi::operation::OperationResponse::{self, Object};
use crate::openapi::operation::{ApiMount, Operation, OperationBody, Operations};
use crate::openapi::parameters as query;
use crate::route::table::mounts::{GOOGLE_ONLY, VENDORS_AND_ROOT};
use crate::route::table::row::{
    BuildHandler, ObjectKind, PathNames, RouteAction, RouteMethod, RouteRow, RouteSetup,
    limit_body, on,
};

/// Space for the form around the file.
const FORM_BYTES: u64 = 1 << 20;

pub(super) static ROUTES: &[RouteRow] = &[
    row(
        RouteMethod::Get,
        "/files",
        |method, setup| with_body_limit(on(method, list::list), setup),
        Operations::each(
            LIST.query(query::ANTHROPIC_FILES),
            LIST.query(query::OPENAI_FILES),
        ),
        PathNames::OwnList,
    ),
    row(
        RouteMethod::Post,
        "/files",
        |method, setup| with_body_limit(on(method, create::create), setup),
        Operations::each(
            UPLOAD.body(OperationBody::File),
            UPLOAD.body(OperationBody::FileWithPurpose(&create::PURPOSES)),
        ),
        PathNames::Nothing("creates an object of the tenant"),
    ),
    row(
        RouteMethod::Get,
        FILE,
        |method, setup| with_body_limit(on(method, get::get), setup),
        Operations::both(GET),
        NAMES_FILE,
    ),
    row(
        RouteMethod::Delete,
        FILE,
        |method, setup| with_body_limit(on(method, delete::delete), setup),
        Operations::both(Operation::new("Delete a file", Object("Deleted"))),
        NAMES_FILE,
    ),
    row(
        RouteMethod::Get,
        "/files/{file}/content",
        |method, setup| with_body_limit(on(method, content::content), setup),
        Operations::both(DOWNLOAD),
        NAMES_FILE,
    ),
    row(
        RouteMethod::Get,
        "/files/{file}/preview",
        |method, setup| with_body_limit(on(method, preview::preview), setup),
        Operations::both(PREVIEW.query(query::PDF_PAGE)),
        NAMES_FILE,
    ),
    // Files created by runs, at the paths of Google's API.
    RouteRow {
        method: RouteMethod::Get,
        path: FILE,
        mounts: GOOGLE_ONLY,
        action: RouteAction::Handler(|method, _| on(method, google::get)),
        operations: Operations::only(ApiMount::Gemini, GET),
        names: NAMES_FILE,
    },
    // The router does not match a part of a segment.
    RouteRow {
        method: RouteMethod::Get,
        path: "/files/{file}:download",
        mounts: GOOGLE_ONLY,
        action: RouteAction::ServedBy(FILE),
        operations: Operations::only(ApiMount::Gemini, DOWNLOAD),
        names: NAMES_FILE,
    },
];

const FILE: &str = "/files/{file}";
const LIST: Operation = Operation::new("List files", Object("FileList"));
const UPLOAD: Operation = Operation::new("Upload a file", Object("File"));
const GET: Operation = Operation::new("Get a file", Object("File"));
const DOWNLOAD: Operation = Operation::new("Download a file", OperationResponse::Bytes("*/*"));
const PREVIEW: Operation = Operation::new(
    "Draw a page of a PDF file",
    OperationResponse::Bytes("image/png"),
);
const NAMES_FILE: PathNames = PathNames::Objects(&[ObjectKind::File]);

const fn row(
    method: RouteMethod,
    path: &'static str,
    handler: BuildHandler,
    operations: Operations,
    names: PathNames,
) -> RouteRow {
    RouteRow {
        method,
        path,
        mounts: VENDORS_AND_ROOT,
        action: RouteAction::Handler(handler),
        operations,
        names,
    }
}

/// Limits bodies to a file and the form around it.
fn with_body_limit(handler: MethodRouter<App>, setup: &RouteSetup<'_>) -> MethodRouter<App> {
    let body = setup.app.settings().file_bytes.saturating_add(FORM_BYTES);
    limit_body(handler, body)
}
