//! `prowess demo`: an end-to-end run without keys or configuration. Server, skill, sandbox
//! and request are real; only the model is scripted.
//!
//! | module | owns |
//! |---|---|
//! | `demo_server` | the server and its skill |
//! | `answer_printer` | prints the response as its events arrive |
//! | `next_steps` | commands to try afterwards |
//! | `open_browser` | opening the console, if somebody wants it |

mod answer_printer;
mod demo_server;
mod next_steps;
mod open_browser;

use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::Context;
use prowess_sandbox::Grade;
use prowess_skill::disclose::catalogue_entry;
use serde_json::{Value, json};

use super::output::{self, DIM, GOOD, STRONG, format_count, format_size};
use super::serve::Signals;
use super::{Exit, display_path, paths};
use demo_server::DemoServer;

const EXIT_CODES: &str = "\
Exit codes:
  0  the demo ran
  1  the demo cannot run on this host; the output names what is missing
  2  wrong usage
  3  something could not be read or written";

/// Run a local end-to-end demo (no API key).
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Args {
    /// Where to write the GIF that the skill creates
    #[arg(short, long, value_name = "FILE", default_value = "ball.gif")]
    #[arg(value_parser = paths::path_parser())]
    output: PathBuf,
    /// Stop the server after the demo. Default when standard output is not a terminal;
    /// otherwise the server runs until Ctrl-C
    #[arg(long)]
    once: bool,
    /// Keep the server running even when standard output is not a terminal
    #[arg(long, conflicts_with = "once")]
    keep: bool,
    /// Open the console in a browser without asking. Only on a terminal
    #[arg(long, conflicts_with = "once")]
    open: bool,
    /// Accepted for scripts; without effect. The demo runs only its own skill, so it always
    /// accepts a reduced sandbox, and prints which features are missing
    #[arg(long, hide = true)]
    reduced: bool,
}

