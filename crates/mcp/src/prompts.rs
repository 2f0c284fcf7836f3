//! Prompts: one for every skill that users may invoke.

use crate::listeners::ListChanges;
use crate::model_text;
use crate::page::paginate;
use crate::session::McpSession;
use prowess_skill::{Skill, disclose};
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

/// Bytes of a skill's instructions in a prompt.
const MAX_BODY_BYTES: usize = 128 << 10;

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
    let hint = skill.invocation.argument_hint.clone();
    let hint = hint.unwrap_or_else(|| "The task for the skill.".to_owned());
    let task = PromptArgument::new(TASK_ARGUMENT)
        .with_description(hint)
        .with_required(false);
    Prompt::new(&skill.name, Some(&skill.description), Some(vec![task]))
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
    let before = state.toolbox.tools().len();
    let problems = state
        .toolbox
        .restore_loaded(std::slice::from_ref(&skill.name))
        .await;
    let changed = ListChanges {
        tools: state.toolbox.tools().len() != before,
        ..ListChanges::default()
    };
    session.listeners.notify_all(changed).await;
    let text = prompt_text(&skill, task, &problems);
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

fn prompt_text(skill: &Skill, task: Option<&str>, problems: &[String]) -> String {
    let body = disclose::body(skill, MAX_BODY_BYTES).text;
    let mut text = model_text::prompt_heading(&skill.name);
    if body.contains(ARGUMENTS_PLACEHOLDER) {
        let body = body.replace(ARGUMENTS_PLACEHOLDER, task.unwrap_or_default());
        text.push_str(body.trim());
    } else {
        text.push_str(body.trim());
    }
    if skill.bundle.len() > 1 {
        text.push_str(&model_text::other_files(&skill.name));
    }
    for problem in problems {
        text.push_str(&model_text::problem(problem));
    }
    if let (Some(task), false) = (task, body.contains(ARGUMENTS_PLACEHOLDER)) {
        text.push_str(&model_text::task(task));
    }
    text
}
