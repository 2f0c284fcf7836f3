//! LiteLLM's tools: `litellm_code_execution(code)`, and one tool per skill.
//!
//! LiteLLM ran code guessed from the names of a skill's files, without the arguments. Here
//! a skill's tool runs what the skill declares or clearly has:
//!
//! 1. its declared tool, when it declares exactly one;
//! 2. else its entry: `main.py`, `__main__.py` or `run.py`, at the top or in `scripts/`;
//! 3. else its only script;
//! 4. else nothing: the result is its instructions.
//!
//! An entry gets the arguments as JSON on standard input and in `PROWESS_ARGS`.

use crate::allowed_tools::Action;
use crate::called_tool::CalledTool;
use crate::folder::{SKILLS_FOLDER, skill_folder};
use crate::model_text::{self, MAX_DESCRIPTION_BYTES};
use crate::names::to_identifier;
use crate::outcome::{ErrorCode, NativeCall, ToolOutcome};
use crate::registry::{NewTool, Registry, ToolRoute};
use crate::run::CommandRunner;
use crate::schema::{self, object_schema};
use crate::script::{SkillScript, script_execution};
use crate::spec::{Member, ToolboxOptions};
use crate::state::SharedState;
use crate::text::{command_line, cut_end};
use crate::{activation, declared, load};
use prowess_sandbox::{Command, Execution};
use prowess_skill::Skill;
use serde_json::{Value, json};

const CODE_TOOL_NAME: &str = "litellm_code_execution";

/// Folder of installed packages in the sandbox.
const PACKAGES_FOLDER: &str = prowess_sandbox::LAYOUT.packages;

/// Names of entry scripts.
const ENTRY_SCRIPTS: [&str; 6] = [
    "main.py",
    "__main__.py",
    "run.py",
    "scripts/main.py",
    "scripts/__main__.py",
    "scripts/run.py",
];

/// Endings of scripts.
const SCRIPT_EXTENSIONS: [&str; 5] = [".py", ".sh", ".bash", ".js", ".mjs"];

/// Adds the tools.
pub(crate) fn add_tools(registry: &mut Registry, members: &[Member]) {
    for member in members {
        let skill = &member.skill;
        let name = match &member.id {
            Some(id) => to_identifier(id),
            None => format!("litellm_skill_{}", to_identifier(&skill.name)),
        };
        registry.show(NewTool {
            name: &name,
            fallback_name: &format!("litellm_{name}"),
            description: cut_end(&skill.description, MAX_DESCRIPTION_BYTES),
            input_schema: entry_schema(skill),
            route: ToolRoute::Entry(skill.name.clone()),
        });
    }
    let code = json!({ "code": { "type": "string", "description": model_text::PYTHON_CODE } });
    registry.show(NewTool {
        name: CODE_TOOL_NAME,
        fallback_name: "skill_python",
        description: model_text::python_description(),
        input_schema: object_schema(code, &["code"]),
        route: ToolRoute::Code,
    });
}

/// The schema in `metadata.parameters`, or of its only tool; else any object.
fn entry_schema(skill: &Skill) -> Value {
    let parameters = skill.metadata.get("parameters");
    match (parameters, skill.tools.as_slice()) {
        (Some(parameters @ Value::Object(_)), _) => parameters.clone(),
        (_, [tool]) => declared::input_schema(tool),
        _ => json!({ "type": "object", "properties": {} }),
    }
}

/// `litellm_code_execution(code)`.
pub(crate) async fn run_code(
    state: &SharedState,
    runner: &CommandRunner,
    call: CalledTool<'_>,
) -> ToolOutcome {
    let code = call
        .input
        .get("code")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let line = command_line(["python3", "-c", code]);
    let refused = schema::check(&call.spec.input_schema, call.input);
    if let Err(why) = refused.and_then(|()| state.check_permitted(&Action::Python)) {
        let native = NativeCall::failed_bash(line, ErrorCode::InvalidToolInput);
        return ToolOutcome::error(format!("Error: {why}"), native);
    }
    let execution = Execution {
        command: Command::Python(code.to_owned()),
        env: vec![("PYTHONPATH".into(), python_path(&state.members()))],
        stream: call.progress,
        ..Execution::default()
    };
    runner.run(line, execution).await
}

/// Lets code import the skills' modules, as with LiteLLM; installed packages come first.
fn python_path(members: &[Member]) -> String {
    let skills = members
        .iter()
        .map(|m| format!("{SKILLS_FOLDER}/{}", skill_folder(&m.skill.name)));
    let all: Vec<String> = std::iter::once(PACKAGES_FOLDER.to_owned())
        .chain(skills)
        .collect();
    all.join(":")
}

/// A skill's own tool.
pub(crate) async fn call_entry(
    state: &SharedState,
    runner: &CommandRunner,
    options: &ToolboxOptions,
    name: &str,
    call: CalledTool<'_>,
) -> ToolOutcome {
    let (Some(skill), Ok(skills)) = (state.skill(name), state.load_order(name)) else {
        return load::load_named(state, runner, options, name, &json!({})).await;
    };
    let loaded = activation::activate(state, runner, &skills).await.loaded;
    let mut outcome = match (skill.tools.as_slice(), entry_script(&skill)) {
        ([tool], _) => declared::call_declared(state, runner, name, &tool.name, call).await,
        (_, Some(path)) => run_entry(state, runner, &skill, &path, call).await,
        _ => load::view_file(&options.limits, &skill, skill.bundle.skill_file().as_str()),
    };
    outcome.loaded_skills = loaded;
    outcome.for_skill(name)
}

/// The entry script of a skill, if there is only one candidate.
fn entry_script(skill: &Skill) -> Option<String> {
    let known = ENTRY_SCRIPTS
        .into_iter()
        .find(|path| skill.bundle.get(path).is_some());
    if let Some(path) = known {
        return Some(path.to_owned());
    }
    let is_script = |path: &&str| {
        SCRIPT_EXTENSIONS
            .iter()
            .any(|ending| path.ends_with(ending))
    };
    let files = skill.manifest.files().iter().map(|file| file.path.as_str());
    let mut scripts = files.filter(is_script);
    match (scripts.next(), scripts.next()) {
        (Some("tools.py"), _) => None,
        (Some(only), None) => Some(only.to_owned()),
        _ => None,
    }
}

async fn run_entry(
    state: &SharedState,
    runner: &CommandRunner,
    skill: &Skill,
    path: &str,
    call: CalledTool<'_>,
) -> ToolOutcome {
    let action = Action::SkillTool {
        skill: &skill.name,
        tool: &call.spec.name,
    };
    let argv = schema::check(&call.spec.input_schema, call.input)
        .and_then(|()| state.check_permitted(&action))
        .and_then(|()| SkillScript::for_file(skill, path));
    match argv {
        Ok(script) => {
            let argv = script.into_argv(Vec::new());
            let line = command_line(argv.iter().map(String::as_str));
            let execution = script_execution(argv, call.input, true, call.progress);
            runner.run(line, execution).await
        }
        Err(why) => {
            let native = NativeCall::failed_bash(path, ErrorCode::InvalidToolInput);
            ToolOutcome::error(format!("Error: {why}"), native)
        }
    }
}
