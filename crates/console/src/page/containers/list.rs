//! `GET /console/containers`

use askama::Template;
use axum::response::Response;

use super::answer::{ContainerAnswer, ContainerPage};
use crate::api::PageError;
use crate::layout::{Layout, Nav};
use crate::query::{QueryFields, with_query};
use crate::render::html;
use crate::visitor::Visitor;

/// Containers on a page.
const PAGE_SIZE: &str = "50";

#[derive(Template)]
#[template(path = "containers.html")]
struct ContainersPage {
    layout: Layout,
    containers: Vec<ContainerAnswer>,
    next: Option<String>,
    is_first: bool,
}

pub(crate) async fn list(
    visitor: Visitor,
    QueryFields(query): QueryFields,
) -> Result<Response, PageError> {
    let after = query.get("after");
    let path = with_query(
        "/v1/containers",
        &[("limit", Some(PAGE_SIZE)), ("after", after)],
    );
    let found: ContainerPage<ContainerAnswer> = visitor.api.get(&path).await?;
    let next = found.next();
    let next = next.map(|last| with_query("/console/containers", &[("after", Some(last))]));
    Ok(html(&ContainersPage {
        layout: Layout::new(&visitor, "Containers", Nav::Containers).with_curl(&path),
        next,
        is_first: after.is_none(),
        containers: found.data,
    }))
}
