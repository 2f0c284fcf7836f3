//! `create` and `str_replace`.

use super::edit_error::EditError;
use super::path::EditorPath;
use crate::error::ToolboxError;
use crate::folder::DATA_FOLDER;
use crate::model_text;
use crate::outcome::{ErrorCode, NativeCall, ToolOutcome};
use crate::text::cut_end;
use crate::workspace::Workspace;
use prowess_sandbox::collect::mime_type;
use prowess_sandbox::{Error as SandboxError, SandboxOutput};
use prowess_skill::manifest::Digest;
use serde_json::{Value, json};

/// Bytes of a changed line that are shown. Data, and code made small, can be one line of many MB.
const MAX_LINE_BYTES: usize = 2 << 10;
/// Changed lines that are shown.
const MAX_LINES: usize = 1_000;
/// How often a file is in memory while it is changed: before, after, and twice to be written.
const EDIT_COPIES: u64 = 4;

pub(super) async fn create(
    workspace: &Workspace,
    input: &Value,
    path: &str,
) -> Result<ToolOutcome, EditError> {
    let content = required_argument(input, "file_text")?;
    let path = EditorPath::parse_writable(path)?;
    let listed = workspace.list_counted().await?;
    let is_update = listed.files.iter().any(|file| file.path == path);
    drop(listed);
    let output = write(workspace, &path, content).await?;
    let text = model_text::file_written(&path, is_update, output.size);
    let result = json!({
        "type": "text_editor_code_execution_create_result",
        "is_file_update": is_update,
    });
    Ok(edit_outcome(text, input, result, output))
}

pub(super) async fn str_replace(
    workspace: &Workspace,
    input: &Value,
    path: &str,
) -> Result<ToolOutcome, EditError> {
    let old = required_argument(input, "old_str")?;
    let new = input
        .get("new_str")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let path = EditorPath::parse_writable(path)?;
    let counted = match workspace.get_counted(&path, EDIT_COPIES).await {
        Ok(counted) => counted,
        Err(ToolboxError::Sandbox(SandboxError::FileNotFound { .. })) => {
            let why = model_text::no_such_file(&format!("{DATA_FOLDER}/{path}"));
            return Err(EditError {
                code: ErrorCode::FileNotFound,
                why,
            });
        }
        Err(error) => return Err(error.into()),
    };
    let before = std::str::from_utf8(&counted.content).map_err(|_| model_text::not_text(&path))?;
    let place = find_unique(before, old, &path)?;
    let after = before.replacen(old, new, 1);
    let output = write(workspace, &path, &after).await?;
    let change = LineChange::between(before, &after, place, old, new);
    let text = format!(
        "{DATA_FOLDER}/{path} is changed from line {}:\n{}",
        change.first,
        change.lines().join("\n")
    );
    Ok(edit_outcome(text, input, change.result(), output))
}

/// The position of the only occurrence.
fn find_unique(text: &str, old: &str, path: &str) -> Result<usize, String> {
    if old.is_empty() {
        return Err(model_text::EMPTY_OLD_STR.into());
    }
    let mut places = text.match_indices(old);
    match (places.next(), places.count()) {
        (Some((at, _)), 0) => Ok(at),
        (Some(_), more) => Err(model_text::ambiguous_old_str(path, more + 1)),
        (None, _) => Err(model_text::missing_old_str(path)),
    }
}

/// The changed lines.
struct LineChange {
    /// The number of the first.
    first: usize,
    old: Vec<String>,
    new: Vec<String>,
}

impl LineChange {
    fn between(before: &str, after: &str, at: usize, old: &str, new: &str) -> Self {
        let first = before.get(..at).unwrap_or_default().matches('\n').count();
        let lines = |text: &str, part: &str| {
            let count = (part.matches('\n').count() + 1).min(MAX_LINES);
            let lines = text.split('\n').skip(first).take(count);
            lines.map(|line| cut_end(line, MAX_LINE_BYTES)).collect()
        };
        Self {
            first: first + 1,
            old: lines(before, old),
            new: lines(after, new),
        }
    }

    /// The lines in diff form.
    fn lines(&self) -> Vec<String> {
        let old = self.old.iter().map(|line| format!("-{line}"));
        old.chain(self.new.iter().map(|line| format!("+{line}")))
            .collect()
    }

    fn result(&self) -> Value {
        json!({
            "type": "text_editor_code_execution_str_replace_result",
            "lines": self.lines(),
            "old_start": self.first,
            "old_lines": self.old.len(),
            "new_start": self.first,
            "new_lines": self.new.len(),
        })
    }
}

fn required_argument<'a>(input: &'a Value, name: &str) -> Result<&'a str, String> {
    let value = input.get(name).and_then(Value::as_str);
    value.ok_or_else(|| model_text::missing_argument(name))
}

async fn write(
    workspace: &Workspace,
    path: &str,
    text: &str,
) -> Result<SandboxOutput, ToolboxError> {
    let bytes = text.as_bytes();
    workspace.put(path, bytes.to_vec()).await?;
    Ok(SandboxOutput {
        path: path.to_owned(),
        size: bytes.len() as u64,
        mime_type: mime_type(path, bytes.get(..512).unwrap_or(bytes)).to_owned(),
        sha256: Digest::from_content(bytes).hex(),
    })
}

fn edit_outcome(text: String, input: &Value, result: Value, output: SandboxOutput) -> ToolOutcome {
    let input = input.clone();
    let mut outcome = ToolOutcome::text(text, NativeCall::Editor { input, result });
    outcome.outputs.push(output);
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_long_lines_and_of_many_only_the_beginning_is_shown() {
        let before = format!("a\n{}old\nb\n", "x".repeat(1 << 20));
        let after = before.replacen("old", "new", 1);
        let at = before.find("old").unwrap();
        let change = LineChange::between(&before, &after, at, "old", "new");
        let shown = change.lines();
        assert_eq!((change.first, shown.len()), (2, 2));
        assert!(shown.iter().all(|line| line.len() < 2 * MAX_LINE_BYTES));
        let new = "\n".repeat(1 << 20);
        let after = before.replacen("old", &new, 1);
        let change = LineChange::between(&before, &after, at, "old", &new);
        assert_eq!(change.lines().len(), 1 + MAX_LINES);
    }
}