impl Args {
    fn keeps_serving(&self) -> bool {
        self.keep || !self.once && std::io::stdout().is_terminal()
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(async {
        let signals = Signals::listen().context("cannot listen for signals")?;
        // Only the demo's own code runs, and the model is scripted.
        let stage = DemoServer::open(|sandbox| sandbox.allow_reduced = true).await?;
        let outcome = run_demo(args, &stage, signals).await;
        stage.close().await;
        outcome
    })
}

async fn run_demo(args: &Args, stage: &DemoServer, mut signals: Signals) -> anyhow::Result<Exit> {
    let shown = tokio::select! {
        shown = show_steps(args, stage) => shown?,
        () = signals.next() => return Ok(Exit::Problems),
    };
    let Some(shown) = shown else {
        return Ok(Exit::Problems);
    };
    if !args.keeps_serving() {
        next_steps::print_after_end(!is_strict(stage).await)?;
        return Ok(Exit::Ok);
    }
    let page = show_console(stage, &shown)?;
    next_steps::print_while_serving(&stage.url, &shown.skill, stage.folder())?;
    output::print_text(&format!(
        "\n{DIM}The server is running. Press Ctrl-C to stop it.{DIM:#}\n"
    ))?;
    let answer = open_browser::ask(args.open)?;
    tokio::select! {
        Ok(true) = answer => open_browser::open(&page),
        () = signals.next() => return Ok(Exit::Ok),
    }
    signals.next().await;
    Ok(Exit::Ok)
}

/// Whether the sandbox has all of its features on this host.
async fn is_strict(stage: &DemoServer) -> bool {
    let sandbox = stage.prowess.sandbox().await;
    sandbox.is_ok_and(|sandbox| sandbox.grade() == Grade::Strict)
}

fn step(number: usize, title: &str) -> anyhow::Result<()> {
    output::print_text(&format!("\n{STRONG}{number}. {title}{STRONG:#}\n"))
}

/// What the demo has made: ids of its skill and its run.
struct Shown {
    skill: String,
    run: Option<String>,
}

/// Where to see all of it in a browser; returns the address to open first. The server has no
/// master key, so nobody on this machine has to sign in.
fn show_console(stage: &DemoServer, shown: &Shown) -> anyhow::Result<String> {
    let console = format!("{}/console", stage.url);
    step(6, "See it in a browser")?;
    output::print_text(&format!("   {GOOD}console{GOOD:#} {console}\n"))?;
    let Some(run) = &shown.run else {
        return Ok(console);
    };
    let page = format!("{console}/runs/{run}");
    output::print_text(&format!("   {GOOD}the run{GOOD:#} {page}\n"))?;
    Ok(page)
}

/// Runs all steps; `None` where no code can run.
async fn show_steps(args: &Args, stage: &DemoServer) -> anyhow::Result<Option<Shown>> {
    step(1, "Start a server with a scripted model")?;
    output::print_text(&format!("   {}\n", stage.url))?;
    match stage.prowess.sandbox().await {
        Err(error) => {
            output::print_error(&error.to_string());
            output::print_remark(
                "the demo runs a script of a skill, and this host supports no sandbox; \
                 `prowess doctor` shows what is missing",
            );
            return Ok(None);
        }
        Ok(sandbox) => {
            if let Grade::Reduced { missing } = sandbox.grade() {
                output::print_remark(&format!(
                    "this host supports only a reduced sandbox, without {}; the demo uses it \
                     for its own skill. `prowess doctor` shows how to get the rest",
                    missing.join(", ")
                ));
            }
        }
    }
    let id = upload(stage).await?;
    let body = request(&id);
    step(
        3,
        "Send one request that names the skill (Anthropic Messages API)",
    )?;
    let pretty = serde_json::to_string_pretty(&body)?;
    output::print_text(&format!("   {DIM}POST {}/v1/messages{DIM:#}\n", stage.url))?;
    for line in pretty.lines() {
        output::print_text(&format!("   {line}\n"))?;
    }
    step(4, "Stream the response")?;
    let catalogue_bytes = catalogue_entry(&stage.skill, usize::MAX).len();
    output::print_text(&format!(
        "   {DIM}prompt {DIM:#} skill listed in {}; details load on demand\n",
        format_size(catalogue_bytes as u64)
    ))?;
    let response = stage.send_request(&body).await?;
    let run = response.headers().get("prowess-run");
    let run = run.and_then(|run| run.to_str().ok()).map(str::to_owned);
    let files = answer_printer::print_answer(response).await?;
    save(args, stage, &files).await?;
    Ok(Some(Shown { skill: id, run }))
}

async fn upload(stage: &DemoServer) -> anyhow::Result<String> {
    step(
        2,
        "Upload a skill; the server validates, scans and stores it",
    )?;
    let skill = &stage.skill;
    output::print_text(&format!("   {}: {}\n", skill.name, skill.description))?;
    for file in skill.manifest.files() {
        output::print_text(&format!(
            "   {:>8}  {}\n",
            format_size(file.size),
            file.path
        ))?;
    }
    let id = stage.upload().await?;
    output::print_text(&format!("   {GOOD}stored{GOOD:#} as {id}\n"))?;
    Ok(id)
}

fn request(skill: &str) -> Value {
    json!({
        "model": "demo",
        "max_tokens": 1024,
        "stream": true,
        "container": {"skills": [{"type": "custom", "skill_id": skill, "version": "latest"}]},
        "tools": [{"type": "code_execution_20260521", "name": "code_execution"}],
        "messages": [{"role": "user", "content": "Make me a bouncing ball"}],
    })
}

async fn save(args: &Args, stage: &DemoServer, files: &[String]) -> anyhow::Result<()> {
    step(5, "Download the generated file")?;
    let id = files.first().context("the run created no file")?;
    output::print_text(&format!(
        "   {DIM}GET {}/v1/files/{id}/content{DIM:#}\n",
        stage.url
    ))?;
    let content = stage.download(id).await?;
    std::fs::write(&args.output, &content)
        .with_context(|| format!("{} cannot be written", display_path(&args.output)))?;
    let place = std::path::absolute(&args.output)?;
    output::print_text(&format!(
        "   {GOOD}saved{GOOD:#} {} ({}, {})\n",
        display_path(&place),
        format_count(files.len(), "file"),
        format_size(content.len() as u64)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn where_no_code_can_run_nothing_is_stored_and_it_ends_as_a_problem() {
        let nowhere = tempfile::tempdir().unwrap();
        let runtime = nowhere.path().to_owned();
        let stage = DemoServer::open(move |sandbox| sandbox.runtime = runtime.into()).await;
        let stage = stage.unwrap();
        let args = Args {
            output: nowhere.path().join("ball.gif"),
            once: true,
            keep: false,
            open: false,
            reduced: true,
        };
        let refused = stage.prowess.sandbox().await.unwrap_err();
        assert_eq!(refused.code(), "sandbox-unavailable");
        assert!(
            refused.to_string().contains("holds no runtime"),
            "{refused}"
        );
        let signals = Signals::listen().unwrap();
        let outcome = run_demo(&args, &stage, signals).await.unwrap();
        assert_eq!(outcome, Exit::Problems);
        let (store, page) = (stage.prowess.store(), Default::default());
        let tenant = prowess_store::TenantId::default_tenant();
        let stored = store.list_skills(&tenant, &Default::default(), &page).await;
        assert!(stored.unwrap().items.is_empty());
        assert!(!args.output.exists());
        stage.close().await;
    }
}
