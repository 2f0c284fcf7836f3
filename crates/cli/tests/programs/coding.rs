//! Coding agents with skills over MCP: the model loads a skill, calls the tool that then
//! appears, and answers.

use serde_json::{Value, json};

use crate::agents::{AgentSetting, McpTransport};
use crate::gateway::{ProgramGateway, alias};
use crate::installed::succeeded;
use crate::matrix::{CLAUDE, CODEX, GEMINI_CLI, MatrixRow, OPENCODE, Wire, rows, works};
use crate::model::{ModelPlan, PlannedCall, RecordedTurn};
use crate::vendors::vendor::Vendor;

const TASK: &str = "Make me a bouncing ball";
const ANSWER: &str = "The ball is there.";
const LOAD: &str = "load_skill";
const MAKE: &str = "bouncing_ball__make_gif";
const BASH: &str = "bash_code_execution";
const MADE: &str = "/mnt/data/ball.gif";

/// Loads the skill, and then calls its tool.
fn plan() -> ModelPlan {
    load_and(MAKE, json!({"output": "ball.gif", "size": 32, "frames": 4}))
}

/// Loads the skill, and then runs its script.
fn script_plan() -> ModelPlan {
    let script = "python3 /skills/bouncing-ball/scripts/make_gif.py ball.gif 32 4";
    load_and(BASH, json!({"command": script}))
}

fn load_and(tool: &'static str, input: Value) -> ModelPlan {
    let load = PlannedCall {
        tool: LOAD,
        input: json!({"name": "bouncing-ball"}),
        result: "Tools now available",
    };
    let make = PlannedCall {
        tool,
        input,
        result: MADE,
    };
    ModelPlan {
        steps: vec![load, make],
        answer: ANSWER.to_owned(),
    }
}

/// Checks what the model was sent: everything streamed, to this vendor; these tools by these
/// names, offered and called; a result for each call, the last one the file's.
fn check(turns: &[RecordedTurn], vendor: Vendor, prefix: &str, tools: [&str; 2], context: &str) {
    for turn in turns {
        assert_eq!(turn.vendor, vendor, "{context}");
        assert!(turn.streamed, "{context}");
        assert!(turn.sent.is_answered(), "{context}: {:?}", turn.sent);
    }
    let last = &turns[turns.len() - 1].sent;
    for tool in tools {
        let name = format!("{prefix}{tool}");
        let called = last.calls.iter().any(|(_, called)| *called == name);
        assert!(called, "{context}: {name} not in {:?}", last.calls);
        let offered = last.tools.contains(&name);
        assert!(offered, "{context}: {name} not in {:?}", last.tools);
    }
    assert!(
        last.results[last.results.len() - 1].1.contains(MADE),
        "{context}"
    );
}

