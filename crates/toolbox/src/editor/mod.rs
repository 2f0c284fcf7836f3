//! `text_editor_code_execution`: view, create and edit files.
//!
//! What can be seen is `/mnt/data` and `/skills`; what can be changed is `/mnt/data`.
//! Results have the shapes of the official SDKs.

mod edit;
mod path;
mod view_command;

use crate::allowed_tools::Action;
use crate::arguments::{ArgumentNames, required_text};
use crate::outcome::{ErrorCode, ToolOutcome};
use crate::toolbox::Toolbox;
use crate::view::{self, ViewResult};
use crate::{NativeCall, model_text, run};
use serde_json::{Value, json};

pub(crate) const NAME: &str = "text_editor_code_execution";

pub(crate) fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "command": { "type": "string", "enum": ["view", "create", "str_replace"] },
            "path": { "type": "string", "description": model_text::editor_path() },
            "view_range": {
                "type": "array", "items": { "type": "integer" },
                "description": model_text::VIEW_RANGE,
            },
            "file_text": { "type": "string", "description": model_text::FILE_TEXT },
            "old_str": { "type": "string", "description": model_text::OLD_STR },
            "new_str": { "type": "string", "description": model_text::NEW_STR },
        },
        "required": ["command", "path"],
        "additionalProperties": false,
    })
}

/// Why an edit failed.
#[derive(Debug)]
struct EditError {
    code: ErrorCode,
    why: String,
}

impl From<String> for EditError {
    fn from(why: String) -> Self {
        Self {
            code: ErrorCode::InvalidToolInput,
            why,
        }
    }
}

impl From<crate::ToolboxError> for EditError {
    fn from(error: crate::ToolboxError) -> Self {
        Self {
            code: run::error_code(&error),
            why: error.to_string(),
        }
    }
}

pub(crate) async fn call(toolbox: &Toolbox, input: &Value) -> ToolOutcome {
    match dispatch(toolbox, input).await {
        Ok(outcome) => outcome,
        Err(EditError { code, why }) => {
            let result = view::error_result(code, &why);
            let input = input.clone();
            ToolOutcome::error(
                format!("Error: {why}"),
                NativeCall::Editor { input, result },
            )
        }
    }
}

async fn dispatch(toolbox: &Toolbox, input: &Value) -> Result<ToolOutcome, EditError> {
    crate::schema::check(&input_schema(), input)?;
    let (command, path) = (
        required_text(input, ArgumentNames::COMMAND)?,
        required_text(input, ArgumentNames::PATH)?,
    );
    if command == "view" {
        let shown = view_command::view(toolbox, &path, input.get("view_range")).await?;
        return Ok(view::outcome_for_input(input.clone(), shown));
    }
    toolbox.check_permitted(&Action::Write)?;
    let _editing = toolbox.edit_lock.lock().await;
    match command.as_str() {
        "create" => edit::create(toolbox, input, &path).await,
        _ => edit::str_replace(toolbox, input, &path).await,
    }
}

impl ViewResult {
    /// The lines of a text in a range.
    fn lines(text: &str, range: Option<(usize, usize)>, cap: usize) -> Self {
        let total = text.lines().count();
        let Some((first, last)) = range else {
            let (kept, left) = (crate::text::prefix_within(text, cap), text.len());
            if kept.len() == left {
                return Self::Text(text.to_owned());
            }
            let shown = kept.lines().count();
            let note = model_text::cut_lines_note(kept.len(), left, shown, total);
            let text = format!("{kept}\n{note}");
            return Self::Lines {
                text,
                first: 1,
                total,
            };
        };
        let selected = text.lines().skip(first.saturating_sub(1));
        let selected: Vec<&str> = selected.take((last + 1).saturating_sub(first)).collect();
        let text = selected.join("\n");
        let kept = crate::text::prefix_within(&text, cap);
        let text = if kept.len() == text.len() {
            text
        } else {
            let note = model_text::cut_note(kept.len(), text.len());
            format!("{kept}\n{note}")
        };
        Self::Lines { text, first, total }
    }
}
