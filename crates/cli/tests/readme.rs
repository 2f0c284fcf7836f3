//! README.md works as it is written: its start, from an empty folder with the real binary,
//! and its requests, with a scripted model in place of the provider's.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod installed;
mod markdown;
mod server;

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use installed::{installed, succeeded};
use markdown::{ADDRESS, blocks, read_page, repository, search_path};
use prowess_testkit::bytecode::keep_bytecode;
use server::TestServer;

const PAGE: &str = "README.md";

/// A fenced block of the page.
struct ReadmeBlock {
    language: &'static str,
    first_line: &'static str,
    /// Why no test of this file runs it.
    not_run: Option<&'static str>,
}

const INSTALL: ReadmeBlock = ReadmeBlock {
    language: "sh",
    first_line: "pip install target/dist/artefacts/prowess-*.whl",
    not_run: Some("it installs packages: xtask/tests/dist runs it in a system of its own"),
};

const START: ReadmeBlock = ReadmeBlock {
    language: "sh",
    first_line: "prowess demo --once",
    not_run: None,
};

const RUN: ReadmeBlock = ReadmeBlock {
    language: "sh",
    first_line: "export OPENAI_API_KEY=…",
    not_run: None,
};

const SDK: ReadmeBlock = ReadmeBlock {
    language: "python",
    first_line: "import anthropic",
    not_run: None,
};

impl ReadmeBlock {
    fn text(&self) -> String {
        let page = read_page(PAGE);
        let mut blocks = blocks(&page).into_iter();
        let first_line = format!("{}\n", self.first_line);
        let block = blocks.find(|block| block.text.starts_with(&first_line));
        block.unwrap().text
    }
}

#[test]
fn every_block_is_run_or_has_a_reason_why_not() {
    let page = read_page(PAGE);
    let found = blocks(&page);
    let found: Vec<_> = found
        .iter()
        .map(|block| {
            (
                block.language,
                block.text.lines().next().unwrap_or_default(),
            )
        })
        .collect();
    let known = [INSTALL, START, RUN, SDK];
    let known = known.map(|block| {
        assert!(block.not_run.is_none_or(|reason| !reason.is_empty()));
        (block.language, block.first_line)
    });
    assert_eq!(found, known);
}

/// A shell that sees nothing of this process but its search path.
fn bash(folder: &Path, home: &Path, program: &str) -> Command {
    let mut command = Command::new("bash");
    command
        .args(["-euo", "pipefail", "-c", program])
        .current_dir(folder)
        .stdin(Stdio::null())
        .env_clear()
        .env("PATH", search_path())
        .env("HOME", home)
        .env("PROWESS_DATA_DIR", home.join("data"));
    command
}

fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// A `sleep` that ends when the server listens: a second is not always enough for a debug
/// build on a busy machine.
fn write_patient_sleep(folder: &Path) {
    let sleep = folder.join("sleep");
    let program = "#!/bin/bash\n\
                   for _ in {1..600}; do\n\
                   grep -qs '^listening on ' serve.log && exit 0\n\
                   /bin/sleep 0.1\n\
                   done\n\
                   cat serve.log >&2; exit 1\n";
    std::fs::write(&sleep, program).unwrap();
    std::fs::set_permissions(&sleep, PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn the_start_works_in_an_empty_folder() {
    let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_patient_sleep(home.path());
    // The test waits for all that hold its end of the pipe, so a failure must end the server.
    let program = format!("trap 'kill \"${{!:-}}\"' ERR\n{}", START.text());
    let mut command = bash(folder.path(), home.path(), &program);
    let address = free_address();
    let path = format!("{}:{}", home.path().display(), search_path());
    command
        .env("PATH", path)
        .env("PROWESS_LISTEN", &address)
        .env("PROWESS_URL", format!("http://{address}"));
    let output = succeeded(&mut command);

    let picture = std::fs::read(folder.path().join("ball.gif")).unwrap();
    assert!(picture.starts_with(b"GIF89a"));
    assert!(folder.path().join("greeter/SKILL.md").exists());
    for shown in ["greeter__greet", "Hello, Ada!"] {
        assert!(output.contains(shown), "{shown} is not in:\n{output}");
    }
    let log = std::fs::read_to_string(folder.path().join("serve.log")).unwrap();
    assert!(log.contains(&address), "{log}");
    assert!(home.path().join("data/prowess.db").exists());
}

#[test]
fn the_requests_work_with_a_scripted_model() {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("prowess.toml");
    let script = repository().join("examples/guide/script.toml");
    let text = format!(
        "[providers.stage]\nkind = 'scripted'\nscript = '{}'\n\
         [[models]]\nname = 'openai/gpt-5.1'\nprovider = 'stage'\n",
        script.display()
    );
    std::fs::write(&config, text).unwrap();
    let config = config.to_str().unwrap();
    let server = TestServer::start(&[("PROWESS_CONFIG", config), ("PROWESS_MASTER_KEY", "")]);
    let shell = |program: &str| {
        let mut command = bash(server.folder(), home.path(), program);
        command.env("PROWESS_CONFIG", config);
        succeeded(command.env("PROWESS_URL", server.url()))
    };

    let start = START.text();
    let commands = start.lines().filter(|line| {
        let verbs = ["prowess skill new ", "prowess skill push "];
        verbs.iter().any(|verb| line.starts_with(verb))
    });
    shell(&commands.collect::<Vec<_>>().join("\n"));

    let answer = shell(&RUN.text());
    assert!(answer.contains("I have greeted Ada"), "{answer}");
    let card = std::fs::read_to_string(server.folder().join("files/card.txt")).unwrap();
    assert_eq!(card, "Dear Ada, hello.\n");

    let program = SDK.text().replace(ADDRESS, server.url()) + "print(response.content[-1].text)\n";
    let mut python = Command::new(installed("anthropic-2.8").join("bin/python"));
    keep_bytecode(python.args(["-c", &program]).env_clear());
    let answer = succeeded(&mut python);
    assert_eq!(answer, "I have greeted Ada and written card.txt.\n");
}
