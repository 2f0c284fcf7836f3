//! Addresses of previews, and of the pages of PDF files: where the API draws them, and where the
//! console shows them.

use super::pdf::PdfPlace;
use crate::query::{segment, with_query};

/// The address of the preview of a stored file.
pub(crate) fn file_preview_url(file: &str) -> String {
    format!("/console/preview/files/{}", segment(file))
}

/// The address of the preview of a file in a container.
pub(crate) fn container_file_preview_url(container: &str, file: &str) -> String {
    let (container, file) = (segment(container), segment(file));
    format!("/console/preview/containers/{container}/{file}")
}

/// The pages of a stored file.
pub(super) fn stored_pdf(file: &str) -> PdfPlace {
    let id = segment(file);
    PdfPlace {
        api: format!("/v1/files/{id}/preview"),
        picture: format!("/console/picture/files/{id}"),
        here: file_preview_url(file),
    }
}

/// The pages of a file in a container.
pub(super) fn container_pdf(container: &str, file: &str) -> PdfPlace {
    let here = container_file_preview_url(container, file);
    let (container, file) = (segment(container), segment(file));
    PdfPlace {
        api: format!("/v1/containers/{container}/files/{file}/preview"),
        picture: format!("/console/picture/containers/{container}/{file}"),
        here,
    }
}

/// The pages of a file of a skill, which the page `here` shows.
pub(crate) fn skill_pdf(skill: &str, version: &str, path: &str, here: &str) -> PdfPlace {
    let (skill, version) = (segment(skill), segment(version));
    let api = format!("/v1/skills/{skill}/versions/{version}/preview");
    let parts: Vec<String> = path.split('/').map(segment).collect();
    PdfPlace {
        api: with_query(&api, &[("path", Some(path))]),
        picture: format!(
            "/console/picture/skills/{skill}/{version}/{}",
            parts.join("/")
        ),
        here: here.to_owned(),
    }
}
