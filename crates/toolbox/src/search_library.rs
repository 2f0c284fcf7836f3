//! `search_skills` of a toolbox with a library: results are few and short, because a model
//! reads them all.

use crate::arguments::{ArgumentNames, required_text};
use crate::folder::SKILLS_FOLDER;
use crate::model_text;
use crate::outcome::{ErrorCode, NativeCall, ToolOutcome};
use crate::skill_library::SkillLibrary;
use crate::view::{self, ViewResult};
use prowess_skill::control_tokens::neutralise;
use serde_json::Value;

/// Bytes of a query.
const MAX_QUERY_BYTES: usize = 2_000;
/// Skills that a search returns, and how many unless the model chooses.
const MAX_RESULTS: usize = 10;
const DEFAULT_RESULTS: usize = 5;

/// `search_skills(query, limit?)`.
pub(crate) async fn search_skills(library: &dyn SkillLibrary, input: &Value) -> ToolOutcome {
    let (query, limit) = match read_arguments(input) {
        Ok(arguments) => arguments,
        Err(why) => return refusal(ErrorCode::InvalidToolInput, &why),
    };
    let lines = match library.search(&query, limit).await {
        Ok(lines) => lines,
        Err(why) => return refusal(ErrorCode::Unavailable, &why),
    };
    let text = if lines.is_empty() {
        model_text::no_stored_match(&query)
    } else {
        lines.join("\n")
    };
    let text = neutralise(&text).into_owned();
    view::view_outcome(SKILLS_FOLDER, ViewResult::Text(text))
}

fn read_arguments(input: &Value) -> Result<(String, usize), String> {
    let query = required_text(input, ArgumentNames::QUERY)?;
    if query.trim().is_empty() {
        return Err(model_text::EMPTY_QUERY.into());
    }
    if query.len() > MAX_QUERY_BYTES {
        return Err(model_text::query_too_long(query.len(), MAX_QUERY_BYTES));
    }
    let limit = match input.get("limit").or_else(|| input.get("top_k")) {
        None | Some(Value::Null) => DEFAULT_RESULTS,
        Some(limit) => match limit.as_u64().map(usize::try_from) {
            Some(Ok(limit)) if limit > 0 => limit.min(MAX_RESULTS),
            _ => return Err(model_text::WRONG_LIMIT.into()),
        },
    };
    Ok((query, limit))
}

fn refusal(code: ErrorCode, why: &str) -> ToolOutcome {
    let native = NativeCall::Editor {
        input: view::view_input(SKILLS_FOLDER),
        result: view::error_result(code, why),
    };
    ToolOutcome::error(format!("Error: {why}"), native)
}
