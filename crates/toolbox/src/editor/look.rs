//! `view`: a file, some lines of it, or a folder.

use super::Refusal;
use super::place::Place;
use crate::folder::{DATA, SKILLS, folder_of};
use crate::outcome::ErrorCode;
use crate::toolbox::Toolbox;
use crate::view::Shown;
use bytes::Bytes;
use prowess_skill::Skill;
use serde_json::Value;
use std::sync::Arc;

/// Most files of a folder that are listed.
const MOST_LISTED: usize = 500;

pub(super) async fn view(
    toolbox: &Toolbox,
    path: &str,
    range: Option<&Value>,
) -> Result<Shown, Refusal> {
    let range = range
        .filter(|range| !range.is_null())
        .map(read_range)
        .transpose()?;
    match Place::of(path)? {
        Place::Data(file) => in_data(toolbox, &file, range).await,
        Place::Skills => Ok(skills(toolbox)),
        Place::Skill(folder, file) => in_skill(toolbox, &folder, &file, range),
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
    read.ok_or_else(|| {
        "argument `view_range` must be [first, last], counted from 1, with -1 for the end".into()
    })
}

async fn in_data(
    toolbox: &Toolbox,
    file: &str,
    range: Option<(usize, usize)>,
) -> Result<Shown, Refusal> {
    let workspace = toolbox
        .workspace()
        .ok_or(crate::ToolboxError::NoWorkspace)?;
    let files = workspace.list().await?;
    if files.iter().any(|known| known.path == file) {
        let bytes = workspace.get(file).await?;
        return Ok(content(toolbox, file, bytes.into(), range));
    }
    let files = files.iter().map(|file| (file.path.as_str(), file.size));
    folder(DATA, file, files)
}

fn in_skill(
    toolbox: &Toolbox,
    of: &str,
    file: &str,
    range: Option<(usize, usize)>,
) -> Result<Shown, Refusal> {
    let Some(skill) = by_folder(toolbox, of) else {
        let why = format!("there is no skill at {SKILLS}/{of}");
        return Err(Refusal {
            code: ErrorCode::FileNotFound,
            why,
        });
    };
    if let Some(found) = skill.bundle.get(file) {
        return Ok(content(toolbox, file, found.data.clone(), range));
    }
    let files = skill.manifest.files().iter();
    let files = files.map(|file| (file.path.as_str(), file.size));
    folder(&format!("{SKILLS}/{of}"), file, files)
}

fn by_folder(toolbox: &Toolbox, folder: &str) -> Option<Arc<Skill>> {
    let state = toolbox.lock();
    let mut members = state.members.iter();
    let found = members.find(|member| folder_of(&member.skill.name) == folder)?;
    Some(Arc::clone(&found.skill))
}

fn skills(toolbox: &Toolbox) -> Shown {
    let state = toolbox.lock();
    let folders = state
        .members
        .iter()
        .map(|m| format!("{SKILLS}/{}/", folder_of(&m.skill.name)));
    let folders: Vec<String> = folders.take(MOST_LISTED).collect();
    Shown::Text(folders.join("\n"))
}

fn content(toolbox: &Toolbox, path: &str, data: Bytes, range: Option<(usize, usize)>) -> Shown {
    let caps = &toolbox.options().caps;
    match std::str::from_utf8(&data) {
        Ok(text) if !text.contains('\0') => Shown::lines(text, range, caps.text),
        _ => Shown::binary(path, data, caps.binary),
    }
}

/// Lists what is below a folder, with sizes.
fn folder<'a>(
    root: &str,
    folder: &str,
    files: impl Iterator<Item = (&'a str, u64)>,
) -> Result<Shown, Refusal> {
    let below = match folder {
        "" => String::new(),
        folder => format!("{folder}/"),
    };
    let lines = files.filter(|(path, _)| path.starts_with(&below));
    let mut lines: Vec<String> = lines
        .map(|(path, size)| format!("{root}/{path} ({size} bytes)"))
        .collect();
    if lines.is_empty() && !folder.is_empty() {
        let why = format!("there is no file {root}/{folder}");
        return Err(Refusal {
            code: ErrorCode::FileNotFound,
            why,
        });
    }
    let more = lines.len().saturating_sub(MOST_LISTED);
    lines.truncate(MOST_LISTED);
    if more > 0 {
        lines.push(format!("[{more} more files are not listed]"));
    }
    if lines.is_empty() {
        lines.push(format!("[{root} is empty]"));
    }
    Ok(Shown::Text(lines.join("\n")))
}
