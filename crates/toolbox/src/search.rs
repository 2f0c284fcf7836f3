//! `list_skills` and `search_skills`.

use crate::arguments::{ArgumentNames, required_text};
use crate::catalogue::{self, loadable};
use crate::folder::SKILLS_FOLDER;
use crate::model_text;
use crate::outcome::{ErrorCode, NativeCall, ToolOutcome};
use crate::rank;
use crate::spec::Member;
use crate::view::{self, ViewResult};
use prowess_skill::disclose::catalogue_entry;
use serde_json::Value;

/// Maximum number of skills that a search returns.
const MAX_RESULTS: usize = 50;

/// Bytes of one entry.
const MAX_ENTRY_BYTES: usize = 1024;

/// `list_skills()`.
pub(crate) fn list_skills(members: &[Member], max_bytes: usize) -> ToolOutcome {
    let text = match catalogue(members, max_bytes) {
        text if text.is_empty() => model_text::NO_SKILLS.into(),
        text => text,
    };
    view::view_outcome(SKILLS_FOLDER, ViewResult::Text(text))
}

/// A line per skill, and how to find those that do not fit.
pub(crate) fn catalogue(members: &[Member], max_bytes: usize) -> String {
    let catalogue = catalogue::render_catalogue(members, max_bytes);
    let mut text = catalogue.text;
    if catalogue.omitted > 0 {
        text.push_str(&model_text::omitted_skills(catalogue.omitted));
        text.push('\n');
    }
    text
}

/// `search_skills(query, limit?)`.
pub(crate) fn search_skills(members: &[Member], input: &Value) -> ToolOutcome {
    let query = match required_text(input, ArgumentNames::QUERY) {
        Ok(query) => query,
        Err(why) => return refusal(&why),
    };
    let limit = match input.get("limit").or_else(|| input.get("top_k")) {
        None | Some(Value::Null) => 10,
        Some(limit) => match limit.as_u64() {
            Some(limit) if limit > 0 => usize::try_from(limit)
                .unwrap_or(MAX_RESULTS)
                .min(MAX_RESULTS),
            _ => return refusal(model_text::WRONG_LIMIT),
        },
    };
    let skills: Vec<_> = loadable(members).map(|m| &*m.skill).collect();
    let found = rank::rank(&skills, &query, limit);
    let lines: Vec<String> = found
        .iter()
        .map(|s| catalogue_entry(s, MAX_ENTRY_BYTES))
        .collect();
    let text = if lines.is_empty() {
        model_text::no_match(&query, skills.len())
    } else {
        lines.join("\n")
    };
    view::view_outcome(SKILLS_FOLDER, ViewResult::Text(text))
}

fn refusal(why: &str) -> ToolOutcome {
    let native = NativeCall::Editor {
        input: view::view_input(SKILLS_FOLDER),
        result: view::error_result(ErrorCode::InvalidToolInput, why),
    };
    ToolOutcome::error(format!("Error: {why}"), native)
}
