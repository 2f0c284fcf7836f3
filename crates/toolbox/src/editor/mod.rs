//! `text_editor_code_execution`: view, create and edit files.
//!
//! What can be seen is `/mnt/data` and `/skills`; what can be changed is `/mnt/data`.
//! Results have the shapes of the official SDKs.

mod change;
mod look;
mod place;

use crate::arguments::{Reads, text};
use crate::outcome::{ErrorCode, Outcome};
use crate::permit::Action;
use crate::toolbox::Toolbox;
use crate::view::{self, Shown};
use crate::{Native, run};
use serde_json::{Value, json};

pub(crate) const NAME: &str = "text_editor_code_execution";

pub(crate) const DESCRIPTION: &str = "View, create and edit files. `view` shows a file or lists \
    a folder, in /mnt/data or in /skills; `create` writes a file and `str_replace` replaces the \
    one place where `old_str` stands, in /mnt/data only.";

pub(crate) fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "command": { "type": "string", "enum": ["view", "create", "str_replace"] },
            "path": { "type": "string", "description": "An absolute path, or one relative to /mnt/data." },
            "view_range": {
                "type": "array", "items": { "type": "integer" },
                "description": "For view: first and last line, counted from 1; -1 is the end.",
            },
            "file_text": { "type": "string", "description": "For create: the whole content." },
            "old_str": { "type": "string", "description": "For str_replace: text that stands in the file once." },
            "new_str": { "type": "string", "description": "For str_replace: what to put in its place." },
        },
        "required": ["command", "path"],
        "additionalProperties": false,
    })
}

/// Why an edit came to nothing.
#[derive(Debug)]
struct Refusal {
    code: ErrorCode,
    why: String,
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Self {
            code: ErrorCode::InvalidToolInput,
            why,
        }
    }
}

impl From<crate::ToolboxError> for Refusal {
    fn from(error: crate::ToolboxError) -> Self {
        Self {
            code: run::code_of(&error),
            why: error.to_string(),
        }
    }
}

pub(crate) async fn call(toolbox: &Toolbox, input: &Value) -> Outcome {
    match dispatch(toolbox, input).await {
        Ok(outcome) => outcome,
        Err(Refusal { code, why }) => {
            let result = view::error(code, &why);
            let input = input.clone();
            Outcome::error(format!("Error: {why}"), Native::Editor { input, result })
        }
    }
}

async fn dispatch(toolbox: &Toolbox, input: &Value) -> Result<Outcome, Refusal> {
    crate::schema::check(&input_schema(), input)?;
    let (command, path) = (text(input, Reads::COMMAND)?, text(input, Reads::PATH)?);
    if command == "view" {
        let shown = look::view(toolbox, &path, input.get("view_range")).await?;
        return Ok(view::outcome_of(input.clone(), shown));
    }
    toolbox.permit(&Action::Write)?;
    let _editing = toolbox.editing.lock().await;
    match command.as_str() {
        "create" => change::create(toolbox, input, &path).await,
        _ => change::str_replace(toolbox, input, &path).await,
    }
}

impl Shown {
    /// Some lines of a text, as a range names them.
    fn lines(text: &str, range: Option<(usize, usize)>, cap: usize) -> Self {
        let total = text.lines().count();
        let Some((first, last)) = range else {
            let (kept, left) = (crate::text::start(text, cap), text.len());
            if kept.len() == left {
                return Self::Text(text.to_owned());
            }
            let shown = kept.lines().count();
            let text = format!(
                "{kept}\n[cut here: {} of {left} bytes shown, up to line {shown} of {total}; use view_range]",
                kept.len()
            );
            return Self::Lines {
                text,
                first: 1,
                total,
            };
        };
        let wanted = text.lines().skip(first.saturating_sub(1));
        let wanted: Vec<&str> = wanted.take((last + 1).saturating_sub(first)).collect();
        let text = wanted.join("\n");
        let kept = crate::text::start(&text, cap);
        let text = match kept.len() == text.len() {
            true => text,
            false => format!(
                "{kept}\n[cut here: {} of {} bytes shown]",
                kept.len(),
                text.len()
            ),
        };
        Self::Lines { text, first, total }
    }
}
