//! The tab with lines that use a skill from elsewhere: SDKs, curl, MCP, and other agents.

use askama::Template;
use serde_json::json;

use super::tab::{TabContext, render_tab};
use crate::api::PageError;
use crate::layout::quote;

#[derive(Template)]
#[template(path = "skill_install.html")]
struct InstallTab {
    snippets: Vec<Snippet>,
}

/// Lines to copy.
struct Snippet {
    title: &'static str,
    hint: &'static str,
    text: String,
}

pub(super) fn render(context: &TabContext<'_>) -> Result<String, PageError> {
    let base = &context.visitor.base_url;
    let (id, name) = (&context.skill.id, &context.skill.name);
    render_tab(&InstallTab {
        snippets: vec![
            Snippet {
                title: "Python",
                hint: "With Anthropic's SDK; any model of this server.",
                text: python(base, id),
            },
            Snippet {
                title: "TypeScript",
                hint: "With Anthropic's SDK; any model of this server.",
                text: typescript(base, id),
            },
            Snippet {
                title: "curl",
                hint: "",
                text: curl(base, id),
            },
            Snippet {
                title: "Claude Code, by MCP",
                hint: "All skills of this server, as tools and resources.",
                text: format!(
                    "claude mcp add --transport http skills {} \\\n  --header \"Authorization: Bearer $PROWESS_API_KEY\"",
                    quote(&format!("{base}/mcp"))
                ),
            },
            Snippet {
                title: "Agents that read folders",
                hint: "Needs an index tenant: [server] index_tenant in prowess.toml.",
                text: format!("npx skills add {} --skill {}", quote(base), quote(name)),
            },
        ],
    })
}

fn python(base: &str, id: &str) -> String {
    let (base, id) = (json!(base), json!(id));
    format!(
        r#"import os
import anthropic

client = anthropic.Anthropic(base_url={base}, api_key=os.environ["PROWESS_API_KEY"])
response = client.messages.create(
    model="openai/gpt-5.1",
    max_tokens=4096,
    container={{"skills": [{{"type": "custom", "skill_id": {id}, "version": "latest"}}]}},
    tools=[{{"type": "code_execution_20250825", "name": "code_execution"}}],
    messages=[{{"role": "user", "content": "…"}}],
)"#
    )
}

fn typescript(base: &str, id: &str) -> String {
    let (base, id) = (json!(base), json!(id));
    format!(
        r#"import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({{ baseURL: {base}, apiKey: process.env.PROWESS_API_KEY }});
const response = await client.messages.create({{
  model: "openai/gpt-5.1",
  max_tokens: 4096,
  container: {{ skills: [{{ type: "custom", skill_id: {id}, version: "latest" }}] }},
  tools: [{{ type: "code_execution_20250825", name: "code_execution" }}],
  messages: [{{ role: "user", content: "…" }}],
}});"#
    )
}

fn curl(base: &str, id: &str) -> String {
    let body = json!({
        "model": "openai/gpt-5.1",
        "max_tokens": 4096,
        "container": { "skills": [{ "type": "custom", "skill_id": id, "version": "latest" }] },
        "tools": [{ "type": "code_execution_20250825", "name": "code_execution" }],
        "messages": [{ "role": "user", "content": "…" }],
    });
    format!(
        "curl {} \\\n  -H \"x-api-key: $PROWESS_API_KEY\" -H 'content-type: application/json' \\\n  -d {}",
        quote(&format!("{base}/v1/messages")),
        quote(&body.to_string())
    )
}
