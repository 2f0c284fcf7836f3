//! LiteLLM's tools: `litellm_code_execution(code)`, and one tool per skill.
//!
//! There, calling a skill's tool ran code guessed from the names of its files, without
//! the arguments. Here it runs what the skill itself says or plainly has:
//!
//! 1. its declared tool, when it declares exactly one;
//! 2. else its entry: `main.py`, `__main__.py` or `run.py`, at the top or in `scripts/`;
//! 3. else its only script;
//! 4. else nothing: the answer is its instructions.
//!
//! An entry gets the arguments as JSON on standard input and in `PROWESS_ARGS`.

use crate::folder::{SKILLS, folder_of};
use crate::load;
use crate::names::word;
use crate::offer::object;
use crate::outcome::{ErrorCode, Native, Outcome};
use crate::permit::Action;
use crate::registry::{NewTool, Registry, Route};
use crate::script::{Script, execution};
use crate::spec::{Member, ToolSpec};
use crate::text::{command_line, cut_end};
use crate::toolbox::{Progress, Toolbox};
use crate::{declared, schema};
use prowess_sandbox::{Command, Execution};
use prowess_skill::Skill;
use serde_json::{Value, json};

const NAME: &str = "litellm_code_execution";

const DESCRIPTION: &str = "Execute Python code in a sandboxed environment. The working folder \
    is /mnt/data: files left there are returned. The skills' modules can be imported.";

const LONGEST: usize = 1024;

/// Where the sandbox shows installed packages.
const PACKAGES: &str = "/packages/python";

/// Files that a skill is started by.
const ENTRIES: [&str; 6] = [
    "main.py",
    "__main__.py",
    "run.py",
    "scripts/main.py",
    "scripts/__main__.py",
    "scripts/run.py",
];

/// Endings of scripts.
const SCRIPTS: [&str; 5] = [".py", ".sh", ".bash", ".js", ".mjs"];

/// Adds the tools.
pub(crate) fn offer(registry: &mut Registry, members: &[Member]) {
    for member in members {
        let skill = &member.skill;
        let wanted = match &member.id {
            Some(id) => word(id),
            None => format!("litellm_skill_{}", word(&skill.name)),
        };
        registry.show(NewTool {
            wanted: &wanted,
            otherwise: &format!("litellm_{wanted}"),
            description: cut_end(&skill.description, LONGEST),
            input_schema: entry_schema(skill),
            route: Route::Entry(skill.name.clone()),
        });
    }
    let code = json!({ "code": { "type": "string", "description": "Python code to execute." } });
    registry.show(NewTool {
        wanted: NAME,
        otherwise: "skill_python",
        description: DESCRIPTION.into(),
        input_schema: object(code, &["code"]),
        route: Route::Code,
    });
}

/// What the skill says in `metadata.parameters`, or of its only tool; else anything.
fn entry_schema(skill: &Skill) -> Value {
    let said = skill.metadata.get("parameters");
    match (said, skill.tools.as_slice()) {
        (Some(parameters @ Value::Object(_)), _) => parameters.clone(),
        (_, [tool]) => declared::input_schema(tool),
        _ => json!({ "type": "object", "properties": {} }),
    }
}

/// `litellm_code_execution(code)`.
pub(crate) async fn code(
    toolbox: &Toolbox,
    spec: &ToolSpec,
    input: &Value,
    progress: Progress,
) -> Outcome {
    let code = input
        .get("code")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let line = command_line(["python3", "-c", code]);
    let refused = schema::check(&spec.input_schema, input);
    if let Err(why) = refused.and_then(|()| toolbox.permit(&Action::Python)) {
        let native = Native::failed_bash(line, ErrorCode::InvalidToolInput);
        return Outcome::error(format!("Error: {why}"), native);
    }
    let execution = Execution {
        command: Command::Python(code.to_owned()),
        env: vec![("PYTHONPATH".into(), python_path(toolbox))],
        stream: progress,
        ..Execution::default()
    };
    toolbox.run(line, execution).await
}

/// Lets code import the skills' modules, as it could when they lay in its own folder;
/// installed packages go before them.
fn python_path(toolbox: &Toolbox) -> String {
    let state = toolbox.lock();
    let skills = state
        .members
        .iter()
        .map(|m| format!("{SKILLS}/{}", folder_of(&m.skill.name)));
    let all: Vec<String> = std::iter::once(PACKAGES.to_owned()).chain(skills).collect();
    all.join(":")
}

/// A skill's own tool.
pub(crate) async fn entry(
    toolbox: &Toolbox,
    spec: &ToolSpec,
    name: &str,
    input: &Value,
    progress: Progress,
) -> Outcome {
    let Some(skill) = toolbox.skill(name) else {
        return load::one(toolbox, name, &json!({})).await;
    };
    let loaded = match load::wanted(toolbox, name) {
        Ok(skills) => load::activate(toolbox, &skills).await.loaded,
        Err(_) => return load::one(toolbox, name, &json!({})).await,
    };
    let mut outcome = match (skill.tools.as_slice(), entry_of(&skill)) {
        ([tool], _) => declared::call(toolbox, spec, name, &tool.name, input, progress).await,
        (_, Some(path)) => run_entry(toolbox, spec, &skill, &path, input, progress).await,
        _ => load::file(toolbox, &skill, skill.bundle.skill_file().as_str()),
    };
    outcome.loaded = loaded;
    outcome.of(name)
}

/// The script that a skill is about, if it is plain which.
fn entry_of(skill: &Skill) -> Option<String> {
    let known = ENTRIES
        .into_iter()
        .find(|path| skill.bundle.get(path).is_some());
    if let Some(path) = known {
        return Some(path.to_owned());
    }
    let is_script = |path: &&str| SCRIPTS.iter().any(|ending| path.ends_with(ending));
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
    progress: Progress,
) -> Outcome {
    let action = Action::Own {
        skill: &skill.name,
        tool: &spec.name,
    };
    let argv = schema::check(&spec.input_schema, input)
        .and_then(|()| toolbox.permit(&action))
        .and_then(|()| Script::of(skill, path));
    match argv {
        Ok(script) => {
            let argv = script.with(Vec::new());
            let line = command_line(argv.iter().map(String::as_str));
            toolbox
                .run(line, execution(argv, input, true, progress))
                .await
        }
        Err(why) => {
            let native = Native::failed_bash(path, ErrorCode::InvalidToolInput);
            Outcome::error(format!("Error: {why}"), native)
        }
    }
}
