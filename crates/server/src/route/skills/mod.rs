//! `/v1/skills`: one file per verb.

mod archive;
mod compare;
mod content;
mod create;
mod delete;
mod get;
mod import;
mod labelled;
mod labels;
mod list;
mod overlap;
mod search;
mod search_ranked;
mod set_default;
mod upload;
mod usage;
mod version_field;
mod versions;

use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::MethodRouter;

use crate::anthropic_skills;
use crate::app::App;
use crate::openapi::operation::OperationResponse::{self, Object};
use crate::openapi::operation::{Operation, OperationBody, Operations};
use crate::openapi::parameters as query;
use crate::route::table::mounts::VENDORS;
use crate::route::table::row::{
    BuildHandler, ObjectKind, PathNames, RouteAction, RouteMethod, RouteRow, RouteSetup,
    limit_body, on,
};

/// Space for a form's own lines: names, types and boundaries of many small files.
const FORM_BYTES: u64 = 4 << 20;
/// A body with a few fields.
const JSON_BYTES: usize = 64 << 10;

const SKILLS: &str = "/skills";
const SKILL: &str = "/skills/{skill}";
const VERSIONS: &str = "/skills/{skill}/versions";
const VERSION: &str = "/skills/{skill}/versions/{version}";
const LABEL: &str = "/skills/{skill}/labels/{label}";
const ZIP: OperationResponse = OperationResponse::Bytes("application/zip");
const CREATES: PathNames = PathNames::Nothing("creates an object of the tenant");

