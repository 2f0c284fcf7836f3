//! `text_editor_code_execution`: view, create and edit files.
//!
//! What can be seen is `/mnt/data` and `/skills`; what can be changed is `/mnt/data`.
//! Results have the shapes of the official SDKs.

mod edit;
mod edit_error;
mod path;
mod view_command;

use crate::allowed_tools::Action;
use crate::arguments::{ArgumentNames, required_text};
use crate::error::ToolboxError;
use crate::fetch::fetch;
use crate::outcome::{NativeCall, ToolOutcome};
use crate::spec::ToolboxLimits;
use crate::state::SharedState;
use crate::workspace::Workspace;
use crate::{model_text, schema, view};
use edit_error::EditError;
use path::EditorPath;
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

/// The editor of one toolbox.
#[derive(Debug, Default)]
pub(crate) struct FileEditor {
    /// Held while a file is edited, because that is a read and a write.
    edit_lock: tokio::sync::Mutex<()>,
}

impl FileEditor {
    /// `text_editor_code_execution(command, path, …)`.
    pub(crate) async fn call(
        &self,
        state: &SharedState,
        workspace: Option<&Workspace>,
        limits: &ToolboxLimits,
        input: &Value,
    ) -> ToolOutcome {
        match self.dispatch(state, workspace, limits, input).await {
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

    async fn dispatch(
        &self,
        state: &SharedState,
        workspace: Option<&Workspace>,
        limits: &ToolboxLimits,
        input: &Value,
    ) -> Result<ToolOutcome, EditError> {
        schema::check(&input_schema(), input)?;
        let (command, path) = (
            required_text(input, ArgumentNames::COMMAND)?,
            required_text(input, ArgumentNames::PATH)?,
        );
        if command == "view" {
            let range = input.get("view_range");
            if let Ok(EditorPath::Skill(folder, _)) = EditorPath::parse(&path) {
                fetch(state, workspace, &folder).await?;
            }
            let members = state.members();
            let shown = view_command::view(&members, workspace, limits, &path, range).await?;
            return Ok(view::outcome_for_input(input.clone(), shown));
        }
        state.check_permitted(&Action::Write)?;
        let workspace = workspace.ok_or(ToolboxError::NoWorkspace)?;
        let _editing = self.edit_lock.lock().await;
        match command.as_str() {
            "create" => edit::create(workspace, input, &path).await,
            _ => edit::str_replace(workspace, input, &path).await,
        }
    }
}
