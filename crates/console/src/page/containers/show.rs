//! `GET /console/containers/{container}`

use askama::Template;
use axum::extract::Path;
use axum::response::Response;

use super::answer::{ContainerAnswer, ContainerFileAnswer, ContainerPage};
use crate::api::PageError;
use crate::layout::{Layout, Nav};
use crate::query::{QueryFields, segment, with_query};
use crate::render::html;
use crate::visitor::Visitor;

/// Files on a page.
const PAGE_SIZE: &str = "100";

#[derive(Template)]
#[template(path = "container.html")]
struct OneContainerPage {
    layout: Layout,
    container: ContainerAnswer,
    files: Vec<ContainerFileAnswer>,
    next: Option<String>,
}

pub(crate) async fn show(
    visitor: Visitor,
    Path(container): Path<String>,
    QueryFields(query): QueryFields,
) -> Result<Response, PageError> {
    let path = format!("/v1/containers/{}", segment(&container));
    let container: ContainerAnswer = visitor.api.get(&path).await?;
    let pairs = [("limit", Some(PAGE_SIZE)), ("after", query.get("after"))];
    let list = with_query(&format!("{path}/files"), &pairs);
    let files: ContainerPage<ContainerFileAnswer> = visitor.api.get(&list).await?;
    let next = files.next();
    let next = next.map(|last| with_query(&container.url(), &[("after", Some(last))]));
    let title = format!("Container {}", container.label());
    Ok(html(&OneContainerPage {
        layout: Layout::new(&visitor, title, Nav::Containers).with_curl(&list),
        next,
        files: files.data,
        container,
    }))
}
