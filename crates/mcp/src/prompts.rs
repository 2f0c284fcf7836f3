//! Prompts: one for every skill that users may invoke.

use crate::listeners::ListChanges;
use crate::model_text;
use crate::page::paginate;
use crate::session::McpSession;
use prowess_skill::{Skill, disclose};
use prowess_toolbox::skill_folder_path;
use rmcp::ErrorData;
use rmcp::model::{
    GetPromptRequestParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument,
    PromptMessage, Role,
};
use serde_json::Value;
use std::sync::Arc;

/// The one argument.
const TASK_ARGUMENT: &str = "task";

/// Placeholder for the task in a skill's instructions.
const ARGUMENTS_PLACEHOLDER: &str = "$ARGUMENTS";

/// Bytes of the hint for the argument in a list.
const MAX_HINT_BYTES: usize = 1 << 10;

/// Bytes of a skill's instructions in a prompt.
const MAX_BODY_BYTES: usize = 128 << 10;

/// Bytes of instructions with a task in them: they may repeat a long task thousands of times.
const MAX_FILLED_BYTES: usize = 8 << 20;

/// Words of a task that instructions can name.
const MAX_WORDS: usize = 100;

/// A page of all prompts.
pub(crate) async fn list(
    session: &McpSession,
    cursor: Option<&str>,
) -> Result<ListPromptsResult, ErrorData> {
    let skills = session.refresh().await?.user_invocable();
    let keyed = skills.iter().map(|skill| (skill.name.clone(), skill));
    let page = paginate(keyed, cursor, |_| 1)?;
    let prompts = page.items.into_iter().map(to_prompt).collect();
    let mut result = ListPromptsResult::with_all_items(prompts);
    result.next_cursor = page.next_cursor;
    Ok(result)
}

fn to_prompt(skill: &Arc<Skill>) -> Prompt {
    let hint = skill.invocation.argument_hint.as_deref();
    let hint = shorten_hint(hint.unwrap_or("The task for the skill."));
    let task = PromptArgument::new(TASK_ARGUMENT)
        .with_description(hint)
        .with_required(false);
    Prompt::new(&skill.name, Some(&skill.description), Some(vec![task]))
}

fn shorten_hint(hint: &str) -> String {
    if hint.len() <= MAX_HINT_BYTES {
        return hint.to_owned();
    }
    let kept = hint.get(..hint.floor_char_boundary(MAX_HINT_BYTES));
    format!("{}…", kept.unwrap_or_default())
}

/// A skill's instructions and the task. The skill is loaded too, so that its tools appear.
pub(crate) async fn get(
    session: &McpSession,
    params: &GetPromptRequestParams,
) -> Result<GetPromptResult, ErrorData> {
    let state = session.refresh().await?;
    let task = task_argument(params)?;
    let mut skills = state.user_invocable().into_iter();
    let skill = skills.find(|skill| skill.name == params.name);
    let skill = skill.ok_or_else(|| {
        let name: String = params.name.chars().take(200).collect();
        ErrorData::invalid_params(format!("prompt {name:?} not found"), None)
    })?;
    let before = state.toolbox.tool_count();
    let problems = state
        .toolbox
        .restore_loaded(std::slice::from_ref(&skill.name))
        .await;
    let changed = ListChanges {
        tools: state.toolbox.tool_count() != before,
        ..ListChanges::default()
    };
    session.listeners.notify_all(changed).await;
    let text = prompt_text(&skill, task, &problems)?;
    let message = PromptMessage::new_text(Role::User, text);
    Ok(GetPromptResult::new(vec![message]).with_description(&skill.description))
}

fn task_argument(params: &GetPromptRequestParams) -> Result<Option<&str>, ErrorData> {
    let given = params
        .arguments
        .as_ref()
        .and_then(|all| all.get(TASK_ARGUMENT));
    match given {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(task)) => Ok(Some(task)),
        Some(_) => {
            let message = format!("argument `{TASK_ARGUMENT}` must be a string");
            Err(ErrorData::invalid_params(message, None))
        }
    }
}

fn prompt_text(
    skill: &Skill,
    task: Option<&str>,
    problems: &[String],
) -> Result<String, ErrorData> {
    let folder = skill_folder_path(&skill.name);
    let body = disclose::body(skill, &folder, MAX_BODY_BYTES).text;
    let filled = insert_task(body.trim(), task.unwrap_or_default())?;
    let mut text = model_text::prompt_heading(&skill.name);
    text.push_str(filled.as_deref().unwrap_or(body.trim()));
    if skill.bundle.len() > 1 {
        text.push_str(&model_text::other_files(&skill.name));
    }
    for problem in problems {
        text.push_str(&model_text::problem(problem));
    }
    if let (Some(task), None) = (task, filled) {
        text.push_str(&model_text::task(task));
    }
    Ok(text)
}

/// The instructions with the task, or the word of it that `$ARGUMENTS[0]` counts, where their
/// author left a place for it; nothing if there is no such place.
fn insert_task(body: &str, task: &str) -> Result<Option<String>, ErrorData> {
    let mut parts = body.split(ARGUMENTS_PLACEHOLDER);
    let mut text = parts.next().unwrap_or_default().to_owned();
    let words = split_words(task);
    let mut has_place = false;
    for part in parts {
        has_place = true;
        let (value, rest) = match read_index(part) {
            Some((index, rest)) => (words.get(index).map_or("", String::as_str), rest),
            None => (task, part),
        };
        if text.len() + value.len() + rest.len() > MAX_FILLED_BYTES {
            let message = format!(
                "the instructions with this task have more than {MAX_FILLED_BYTES} bytes; \
                 shorten `{TASK_ARGUMENT}`"
            );
            return Err(ErrorData::invalid_params(message, None));
        }
        text.push_str(value);
        text.push_str(rest);
    }
    Ok(has_place.then_some(text))
}

/// The index in brackets at the start of a text, and the rest.
fn read_index(text: &str) -> Option<(usize, &str)> {
    let (index, rest) = text.strip_prefix('[')?.split_once(']')?;
    Some((index.parse().ok()?, rest))
}

/// The first words of a task; quotes hold several together, as in a shell.
fn split_words(task: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in task.chars() {
        if words.len() == MAX_WORDS {
            break;
        }
        match quote {
            Some(open) if c == open => quote = None,
            None if c.is_whitespace() => words.extend(word.take()),
            // Inside a word it is an apostrophe.
            None if word.is_none() && matches!(c, '"' | '\'') => {
                quote = Some(c);
                word = Some(String::new());
            }
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_goes_where_the_instructions_have_a_place_for_it() {
        for (body, expected) in [
            ("Fix $ARGUMENTS now.", Some("Fix 'my file' it's \"x\" now.")),
            (
                "$ARGUMENTS[0], $ARGUMENTS[1], $ARGUMENTS[2]",
                Some("my file, it's, x"),
            ),
            ("<$ARGUMENTS[7]>", Some("<>")),
            ("$ARGUMENTS[all]", Some("'my file' it's \"x\"[all]")),
            ("Costs $1.", None),
        ] {
            let filled = insert_task(body, "'my file' it's \"x\"").ok().flatten();
            assert_eq!(filled.as_deref(), expected, "{body}");
        }
    }

    #[test]
    fn a_task_that_is_repeated_too_often_is_refused() {
        let body = ARGUMENTS_PLACEHOLDER.repeat(1000);
        assert!(insert_task(&body, "short").is_ok());
        let error = insert_task(&body, &"x".repeat(1 << 20)).err();
        assert!(error.is_some_and(|error| error.message.contains("shorten `task`")));
    }
}
