//! Which program is tried by which API with models of which vendors. The tests run what
//! stands here, and docs/coding-agents.md shows it.

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;

use crate::vendors::vendor::Vendor;

pub(crate) const CLAUDE: &str = "Claude Code";
pub(crate) const CODEX: &str = "Codex";
pub(crate) const GEMINI_CLI: &str = "Gemini CLI";
pub(crate) const OPENCODE: &str = "opencode";
pub(crate) const AIDER: &str = "aider";
pub(crate) const LLM: &str = "llm";
pub(crate) const AI_SDK: &str = "Vercel AI SDK";
pub(crate) const OPENAI_AGENTS: &str = "OpenAI Agents SDK";
pub(crate) const PYDANTIC_AI: &str = "Pydantic AI";
pub(crate) const LANGCHAIN: &str = "LangChain";
pub(crate) const LITELLM: &str = "LiteLLM";
pub(crate) const GOOGLE_GENAI: &str = "Google Gen AI SDK";

/// Program, API, vendors of the models, and how it gets skills.
const MATRIX: &str = "
Claude Code       | messages  | openai-chat gemini bedrock           | mcp
Codex             | responses | anthropic openai-chat gemini bedrock | mcp
Gemini CLI        | gemini    | anthropic openai-chat                | mcp
opencode          | chat      | anthropic gemini                     | mcp
opencode          | messages  | openai-chat gemini                   | mcp
opencode          | responses | anthropic openai-chat                | mcp
aider             | chat      | anthropic gemini                     | none
aider             | messages  | openai-chat                          | none
llm               | chat      | anthropic gemini                     | none
llm               | responses | anthropic gemini                     | none
Vercel AI SDK     | responses | anthropic openai-chat gemini         | mcp named
Vercel AI SDK     | messages  | openai-chat gemini bedrock           | mcp named
Vercel AI SDK     | chat      | anthropic gemini bedrock             | mcp named
Vercel AI SDK     | gemini    | anthropic openai-chat                | mcp named
OpenAI Agents SDK | responses | anthropic gemini                     | mcp named
OpenAI Agents SDK | chat      | anthropic gemini                     | mcp named
Pydantic AI       | messages  | openai-chat gemini                   | mcp named
Pydantic AI       | chat      | anthropic gemini                     | mcp named
Pydantic AI       | responses | anthropic openai-chat                | mcp named
Pydantic AI       | gemini    | anthropic openai-chat                | mcp named
LangChain         | messages  | openai-chat gemini                   | mcp named
LangChain         | chat      | anthropic gemini                     | mcp named
LangChain         | responses | anthropic                            | mcp
LangChain         | gemini    | anthropic openai-chat                | mcp named
LiteLLM           | chat      | anthropic gemini                     | mcp named
LiteLLM           | messages  | openai-chat                          | mcp named
LiteLLM           | responses | anthropic gemini                     | named
Google Gen AI SDK | gemini    | anthropic openai-chat                | mcp named
";

/// Which file in `tests/` pins a program, and by which name.
const PINS: [(&str, &str, &str); 12] = [
    (CLAUDE, "agents/package.json", "@anthropic-ai/claude-code"),
    (CODEX, "agents/package.json", "@openai/codex"),
    (GEMINI_CLI, "agents/package.json", "@google/gemini-cli"),
    (OPENCODE, "agents/package.json", "opencode-ai"),
    (AIDER, "sdk/aider.txt", "aider-chat"),
    (LLM, "sdk/llm.txt", "llm"),
    (AI_SDK, "sdk/package.json", "ai"),
    (OPENAI_AGENTS, "sdk/frameworks.txt", "openai-agents"),
    (PYDANTIC_AI, "sdk/frameworks.txt", "pydantic-ai-slim"),
    (LANGCHAIN, "sdk/frameworks.txt", "langchain"),
    (LITELLM, "sdk/litellm.txt", "litellm"),
    (GOOGLE_GENAI, "sdk/google-genai.txt", "google-genai"),
];

/// An API that a program speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Messages,
    Chat,
    Responses,
    Gemini,
}