pub(super) static ROUTES: &[RouteRow] = &[
    row(
        RouteMethod::Get,
        SKILLS,
        |method, setup| divertible(on(method, list::list), setup),
        Operations::each(
            LIST.query(query::ANTHROPIC_SKILLS),
            LIST.query(query::OPENAI_SKILLS),
        ),
        PathNames::OwnList,
    ),
    row(
        RouteMethod::Post,
        SKILLS,
        |method, setup| divertible(on(method, create::create), setup),
        Operations::both(
            Operation::new("Create a skill", Object("Skill")).body(OperationBody::Skill),
        ),
        CREATES,
    ),
    row(
        RouteMethod::Get,
        "/skills/search",
        |method, setup| divertible(on(method, search_ranked::search_ranked), setup),
        Operations::both(
            Operation::new(
                "Rank skills for a task, with the words that match",
                OperationResponse::Json,
            )
            .query(query::SKILL_SEARCH),
        ),
        PathNames::Nothing("a test asks for the words of another tenant"),
    ),
    row(
        RouteMethod::Get,
        "/skills/overlap",
        |method, setup| divertible(on(method, overlap::overlap), setup),
        Operations::both(
            Operation::new(
                "List skills that are found for each other's queries, the worst first",
                OperationResponse::Json,
            )
            .query(query::SKILL_OVERLAP),
        ),
        PathNames::Nothing("a test asks for a skill of another tenant"),
    ),
    row(
        RouteMethod::Post,
        "/skills/import",
        |method, setup| small_json(on(method, import::import), setup),
        Operations::both(
            Operation::new(
                "Create skills and versions from what a URL names",
                OperationResponse::Json,
            )
            .body(OperationBody::SkillImport),
        ),
        CREATES,
    ),
    row(
        RouteMethod::Get,
        "/skills/usage",
        |method, setup| divertible(on(method, usage::usage), setup),
        Operations::both(
            Operation::new(
                "List how often skills were offered, loaded and used in runs",
                OperationResponse::Json,
            )
            .query(query::SKILL_USAGE),
        ),
        PathNames::Nothing("own skills only; tests/gateway/skill_usage.rs"),
    ),
    row(
        RouteMethod::Get,
        SKILL,
        |method, setup| divertible(on(method, get::get), setup),
        Operations::both(Operation::new("Get a skill", Object("Skill"))),
        NAMES_SKILL,
    ),
    row(
        RouteMethod::Delete,
        SKILL,
        |method, setup| divertible(on(method, delete::delete), setup),
        Operations::both(Operation::new("Delete a skill", Object("Deleted"))),
        NAMES_SKILL,
    ),
    row(
        RouteMethod::Post,
        SKILL,
        |method, setup| small_json(on(method, set_default::set_default), setup),
        Operations::both(
            Operation::new("Set the default version", Object("Skill"))
                .body(OperationBody::DefaultVersion),
        ),
        NAMES_SKILL,
    ),
    row(
        RouteMethod::Get,
        "/skills/{skill}/content",
        |method, setup| divertible(on(method, content::content), setup),
        Operations::both(Operation::new("Download the default version", ZIP)),
        NAMES_SKILL,
    ),
    row(
        RouteMethod::Get,
        "/skills/{skill}/compare",
        |method, setup| divertible(on(method, compare::compare), setup),
        Operations::both(
            Operation::new("Compare two versions", OperationResponse::Json)
                .query(query::SKILL_COMPARE),
        ),
        NAMES_SKILL,
    ),
    row(
        RouteMethod::Get,
        "/skills/{skill}/labels",
        |method, setup| divertible(on(method, labels::list::list), setup),
        Operations::both(Operation::new(
            "List the labels of a skill",
            OperationResponse::Json,
        )),
        NAMES_SKILL,
    ),
    row(
        RouteMethod::Post,
        LABEL,
        |method, setup| small_json(on(method, labels::set::set), setup),
        Operations::both(
            Operation::new(
                "Create a label, or move it to another version",
                OperationResponse::Json,
            )
            .body(OperationBody::LabelTarget),
        ),
        NAMES_LABEL,
    ),
    row(
        RouteMethod::Delete,
        LABEL,
        |method, setup| divertible(on(method, labels::delete::delete), setup),
        Operations::both(Operation::new("Delete a label", OperationResponse::Json)),
        NAMES_LABEL,
    ),
    row(
        RouteMethod::Get,
        VERSIONS,
        |method, setup| divertible(on(method, versions::list::list), setup),
        Operations::each(
            LIST_VERSIONS.query(query::ANTHROPIC_PAGE),
            LIST_VERSIONS.query(query::OPENAI_PAGE),
        ),
        NAMES_SKILL,
    ),
    row(
        RouteMethod::Post,
        VERSIONS,
        |method, setup| divertible(on(method, versions::create::create), setup),
        Operations::both(
            Operation::new("Create a version", Object("Version")).body(OperationBody::Skill),
        ),
        NAMES_SKILL,
    ),
    row(
        RouteMethod::Get,
        VERSION,
        |method, setup| divertible(on(method, versions::get::get), setup),
        Operations::both(Operation::new("Get a version", Object("Version"))),
        NAMES_VERSION,
    ),
    row(
        RouteMethod::Delete,
        VERSION,
        |method, setup| divertible(on(method, versions::delete::delete), setup),
        Operations::both(Operation::new("Delete a version", Object("Deleted"))),
        NAMES_VERSION,
    ),
    row(
        RouteMethod::Post,
        VERSION,
        |method, setup| small_json(on(method, versions::update::update), setup),
        Operations::both(
            Operation::new("Set the notes of a version", Object("Version"))
                .body(OperationBody::VersionNotes),
        ),
        NAMES_VERSION,
    ),
    row(
        RouteMethod::Post,
        "/skills/{skill}/versions/{version}/revoke",
        |method, setup| small_json(on(method, versions::revoke::revoke), setup),
        Operations::both(
            Operation::new("Revoke a version: nothing can use it", Object("Version"))
                .body(OperationBody::Revocation),
        ),
        NAMES_VERSION,
    ),
    row(
        RouteMethod::Post,
        "/skills/{skill}/versions/{version}/restore",
        |method, setup| small_json(on(method, versions::restore::restore), setup),
        Operations::both(Operation::new(
            "Restore a revoked version",
            Object("Version"),
        )),
        NAMES_VERSION,
    ),
    row(
        RouteMethod::Get,
        "/skills/{skill}/versions/{version}/content",
        |method, setup| divertible(on(method, versions::content::content), setup),
        Operations::both(Operation::new("Download the files of a version", ZIP)),
        NAMES_VERSION,
    ),
    row(
        RouteMethod::Get,
        "/skills/{skill}/versions/{version}/files",
        |method, setup| divertible(on(method, versions::files::files), setup),
        Operations::both(Operation::new(
            "List the files of a version, with sizes and digests",
            OperationResponse::Json,
        )),
        NAMES_VERSION,
    ),
    row(
        RouteMethod::Get,
        "/skills/{skill}/versions/{version}/file",
        |method, setup| divertible(on(method, versions::file::file), setup),
        Operations::both(
            Operation::new(
                "Download a file of a version",
                OperationResponse::Bytes("application/octet-stream"),
            )
            .query(query::SKILL_FILE),
        ),
        NAMES_VERSION,
    ),
    row(
        RouteMethod::Get,
        "/skills/{skill}/versions/{version}/preview",
        |method, setup| divertible(on(method, versions::preview::preview), setup),
        Operations::both(
            Operation::new(
                "Draw a page of a PDF file of a version",
                OperationResponse::Bytes("image/png"),
            )
            .query(query::SKILL_FILE_PAGE),
        ),
        NAMES_VERSION,
    ),
];

const LIST: Operation = Operation::new("List or search skills", Object("SkillList"));
const LIST_VERSIONS: Operation = Operation::new("List versions", Object("VersionList"));
const NAMES_SKILL: PathNames = PathNames::Objects(&[ObjectKind::Skill]);
const NAMES_LABEL: PathNames = PathNames::Objects(&[ObjectKind::Skill, ObjectKind::Label]);
const NAMES_VERSION: PathNames = PathNames::Objects(&[ObjectKind::Skill, ObjectKind::Version]);

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
        mounts: VENDORS,
        action: RouteAction::Handler(handler),
        operations,
        names,
    }
}

/// A handler of a small body, of skills stored here.
fn small_json(handler: MethodRouter<App>, setup: &RouteSetup<'_>) -> MethodRouter<App> {
    divertible(handler.layer(DefaultBodyLimit::max(JSON_BYTES)), setup)
}

/// A handler of skills stored here: requests for Anthropic's skills do not reach it.
fn divertible(handler: MethodRouter<App>, setup: &RouteSetup<'_>) -> MethodRouter<App> {
    let limits = &setup.app.settings().skill_limits;
    let body = limits.total_bytes.max(limits.archive_bytes) + FORM_BYTES;
    let divert = from_fn_with_state(setup.app.clone(), anthropic_skills::divert);
    let handler: MethodRouter<App> = handler.layer(divert);
    limit_body(handler, body)
}
