//! The tab with the files of a version, and one of them.

use askama::Template;

use super::tab::{TabContext, render_tab};
use crate::api::PageError;
use crate::format::bytes;
use crate::preview::{Preview, skill_file_url};
use crate::query::with_query;
use crate::skill_archive::load_bundle;

/// Files that are listed; the archive has the rest.
const MAX_FILES: usize = 500;

#[derive(Template)]
#[template(path = "skill_files.html")]
struct FilesTab {
    /// Why there is nothing to show.
    missing: Option<String>,
    files: Vec<FileLink>,
    /// Files that are not listed.
    left_out: usize,
    /// The chosen file.
    name: String,
    preview: Option<Preview>,
    download: String,
}

struct FileLink {
    href: String,
    path: String,
    size: String,
    is_executable: bool,
    is_current: bool,
}

pub(super) async fn render(context: &TabContext<'_>) -> Result<String, PageError> {
    let (skill, number) = (&context.skill.id, &context.version.number);
    let mut tab = FilesTab {
        missing: None,
        files: Vec::new(),
        left_out: 0,
        name: String::new(),
        preview: None,
        download: format!("{}/download", context.version.href),
    };
    let bundle = match load_bundle(&context.visitor.api, skill, number).await {
        // A revoked version has no files for anybody.
        Err(error) if error.status.is_client_error() => {
            tab.missing = Some(error.message);
            return render_tab(&tab);
        }
        other => other?,
    };
    let main = bundle.skill_file().as_str();
    let chosen = context.query.get("file").unwrap_or(main);
    for (path, file) in bundle.files().take(MAX_FILES) {
        let path = path.as_str();
        let pairs = [("tab", Some("files")), ("file", Some(path))];
        tab.files.push(FileLink {
            href: with_query(context.here, &pairs),
            path: path.to_owned(),
            size: bytes(file.data.len() as u64),
            is_executable: file.executable,
            is_current: path == chosen,
        });
    }
    tab.left_out = bundle.len().saturating_sub(MAX_FILES);
    let file = bundle.get(chosen);
    let file = file.ok_or_else(|| {
        let chosen = chosen.escape_debug();
        PageError::not_found(format!("version {number} has no file `{chosen}`"))
    })?;
    let url = skill_file_url(skill, number, chosen);
    tab.preview = Some(Preview::new(chosen, url, &file.data, true));
    tab.name = chosen.to_owned();
    render_tab(&tab)
}
