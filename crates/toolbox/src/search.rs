//! `list_skills` and `search_skills`.

use crate::arguments::{Reads, text};
use crate::catalogue::{self, offered};
use crate::outcome::{ErrorCode, Native, Outcome};
use crate::rank;
use crate::toolbox::Toolbox;
use crate::view::{self, Shown};
use prowess_skill::disclose::catalogue_entry;
use serde_json::Value;

/// Most skills that a search returns.
const MOST: usize = 50;

/// Most bytes of one of them.
const LONGEST: usize = 1024;

/// `list_skills()`.
pub(crate) fn list(toolbox: &Toolbox) -> Outcome {
    let text = match catalogue(toolbox, toolbox.options().caps.result) {
        text if text.is_empty() => "There are no skills.".into(),
        text => text,
    };
    view::outcome("/skills", Shown::Text(text))
}

/// A line per skill, and how to find those that do not fit.
pub(crate) fn catalogue(toolbox: &Toolbox, budget: usize) -> String {
    let state = toolbox.lock();
    let catalogue = catalogue::write(&state.members, budget);
    let mut text = catalogue.text;
    if catalogue.left_out > 0 {
        text.push_str(&format!("({} more: search for them)\n", catalogue.left_out));
    }
    text
}

/// `search_skills(query, limit?)`.
pub(crate) fn call(toolbox: &Toolbox, input: &Value) -> Outcome {
    let query = match text(input, Reads::QUERY) {
        Ok(query) => query,
        Err(why) => return refused(&why),
    };
    let limit = match input.get("limit").or_else(|| input.get("top_k")) {
        None | Some(Value::Null) => 10,
        Some(limit) => match limit.as_u64() {
            Some(limit) if limit > 0 => usize::try_from(limit).unwrap_or(MOST).min(MOST),
            _ => return refused("argument `limit` must be a number from 1 on"),
        },
    };
    let state = toolbox.lock();
    let skills: Vec<_> = offered(&state.members).map(|m| &*m.skill).collect();
    let found = rank::best(&skills, &query, limit);
    let lines: Vec<String> = found.iter().map(|s| catalogue_entry(s, LONGEST)).collect();
    let text = match lines.is_empty() {
        true => format!(
            "No skill is about {query:?}. There are {} skills; try other words.",
            skills.len()
        ),
        false => lines.join("\n"),
    };
    view::outcome("/skills", Shown::Text(text))
}

fn refused(why: &str) -> Outcome {
    let native = Native::Editor {
        input: view::input("/skills"),
        result: view::error(ErrorCode::InvalidToolInput, why),
    };
    Outcome::error(format!("Error: {why}"), native)
}
