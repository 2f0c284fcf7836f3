//! Prompts: one for every skill that people may start.

use crate::desk::Desk;
use crate::listeners::Changed;
use crate::page::page;
use prowess_skill::{Skill, disclose};
use rmcp::ErrorData;
use rmcp::model::{
    GetPromptRequestParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument,
    PromptMessage, Role,
};
use serde_json::Value;
use std::sync::Arc;

/// The one argument.
const TASK: &str = "task";

/// Where people's words go in instructions that have a place for them.
const PLACE: &str = "$ARGUMENTS";

/// Most bytes of a skill's instructions in a prompt.
const LONGEST: usize = 128 << 10;

/// A page of all prompts.
pub(crate) async fn list(
    desk: &Desk,
    cursor: Option<&str>,
) -> Result<ListPromptsResult, ErrorData> {
    let skills = desk.refreshed().await?.for_people();
    let keyed = skills.iter().map(|skill| (skill.name.clone(), skill));
    let page = page(keyed, cursor, |_| 1)?;
    let prompts = page.items.into_iter().map(told).collect();
    let mut result = ListPromptsResult::with_all_items(prompts);
    result.next_cursor = page.next;
    Ok(result)
}

fn told(skill: &Arc<Skill>) -> Prompt {
    let hint = skill.invocation.argument_hint.clone();
    let hint = hint.unwrap_or_else(|| "What is to be done with the skill.".to_owned());
    let task = PromptArgument::new(TASK)
        .with_description(hint)
        .with_required(false);
    Prompt::new(&skill.name, Some(&skill.description), Some(vec![task]))
}

/// A skill's instructions, and the task. As a person wants the skill, it is loaded too, and
/// its tools appear.
pub(crate) async fn get(
    desk: &Desk,
    params: &GetPromptRequestParams,
) -> Result<GetPromptResult, ErrorData> {
    let open = desk.refreshed().await?;
    let task = argument(params)?;
    let mut skills = open.for_people().into_iter();
    let skill = skills.find(|skill| skill.name == params.name);
    let skill = skill.ok_or_else(|| {
        let name: String = params.name.chars().take(200).collect();
        ErrorData::invalid_params(format!("there is no prompt {name:?}"), None)
    })?;
    let before = open.toolbox.tools().len();
    let problems = open.toolbox.resume(std::slice::from_ref(&skill.name)).await;
    let changed = Changed {
        tools: open.toolbox.tools().len() != before,
        ..Changed::default()
    };
    desk.listeners.tell(changed).await;
    let text = written(&skill, task, &problems);
    let message = PromptMessage::new_text(Role::User, text);
    Ok(GetPromptResult::new(vec![message]).with_description(&skill.description))
}

fn argument(params: &GetPromptRequestParams) -> Result<Option<&str>, ErrorData> {
    let given = params.arguments.as_ref().and_then(|all| all.get(TASK));
    match given {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(task)) => Ok(Some(task)),
        Some(_) => {
            let message = format!("argument `{TASK}` must be a string");
            Err(ErrorData::invalid_params(message, None))
        }
    }
}

fn written(skill: &Skill, task: Option<&str>, problems: &[String]) -> String {
    let body = disclose::body(skill, LONGEST).text;
    let mut text = format!("Use the skill `{}`:\n\n", skill.name);
    match body.contains(PLACE) {
        true => text.push_str(body.replace(PLACE, task.unwrap_or_default()).trim()),
        false => text.push_str(body.trim()),
    }
    if skill.bundle.len() > 1 {
        let name = &skill.name;
        text.push_str(&format!(
            "\n\n---\nThis skill has other files: load_skill shows one by its `path`, and \
             skill://{name}/PATH is the resource."
        ));
    }
    for problem in problems {
        text.push_str(&format!("\nProblem with {problem}"));
    }
    if let (Some(task), false) = (task, body.contains(PLACE)) {
        text.push_str(&format!("\n\n---\nThe task: {task}"));
    }
    text
}
