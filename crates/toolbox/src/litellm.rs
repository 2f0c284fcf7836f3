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
use crate::folder::{SKILLS_FOLDER, skill_folder};
use crate::initial_tools::object_schema;
use crate::load;
use crate::model_text::{self, MAX_DESCRIPTION_BYTES};
use crate::names::to_identifier;
use crate::outcome::{ErrorCode, NativeCall, ToolOutcome};
use crate::registry::{NewTool, Registry, ToolRoute};
use crate::script::{SkillScript, script_execution};
use crate::spec::{Member, ToolSpec};
use crate::text::{command_line, cut_end};
use crate::toolbox::{ProgressSender, Toolbox};
use crate::{declared, schema};
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
    toolbox: &Toolbox,
    spec: &ToolSpec,
    input: &Value,
    progress: ProgressSender,
) -> ToolOutcome {
    let code = input
        .get("code")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let line = command_line(["python3", "-c", code]);
    let refused = schema::check(&spec.input_schema, input);
    if let Err(why) = refused.and_then(|()| toolbox.check_permitted(&Action::Python)) {
        let native = NativeCall::failed_bash(line, ErrorCode::InvalidToolInput);
        return ToolOutcome::error(format!("Error: {why}"), native);
    }
    let execution = Execution {
        command: Command::Python(code.to_owned()),
        env: vec![("PYTHONPATH".into(), python_path(toolbox))],
        stream: progress,
        ..Execution::default()
    };
    toolbox.run(line, execution).await
}

/// Lets code import the skills' modules, as with LiteLLM; installed packages come first.
fn python_path(toolbox: &Toolbox) -> String {
    let state = toolbox.lock();
    let skills = state
        .members
        .iter()
        .map(|m| format!("{SKILLS_FOLDER}/{}", skill_folder(&m.skill.name)));
    let all: Vec<String> = std::iter::once(PACKAGES_FOLDER.to_owned())
        .chain(skills)
        .collect();
    all.join(":")
}

/// A skill's own tool.
pub(crate) async fn call_entry(
    toolbox: &Toolbox,
    spec: &ToolSpec,
    name: &str,
    input: &Value,
    progress: ProgressSender,
) -> ToolOutcome {
    let Some(skill) = toolbox.skill(name) else {
        return load::load_named(toolbox, name, &json!({})).await;
    };
    let loaded = match load::skills_to_load(toolbox, name) {
        Ok(skills) => load::activate(toolbox, &skills).await.loaded,
        Err(_) => return load::load_named(toolbox, name, &json!({})).await,
    };
    let mut outcome = match (skill.tools.as_slice(), entry_script(&skill)) {
        ([tool], _) => {
            declared::call_declared(toolbox, spec, name, &tool.name, input, progress).await
        }
        (_, Some(path)) => run_entry(toolbox, spec, &skill, &path, input, progress).await,
        _ => load::view_file(toolbox, &skill, skill.bundle.skill_file().as_str()),
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
    toolbox: &Toolbox,
    spec: &ToolSpec,
    skill: &Skill,
    path: &str,
    input: &Value,
    progress: ProgressSender,
) -> ToolOutcome {
    let action = Action::SkillTool {
        skill: &skill.name,
        tool: &spec.name,
    };
    let argv = schema::check(&spec.input_schema, input)
        .and_then(|()| toolbox.check_permitted(&action))
        .and_then(|()| SkillScript::for_file(skill, path));
    match argv {
        Ok(script) => {
            let argv = script.into_argv(Vec::new());
            let line = command_line(argv.iter().map(String::as_str));
            toolbox
                .run(line, script_execution(argv, input, true, progress))
                .await
        }
        Err(why) => {
            let native = NativeCall::failed_bash(path, ErrorCode::InvalidToolInput);
            ToolOutcome::error(format!("Error: {why}"), native)
        }
    }
}
