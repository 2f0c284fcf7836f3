//! The tab with the files of a version, and one of them.

use askama::Template;

use super::tab::{TabContext, render_tab};
use crate::api::PageError;
use crate::format::bytes;
use crate::preview::{Preview, read_beginning, skill_file_url, skill_pdf};
use crate::query::with_query;
use crate::skill_archive::{SkillFileEntry, list_files, open_file};

/// Files that are listed; the archive has the rest.
const MAX_FILES: usize = 500;
/// The file that is shown first, however its author spelled it.
const MAIN_FILE: &str = "SKILL.md";

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
    let api = &context.visitor.api;
    let files = match list_files(api, skill, number).await {
        // A revoked version has no files for anybody.
        Err(error) if error.status.is_client_error() => {
            tab.missing = Some(error.message);
            return render_tab(&tab);
        }
        other => other?,
    };
    let is_main = |file: &&SkillFileEntry| file.path.eq_ignore_ascii_case(MAIN_FILE);
    let main = files.iter().find(is_main).or(files.first());
    let chosen = context.query.get("file");
    let chosen = chosen.or(main.map(|file| file.path.as_str()));
    let chosen = chosen.unwrap_or(MAIN_FILE);
    for file in files.iter().take(MAX_FILES) {
        let path = file.path.as_str();
        let pairs = [("tab", Some("files")), ("file", Some(path))];
        tab.files.push(FileLink {
            href: with_query(context.here, &pairs),
            path: path.to_owned(),
            size: bytes(file.size_bytes),
            is_executable: file.executable,
            is_current: path == chosen,
        });
    }
    tab.left_out = files.len().saturating_sub(MAX_FILES);
    let file = files.iter().find(|file| file.path == chosen);
    let file = file.ok_or_else(|| {
        let chosen = chosen.escape_debug();
        PageError::not_found(format!("version {number} has no file `{chosen}`"))
    })?;
    let content = open_file(api, skill, number, chosen).await?;
    let (content, is_whole) = read_beginning(content.into_body()).await?;
    let url = skill_file_url(skill, number, chosen);
    let here = with_query(
        context.here,
        &[("tab", Some("files")), ("file", Some(chosen))],
    );
    let pdf = skill_pdf(skill, number, chosen, &here);
    let page = context.query.number("page")?.unwrap_or(1);
    let preview = Preview::new(chosen, url, &content, is_whole).with_size(file.size_bytes);
    tab.preview = Some(preview.with_page(api, &pdf, page).await?);
    tab.name = chosen.to_owned();
    render_tab(&tab)
}
