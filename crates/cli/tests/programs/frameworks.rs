//! Agent frameworks, SDKs and command lines: the model loads a skill and runs a command,
//! with the tools of our MCP server, and again with the skill named in the request.

use std::process::Command;

use serde_json::json;

use crate::environment::{node, python_program};
use crate::gateway::{ProgramGateway, alias, model_of};
use crate::installed::{installed, scripts, succeeded};
use crate::matrix::{
    AI_SDK, GOOGLE_GENAI, LANGCHAIN, LITELLM, LLM, OPENAI_AGENTS, PYDANTIC_AI, Wire, rows, works,
};
use crate::model::{ModelPlan, PlannedCall};
use crate::server::MASTER;
use crate::vendors::vendor::Vendor;

const ANSWER: &str = "The command said from-42.";

fn plan() -> ModelPlan {
    ModelPlan {
        steps: vec![
            PlannedCall {
                tool: "load_skill",
                input: json!({"name": "bouncing-ball"}),
                result: "Tools now available",
            },
            PlannedCall {
                tool: "bash_code_execution",
                input: json!({"command": "echo from-$((6 * 7))"}),
                result: "from-42",
            },
        ],
        answer: ANSWER.to_owned(),
    }
}

/// Runs a program of `tests/sdk` over all rows of a program and checks what it printed, and
/// that each vendor's model was offered the tools and saw the command's output, streamed unless
/// the program asked for it whole.
fn run(program: &str, tried: fn(Wire) -> &'static [&'static str], mut command: Command) {
    let gateway = ProgramGateway::start(plan());
    let rows = rows(program);
    let pairs: Vec<(Wire, Vendor)> = rows
        .iter()
        .flat_map(|row| row.vendors.iter().map(|vendor| (row.wire, *vendor)))
        .collect();
    let list: Vec<String> = pairs
        .iter()
        .map(|(wire, vendor)| format!("{}={}", wire.key(), named(*wire, *vendor)))
        .collect();
    command
        .env("PROWESS_URL", gateway.url())
        .env("PROWESS_API_KEY", MASTER)
        .env("PROWESS_SKILL", &gateway.skill)
        .env("PROWESS_ROWS", list.join(","));
    let printed = succeeded(&mut command);
    let expected: Vec<String> = pairs
        .iter()
        .flat_map(|(wire, vendor)| {
            let (key, model) = (wire.key(), named(*wire, *vendor));
            let line = move |what: &&str| format!("{key} {model} {what}: {ANSWER}");
            tried(*wire).iter().map(line).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(printed.lines().collect::<Vec<_>>(), expected, "{program}");
    check(&gateway, &pairs, tried);
    for row in &rows {
        row.vendors.iter().for_each(|vendor| works(row, *vendor));
    }
}

/// The vendor's model; Gemini's API has it in the path.
fn named(wire: Wire, vendor: Vendor) -> String {
    match wire {
        Wire::Gemini => alias(vendor),
        _ => model_of(vendor),
    }
}

/// Each conversation is three turns: the tools by their names, and then the results.
fn check(
    gateway: &ProgramGateway,
    pairs: &[(Wire, Vendor)],
    tried: fn(Wire) -> &'static [&'static str],
) {
    let turns = gateway.model.turns();
    let all = pairs.iter().flat_map(|(wire, _)| tried(*wire));
    let whole = all.filter(|what| what.ends_with(WHOLE));
    let not_streamed = turns.iter().filter(|turn| !turn.streamed);
    assert_eq!(not_streamed.count(), 3 * whole.count());
    for turn in &turns {
        assert!(turn.sent.is_answered(), "{:?}", turn.sent);
        for tool in ["load_skill", "bash_code_execution"] {
            assert!(
                turn.sent.tools.iter().any(|name| name == tool),
                "{:?}",
                turn.sent
            );
        }
    }
    for vendor in Vendor::ALL {
        let here = turns.iter().filter(|turn| turn.vendor == vendor);
        let ended = here.filter(|turn| {
            let last = turn.sent.results.last();
            turn.sent.calls.len() == 2 && last.is_some_and(|(_, text)| text.contains("from-42"))
        });
        let theirs = pairs.iter().filter(|(_, of)| *of == vendor);
        let talks = theirs
            .flat_map(|(wire, _)| tried(*wire))
            .filter(|what| **what != TALK);
        assert_eq!(ended.count(), talks.count(), "{vendor:?}");
    }
}

/// What is tried without tools.
const TALK: &str = "conversation";

/// How what is tried without streaming ends.
const WHOLE: &str = " whole";

/// A script of a Python environment.
fn python(environment: &str, script: &str) -> (Command, tempfile::TempDir) {
    let home = tempfile::tempdir().unwrap();
    let mut command = python_program(environment, "python", home.path());
    command
        .arg(scripts().join(script))
        .env("LITELLM_LOCAL_MODEL_COST_MAP", "True");
    (command, home)
}

#[test]
fn the_ai_sdk_has_skills_on_models_of_others() {
    let home = tempfile::tempdir().unwrap();
    // It finds its packages only beside itself.
    let place = installed("node");
    let copy = tempfile::NamedTempFile::new_in(&place).unwrap();
    std::fs::copy(scripts().join("agent_ai_sdk.mjs"), copy.path()).unwrap();
    let script = place.join("agent_ai_sdk.mjs");
    copy.persist(&script).unwrap();
    let mut command = node(home.path());
    command.arg(script).env("NODE_NO_WARNINGS", "1");
    run(AI_SDK, |_| &["mcp", "skill"], command);
}

#[test]
fn openais_agents_sdk_has_skills_and_conversations_on_models_of_others() {
    let (command, _home) = python("frameworks", "agent_openai_agents.py");
    let tried = |wire| match wire {
        Wire::Responses => &["mcp", "skill", TALK][..],
        _ => &["mcp", "skill"],
    };
    run(OPENAI_AGENTS, tried, command);
}

#[test]
fn pydantic_ai_has_skills_on_models_of_others() {
    let (command, _home) = python("frameworks", "agent_pydantic_ai.py");
    run(PYDANTIC_AI, |_| &["mcp", "skill"], command);
}

#[test]
fn langchain_has_skills_on_models_of_others() {
    let (command, _home) = python("frameworks", "agent_langchain.py");
    let tried = |wire| match wire {
        Wire::Responses => &["mcp"][..],
        _ => &["mcp", "skill"],
    };
    run(LANGCHAIN, tried, command);
}

#[test]
fn litellm_has_skills_with_each_of_its_prefixes() {
    let (command, _home) = python("litellm", "agent_litellm.py");
    let tried = |wire| match wire {
        Wire::Messages => &["anthropic/", "skill", "skill whole"][..],
        Wire::Responses => &[
            "openai/ skill",
            "openai/ skill whole",
            "litellm_proxy/ skill",
            "litellm_proxy/ skill whole",
        ],
        _ => &["openai/", "litellm_proxy/", "skill"],
    };
    run(LITELLM, tried, command);
}

#[test]
fn googles_client_has_skills_and_calls_tools_of_mcp_by_itself() {
    let (command, _home) = python("google-genai", "agent_google_genai.py");
    run(GOOGLE_GENAI, |_| &["mcp", "mcp whole", "skill"], command);
}

/// The functions that `llm` brings take the places of our tools.
const FUNCTIONS: &str = "\
def load_skill(name: str) -> str:
    \"Loads a skill.\"
    return 'Tools now available: none'

def bash_code_execution(command: str) -> str:
    \"Runs a command.\"
    return 'from-42'
";

#[test]
fn llm_calls_functions_on_models_of_others() {
    let gateway = ProgramGateway::start(plan());
    let home = tempfile::tempdir().unwrap();
    let rows = rows(LLM);
    let mut models = String::new();
    for row in &rows {
        for vendor in &row.vendors {
            let (wire, name) = (row.wire.key(), model_of(*vendor));
            models.push_str(&format!(
                "- model_id: {wire}-{name}\n  model_name: {name}\n  api_base: {}/v1\n  \
                 api_key_name: prowess\n  supports_tools: true\n  responses: {}\n",
                gateway.url(),
                row.wire == Wire::Responses
            ));
        }
    }
    std::fs::write(home.path().join("extra-openai-models.yaml"), models).unwrap();
    for row in &rows {
        for vendor in &row.vendors {
            let model = format!("{}-{}", row.wire.key(), model_of(*vendor));
            let mut llm = python_program("llm", "llm", home.path());
            llm.env("LLM_USER_PATH", home.path())
                .args(["-m", &model, "--key", MASTER, "--no-log"])
                .args(["--functions", FUNCTIONS, "Say the number"]);
            let printed = succeeded(&mut llm);
            assert!(
                printed.ends_with(&format!("{ANSWER}\n")),
                "{model}: {printed}"
            );
            let turns = gateway.model.turns();
            assert_eq!(turns.len(), 3, "{model}");
            for turn in &turns {
                assert_eq!((turn.vendor, turn.streamed), (*vendor, true), "{model}");
                assert!(turn.sent.is_answered(), "{model}: {:?}", turn.sent);
            }
            assert!(turns[2].sent.result(1).contains("from-42"), "{model}");
            works(row, *vendor);
        }
    }
}
