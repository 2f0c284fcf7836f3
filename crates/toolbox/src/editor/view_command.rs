//! `view`: a file, some lines of it, or a folder.

use super::EditError;
use super::path::EditorPath;
use crate::folder::{DATA_FOLDER, SKILLS_FOLDER, skill_folder};
use crate::model_text;
use crate::outcome::ErrorCode;
use crate::toolbox::Toolbox;
use crate::view::ViewResult;
use bytes::Bytes;
use prowess_skill::Skill;
use serde_json::Value;
use std::sync::Arc;

/// Maximum number of files listed of a folder.
const MAX_LISTED_FILES: usize = 500;

pub(super) async fn view(
    toolbox: &Toolbox,
    path: &str,
    range: Option<&Value>,
) -> Result<ViewResult, EditError> {
    let range = range
        .filter(|range| !range.is_null())
        .map(read_range)
        .transpose()?;
    match EditorPath::parse(path)? {
        EditorPath::Data(file) => view_data(toolbox, &file, range).await,
        EditorPath::Skills => Ok(list_skills(toolbox)),
        EditorPath::Skill(folder, file) => view_skill(toolbox, &folder, &file, range),
    }
}

/// First and last line.
fn read_range(range: &Value) -> Result<(usize, usize), String> {
    let numbers: Option<Vec<i64>> = range
        .as_array()
        .map(|items| items.iter().filter_map(Value::as_i64).collect());
    let read = match numbers.as_deref() {
        Some([first, -1]) if *first >= 1 => {
            usize::try_from(*first).ok().map(|f| (f, usize::MAX - 1))
        }
        Some([first, last]) if *first >= 1 && last >= first => usize::try_from(*first)
            .ok()
            .zip(usize::try_from(*last).ok()),
        _ => None,
    };
    read.ok_or_else(|| model_text::WRONG_RANGE.into())
}

async fn view_data(
    toolbox: &Toolbox,
    file: &str,
    range: Option<(usize, usize)>,
) -> Result<ViewResult, EditError> {
    let workspace = toolbox
        .workspace()
        .ok_or(crate::ToolboxError::NoWorkspace)?;
    let files = workspace.list().await?;
    if files.iter().any(|known| known.path == file) {
        let bytes = workspace.get(file).await?;
        return Ok(view_content(toolbox, file, bytes.into(), range));
    }
    let files = files.iter().map(|file| (file.path.as_str(), file.size));
    list_folder(DATA_FOLDER, file, files)
}

fn view_skill(
    toolbox: &Toolbox,
    folder_name: &str,
    file: &str,
    range: Option<(usize, usize)>,
) -> Result<ViewResult, EditError> {
    let Some(skill) = skill_by_folder(toolbox, folder_name) else {
        let why = model_text::no_skill_at(&format!("{SKILLS_FOLDER}/{folder_name}"));
        return Err(EditError {
            code: ErrorCode::FileNotFound,
            why,
        });
    };
    if let Some(found) = skill.bundle.get(file) {
        return Ok(view_content(toolbox, file, found.data.clone(), range));
    }
    let files = skill.manifest.files().iter();
    let files = files.map(|file| (file.path.as_str(), file.size));
    list_folder(&format!("{SKILLS_FOLDER}/{folder_name}"), file, files)
}

fn skill_by_folder(toolbox: &Toolbox, folder: &str) -> Option<Arc<Skill>> {
    let state = toolbox.lock();
    let mut members = state.members.iter();
    let found = members.find(|member| skill_folder(&member.skill.name) == folder)?;
    Some(Arc::clone(&found.skill))
}

fn list_skills(toolbox: &Toolbox) -> ViewResult {
    let state = toolbox.lock();
    let folders = state
        .members
        .iter()
        .map(|m| format!("{SKILLS_FOLDER}/{}/", skill_folder(&m.skill.name)));
    let folders: Vec<String> = folders.take(MAX_LISTED_FILES).collect();
    ViewResult::Text(folders.join("\n"))
}

fn view_content(
    toolbox: &Toolbox,
    path: &str,
    data: Bytes,
    range: Option<(usize, usize)>,
) -> ViewResult {
    let caps = &toolbox.options().limits;
    match std::str::from_utf8(&data) {
        Ok(text) if !text.contains('\0') => ViewResult::lines(text, range, caps.text_bytes),
        _ => ViewResult::binary(path, data, caps.binary_bytes),
    }
}

/// Lists what is below a folder, with sizes.
fn list_folder<'a>(
    root: &str,
    folder: &str,
    files: impl Iterator<Item = (&'a str, u64)>,
) -> Result<ViewResult, EditError> {
    let below = match folder {
        "" => String::new(),
        folder => format!("{folder}/"),
    };
    let lines = files.filter(|(path, _)| path.starts_with(&below));
    let mut lines: Vec<String> = lines
        .map(|(path, size)| format!("{root}/{path} ({size} bytes)"))
        .collect();
    if lines.is_empty() && !folder.is_empty() {
        let why = model_text::no_such_file(&format!("{root}/{folder}"));
        return Err(EditError {
            code: ErrorCode::FileNotFound,
            why,
        });
    }
    let more = lines.len().saturating_sub(MAX_LISTED_FILES);
    lines.truncate(MAX_LISTED_FILES);
    if more > 0 {
        lines.push(model_text::unlisted_files(more));
    }
    if lines.is_empty() {
        lines.push(model_text::empty_folder(root));
    }
    Ok(ViewResult::Text(lines.join("\n")))
}
