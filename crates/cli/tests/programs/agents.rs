//! How each coding agent is set up: where its model is, and where its skills are. The
//! commands and files are those of docs/coding-agents.md.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::environment::agent;
use crate::gateway::{ProgramGateway, model_of, skills};
use crate::installed::succeeded;
use crate::server::MASTER;
use crate::vendors::vendor::Vendor;

/// How an agent reaches skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum McpTransport {
    /// It starts `prowess mcp`.
    Stdio,
    /// It calls the server.
    Http,
}

/// What an agent works with.
pub(crate) struct AgentSetting<'a> {
    pub(crate) gateway: &'a ProgramGateway,
    pub(crate) home: &'a Path,
    pub(crate) vendor: Vendor,
    pub(crate) mcp: McpTransport,
}

impl AgentSetting<'_> {
    fn mcp_url(&self) -> String {
        format!("{}/mcp", self.gateway.url())
    }

    fn authorization(&self) -> String {
        format!("Authorization: Bearer {MASTER}")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.home.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn claude_command(&self) -> Command {
        let mut claude = agent("claude", self.home);
        claude
            .env("ANTHROPIC_BASE_URL", self.gateway.url())
            .env("ANTHROPIC_API_KEY", MASTER)
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("DISABLE_TELEMETRY", "1")
            .env("DISABLE_AUTOUPDATER", "1")
            .env("DISABLE_ERROR_REPORTING", "1");
        claude
    }

    /// Claude Code with its usual settings: it searches for the tools of MCP servers.
    pub(crate) fn claude(&self, task: &str) -> Command {
        let mut add = self.claude_command();
        add.args(["mcp", "add", "--scope", "user"]);
        match self.mcp {
            McpTransport::Stdio => add.args(["skills", "--", "prowess", "mcp"]).arg(skills()),
            McpTransport::Http => add
                .args(["--transport", "http", "skills", &self.mcp_url()])
                .args(["--header", &self.authorization()]),
        };
        succeeded(&mut add);
        let mut claude = self.claude_command();
        claude
            .args(["--print", task, "--output-format", "json"])
            .args(["--allowedTools", "mcp__skills"])
            .args(["--model", &model_of(self.vendor)]);
        claude
    }

    /// Codex, with these settings beside.
    pub(crate) fn codex(&self, settings: &str, task: &str) -> Command {
        let (model, url) = (model_of(self.vendor), self.gateway.url());
        self.write(
            ".codex/config.toml",
            &format!(
                "model = '{model}'\nmodel_provider = 'prowess'\n[analytics]\nenabled = false\n\
                 {settings}[model_providers.prowess]\nname = 'Prowess'\nwire_api = 'responses'\n\
                 base_url = '{url}/v1'\nenv_key = 'PROWESS_API_KEY'\n"
            ),
        );
        let mut add = agent("codex", self.home);
        add.args(["mcp", "add", "skills"]);
        match self.mcp {
            McpTransport::Stdio => add.args(["--", "prowess", "mcp"]).arg(skills()),
            McpTransport::Http => add
                .args(["--url", &self.mcp_url()])
                .args(["--bearer-token-env-var", "PROWESS_API_KEY"]),
        };
        succeeded(&mut add);
        let mut codex = agent("codex", self.home);
        // Its own sandbox cannot be had everywhere, and the tools are ours.
        codex
            .env("PROWESS_API_KEY", MASTER)
            .args(["exec", "--json", "--skip-git-repo-check"])
            .args(["--dangerously-bypass-approvals-and-sandbox", task]);
        codex
    }

    /// Gemini CLI, with a model at this address.
    pub(crate) fn gemini(&self, address: &str, model: &str, task: &str) -> Command {
        let settings = json!({
            "security": {
                "auth": {"selectedType": "gemini-api-key"},
                "folderTrust": {"enabled": false},
            },
            "privacy": {"usageStatisticsEnabled": false},
            "telemetry": {"enabled": false},
            "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
        });
        self.write(".gemini/settings.json", &settings.to_string());
        let command = || {
            let mut gemini = agent("gemini", self.home);
            gemini
                .env("GOOGLE_GEMINI_BASE_URL", address)
                .env("GEMINI_API_KEY", MASTER);
            gemini
        };
        let mut add = command();
        add.args(["mcp", "add", "--scope", "user"]);
        match self.mcp {
            McpTransport::Stdio => add.args(["skills", "prowess", "mcp"]).arg(skills()),
            McpTransport::Http => add
                .args(["--transport", "http", "skills", &self.mcp_url()])
                .args(["--header", &self.authorization()]),
        };
        succeeded(&mut add);
        let mut gemini = command();
        gemini.args(["--model", model, "--yolo"]).args([
            "--output-format",
            "json",
            "--prompt",
            task,
        ]);
        gemini
    }

    /// opencode by one of its providers.
    pub(crate) fn opencode(&self, provider: &str, task: &str) -> Command {
        let model = model_of(self.vendor);
        let named = format!("prowess/{model}");
        let options = json!({"baseURL": format!("{}/v1", self.gateway.url()), "apiKey": MASTER});
        let provider = json!({"npm": provider, "name": "Prowess", "options": options,
                              "models": {model: {"name": "tested"}}});
        let config = json!({
            "autoupdate": false, "share": "disabled", "model": named, "small_model": named,
            "provider": {"prowess": provider}, "mcp": {"skills": self.opencode_mcp()},
        });
        self.write("opencode.json", &config.to_string());
        let mut opencode = agent("opencode", self.home);
        opencode
            .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
            .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
            .env("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1")
            .env("OPENCODE_DISABLE_LSP_DOWNLOAD", "1")
            .args(["run", "--format", "json", task]);
        opencode
    }

    fn opencode_mcp(&self) -> Value {
        match self.mcp {
            McpTransport::Stdio => {
                json!({"type": "local", "command": ["prowess", "mcp", skills()]})
            }
            McpTransport::Http => json!({"type": "remote", "url": self.mcp_url(), "oauth": false,
                "headers": {"Authorization": format!("Bearer {MASTER}")}}),
        }
    }
}