impl Wire {
    const ALL: [Wire; 4] = [Wire::Messages, Wire::Chat, Wire::Responses, Wire::Gemini];

    /// Its name here and for the programs in `tests/sdk`.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Wire::Messages => "messages",
            Wire::Chat => "chat",
            Wire::Responses => "responses",
            Wire::Gemini => "gemini",
        }
    }

    /// Its name in documents.
    fn name(self) -> &'static str {
        match self {
            Wire::Messages => "Anthropic Messages",
            Wire::Chat => "Chat Completions",
            Wire::Responses => "OpenAI Responses",
            Wire::Gemini => "Gemini API",
        }
    }
}

/// A line of the matrix.
pub(crate) struct MatrixRow {
    program: &'static str,
    pub(crate) wire: Wire,
    pub(crate) vendors: Vec<Vendor>,
    skills: &'static str,
}

fn all_rows() -> Vec<MatrixRow> {
    let lines = MATRIX.lines().filter(|line| !line.is_empty());
    lines.map(row).collect()
}

fn row(line: &'static str) -> MatrixRow {
    let columns: Vec<&str> = line.split('|').map(str::trim).collect();
    let wire = Wire::ALL.into_iter().find(|wire| wire.key() == columns[1]);
    let vendor = |name: &str| Vendor::ALL.into_iter().find(|vendor| vendor.name() == name);
    MatrixRow {
        program: columns[0],
        wire: wire.unwrap(),
        vendors: columns[2]
            .split(' ')
            .map(|name| vendor(name).unwrap())
            .collect(),
        skills: columns[3],
    }
}

/// What is tried with a program.
pub(crate) fn rows(program: &str) -> Vec<MatrixRow> {
    let mut rows = all_rows();
    rows.retain(|row| row.program == program);
    assert!(!rows.is_empty(), "{program} is not in the matrix");
    rows
}

/// Prints what was seen to work.
pub(crate) fn works(row: &MatrixRow, vendor: Vendor) {
    let (program, wire) = (row.program, row.wire.name());
    println!("works: {program} | {wire} | {}", vendor_name(vendor));
}

fn vendor_name(vendor: Vendor) -> &'static str {
    match vendor {
        Vendor::Anthropic => "Anthropic",
        Vendor::Chat | Vendor::Responses => "OpenAI",
        Vendor::Gemini => "Gemini",
        Vendor::Converse => "Bedrock",
    }
}

/// The version that the tests install.
fn version(program: &str) -> String {
    let (_, file, package) = PINS.iter().find(|(name, ..)| *name == program).unwrap();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let text = std::fs::read_to_string(tests.join(file)).unwrap();
    if file.ends_with(".json") {
        let file: Value = serde_json::from_str(&text).unwrap();
        return file["dependencies"][package].as_str().unwrap().to_owned();
    }
    let mut lines = text.lines().filter_map(|line| line.split_once("=="));
    let found = lines.find(|(name, _)| name.split('[').next() == Some(*package));
    found.unwrap().1.to_owned()
}

/// The matrix as a table.
fn table() -> String {
    let mut table = String::from("| program | speaks | with models of | skills |\n");
    table.push_str("|---|---|---|---|\n");
    for row in all_rows() {
        let vendors: Vec<&str> = row.vendors.iter().copied().map(vendor_name).collect();
        let skills = match row.skills {
            "mcp" => "over MCP",
            "named" => "named in the request",
            "mcp named" => "over MCP; named in the request",
            _ => "–",
        };
        let (program, version) = (row.program, version(row.program));
        let (wire, vendors) = (row.wire.name(), vendors.join(", "));
        writeln!(
            table,
            "| {program} {version} | {wire} | {vendors} | {skills} |"
        )
        .unwrap();
    }
    table
}

#[test]
fn the_page_shows_what_is_tried() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/coding-agents.md");
    let page = std::fs::read_to_string(page).unwrap();
    let table = table();
    println!("{table}");
    assert!(
        page.contains(&table),
        "docs/coding-agents.md must show:\n{table}"
    );
}
