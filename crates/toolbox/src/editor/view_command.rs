//! `view`: a file, some lines of it, or a folder.

use super::edit_error::EditError;
use super::path::EditorPath;
use crate::error::ToolboxError;
use crate::folder::{DATA_FOLDER, SKILLS_FOLDER, skill_folder, spelled_path};
use crate::model_text;
use crate::outcome::ErrorCode;
use crate::spec::{Member, ToolboxLimits};
use crate::text::prefix_within;
use crate::view::ViewResult;
use crate::workspace::Workspace;
use bytes::Bytes;
use prowess_skill::Skill;
use serde_json::Value;

/// Maximum number of files listed of a folder.
const MAX_LISTED_FILES: usize = 500;

pub(super) async fn view(
    members: &[Member],
    workspace: Option<&Workspace>,
    limits: &ToolboxLimits,
    path: &str,
    range: Option<&Value>,
) -> Result<ViewResult, EditError> {
    let range = range
        .filter(|range| !range.is_null())
        .map(read_range)
        .transpose()?;
    match EditorPath::parse(path)? {
        EditorPath::Data(file) => view_data(workspace, limits, &file, range).await,
        EditorPath::Skills => Ok(list_skills(members)),
        EditorPath::Skill(folder, file) => view_skill(members, limits, &folder, &file, range),
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
    workspace: Option<&Workspace>,
    limits: &ToolboxLimits,
    file: &str,
    range: Option<(usize, usize)>,
) -> Result<ViewResult, EditError> {
    let workspace = workspace.ok_or(ToolboxError::NoWorkspace)?;
    let listed = workspace.list_counted().await?;
    if listed.files.iter().any(|known| known.path == file) {
        drop(listed);
        let counted = workspace.get_counted(file, 1).await?;
        return Ok(view_content(limits, file, counted.content.into(), range));
    }
    let files = listed.files.iter();
    let files = files.map(|file| (file.path.as_str(), file.size));
    list_folder(DATA_FOLDER, file, files)
}

fn view_skill(
    members: &[Member],
    limits: &ToolboxLimits,
    folder_name: &str,
    file: &str,
    range: Option<(usize, usize)>,
) -> Result<ViewResult, EditError> {
    let Some(skill) = skill_by_folder(members, folder_name) else {
        let why = model_text::no_skill_at(&format!("{SKILLS_FOLDER}/{folder_name}"));
        return Err(EditError {
            code: ErrorCode::FileNotFound,
            why,
        });
    };
    let file = spelled_path(skill, file);
    if let Some(found) = skill.bundle.get(file) {
        return Ok(view_content(limits, file, found.data.clone(), range));
    }
    let files = skill.manifest.files().iter();
    let files = files.map(|file| (file.path.as_str(), file.size));
    list_folder(&format!("{SKILLS_FOLDER}/{folder_name}"), file, files)
}

fn skill_by_folder<'a>(members: &'a [Member], folder: &str) -> Option<&'a Skill> {
    let mut members = members.iter();
    let found = members.find(|member| skill_folder(&member.skill.name) == folder)?;
    Some(&found.skill)
}

fn list_skills(members: &[Member]) -> ViewResult {
    let folders = members
        .iter()
        .map(|m| format!("{SKILLS_FOLDER}/{}/", skill_folder(&m.skill.name)));
    let folders: Vec<String> = folders.take(MAX_LISTED_FILES).collect();
    ViewResult::Text(folders.join("\n"))
}

fn view_content(
    limits: &ToolboxLimits,
    path: &str,
    data: Bytes,
    range: Option<(usize, usize)>,
) -> ViewResult {
    match std::str::from_utf8(&data) {
        Ok(text) if !text.contains('\0') => view_lines(text, range, limits.text_bytes),
        _ => ViewResult::binary(path, data, limits.binary_bytes),
    }
}

/// The lines of a text in a range.
fn view_lines(text: &str, range: Option<(usize, usize)>, cap: usize) -> ViewResult {
    let total = text.lines().count();
    let Some((first, last)) = range else {
        let (kept, left) = (prefix_within(text, cap), text.len());
        if kept.len() == left {
            return ViewResult::Text(text.to_owned());
        }
        let shown = kept.lines().count();
        let note = model_text::cut_lines_note(kept.len(), left, shown, total);
        let text = format!("{kept}\n{note}");
        return ViewResult::Lines {
            text,
            first: 1,
            total,
        };
    };
    // A file may have millions of lines, so only those that are shown are copied.
    let selected = || {
        let lines = text.lines().skip(first.saturating_sub(1));
        lines.take((last + 1).saturating_sub(first))
    };
    let length = selected().map(|line| line.len() + 1).sum::<usize>();
    let length = length.saturating_sub(1);
    let mut text = String::new();
    for (index, line) in selected().enumerate() {
        if text.len() > cap {
            break;
        }
        if index > 0 {
            text.push('\n');
        }
        // More than the cap, if there is more.
        text.push_str(prefix_within(line, cap.saturating_add(4)));
    }
    if length > cap {
        let kept = prefix_within(&text, cap);
        let note = model_text::cut_note(kept.len(), length);
        text = format!("{kept}\n{note}");
    }
    ViewResult::Lines { text, first, total }
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