/// Tries all rows of a program; every other one has its skills by HTTP.
fn each(program: &str, attempt: impl Fn(&MatrixRow, &AgentSetting<'_>)) {
    let gateway = ProgramGateway::start(plan());
    let rows = rows(program);
    let all = rows
        .iter()
        .flat_map(|row| row.vendors.iter().map(move |vendor| (row, *vendor)));
    for (at, (row, vendor)) in all.enumerate() {
        let home = tempfile::tempdir().unwrap();
        let mcp = if at % 2 == 0 {
            McpTransport::Stdio
        } else {
            McpTransport::Http
        };
        let setting = AgentSetting {
            gateway: &gateway,
            home: home.path(),
            vendor,
            mcp,
        };
        attempt(row, &setting);
        works(row, vendor);
    }
}

#[test]
fn claude_code_searches_for_tools_and_calls_them_on_models_of_others() {
    each(CLAUDE, |_, setting| {
        let printed = succeeded(&mut setting.claude(TASK));
        let result: Value = serde_json::from_str(&printed).unwrap();
        let turns = setting.gateway.model.turns();
        let context = format!("{:?}, {:?}: {printed}", setting.vendor, setting.mcp);
        assert_eq!(result["result"], ANSWER, "{context}");
        assert_eq!(result["is_error"], false, "{context}");
        check(
            &turns,
            setting.vendor,
            "mcp__skills__",
            [LOAD, MAKE],
            &context,
        );
        // The tool that loads skills, and lists them, is there from the start. What else it holds
        // back is not offered before the model has searched for it, and it does not stop searching.
        let first = &turns[0].sent.tools;
        let of_skills = first
            .iter()
            .filter(|name| name.starts_with("mcp__skills__"));
        let of_skills: Vec<_> = of_skills.collect();
        assert_eq!(of_skills, ["mcp__skills__load_skill"], "{first:?}");
        assert!(
            !first.iter().any(|name| name.contains("Placeholder")),
            "{first:?}"
        );
        for turn in &turns {
            assert!(
                turn.sent.tools.contains(&"ToolSearch".to_owned()),
                "{context}"
            );
        }
    });
}

#[test]
fn codex_calls_tools_of_mcp_servers_on_models_of_others() {
    each(CODEX, |_, setting| {
        let listens = "[features]\nmcp_tool_list_changed = true\n";
        check_codex(setting, listens, [LOAD, MAKE]);
    });
}

/// It lists tools once, so the tools of a skill that is loaded later are not seen.
#[test]
fn codex_with_its_default_settings_runs_the_script_of_a_skill() {
    let gateway = ProgramGateway::start(script_plan());
    let home = tempfile::tempdir().unwrap();
    let setting = AgentSetting {
        gateway: &gateway,
        home: home.path(),
        vendor: Vendor::Anthropic,
        mcp: McpTransport::Http,
    };
    check_codex(&setting, "", [LOAD, BASH]);
}

fn check_codex(setting: &AgentSetting<'_>, settings: &str, tools: [&str; 2]) {
    let printed = succeeded(&mut setting.codex(settings, TASK));
    let context = format!("{:?}, {:?}: {printed}", setting.vendor, setting.mcp);
    let events = printed
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let items: Vec<Value> = events.map(|event| event["item"].clone()).collect();
    let mut messages = items.iter().filter(|item| item["type"] == "agent_message");
    assert_eq!(messages.next_back().unwrap()["text"], ANSWER, "{context}");
    for tool in tools {
        let done = |item: &&Value| item["tool"] == tool && item["status"] == "completed";
        assert!(items.iter().any(|item| done(&item)), "{context}");
    }
    let turns = setting.gateway.model.turns();
    check(&turns, setting.vendor, "mcp__skills__", tools, &context);
}

#[test]
fn opencode_calls_tools_of_mcp_servers_on_models_of_others() {
    each(OPENCODE, |row, setting| {
        let provider = match row.wire {
            Wire::Chat => "@ai-sdk/openai-compatible",
            Wire::Messages => "@ai-sdk/anthropic",
            Wire::Responses => "@ai-sdk/openai",
            Wire::Gemini => "@ai-sdk/google",
        };
        let printed = succeeded(&mut setting.opencode(provider, TASK));
        let context = format!(
            "{provider}, {:?}, {:?}: {printed}",
            setting.vendor, setting.mcp
        );
        let events = printed
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut texts = events.filter(|event| event["type"] == "text");
        assert_eq!(
            texts.next_back().unwrap()["part"]["text"],
            ANSWER,
            "{context}"
        );
        let turns = setting.gateway.model.turns();
        check(&turns, setting.vendor, "skills_", [LOAD, MAKE], &context);
    });
}

#[test]
fn gemini_cli_calls_tools_of_mcp_servers_on_models_of_others() {
    each(GEMINI_CLI, |_, setting| {
        let (model, address) = (alias(setting.vendor), setting.gateway.url());
        let printed = succeeded(&mut setting.gemini(address, &model, TASK));
        check_gemini(setting, &printed);
    });
}

/// Only its skills are behind the gateway here.
#[test]
fn gemini_cli_calls_tools_of_mcp_servers_on_its_own_model() {
    let gateway = ProgramGateway::start(plan());
    let home = tempfile::tempdir().unwrap();
    let setting = AgentSetting {
        gateway: &gateway,
        home: home.path(),
        vendor: Vendor::Gemini,
        mcp: McpTransport::Http,
    };
    let printed = succeeded(&mut setting.gemini(gateway.model.url(), "m1", TASK));
    check_gemini(&setting, &printed);
}

fn check_gemini(setting: &AgentSetting<'_>, printed: &str) {
    let context = format!("{:?}, {:?}: {printed}", setting.vendor, setting.mcp);
    let result: Value = serde_json::from_str(printed).unwrap();
    assert_eq!(result["response"], ANSWER, "{context}");
    let turns = setting.gateway.model.turns();
    check(
        &turns,
        setting.vendor,
        "mcp_skills_",
        [LOAD, MAKE],
        &context,
    );
}
