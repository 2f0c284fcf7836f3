//! Help, version and completions.

use std::process::Command;

use insta::assert_snapshot;

use crate::workdir::Workdir;

#[test]
fn help_names_the_verbs_and_the_exit_codes() {
    assert_snapshot!(Workdir::new().run(&["--help"]), @"
    exit 0
    --- stdout
    Agent Skills for any model.

    Usage: prowess <COMMAND>

    Commands:
      demo             Run a local end-to-end demo (no API key)
      run              Send a prompt to a model, with skills
      batch            Send many prompts to a model, with skills
      skill            Create, validate, show, pack, scan, upload and download skills
      tools            List the tools that skills provide to a model
      call             Call a tool as a model would
      mcp              Run an MCP server for skills on standard input and output
      serve            Run the server: model gateway, skills API, files, MCP
      worker           Run a worker: commands of a cluster's gateways, in this host's sandbox
      cluster          Show the gateways and workers of a cluster
      keys             Create, list, change, rotate and revoke API keys
      audit            Read the audit log
      tenants          List the tenants of a server
      providers        Show the health of a server's providers
      runs             List runs, show one, follow or cancel a run of a server
      batches          List batches, show one, or cancel one
      config           Check, show or reload a configuration, or import one from LiteLLM
      models           Show known models, their limits and prices
      usage            Show model usage and cost
      sandbox          Run commands in the sandbox, without a server
      runtime          Install, list, check and remove runtimes: programs and libraries for skills
      doctor           Check this installation: sandbox, runtime, store, providers, port and disk
      completions      Print a shell completion script
      validate         Validate a skill like the reference validator
      read-properties  Print a skill's properties as JSON, like the reference validator
      to-prompt        Print <available_skills> for a prompt, like the reference validator

    Options:
      -h, --help     Print help
      -V, --version  Print version

    Exit codes:
      0  success
      1  the command ran and found a problem
      2  wrong usage
      3  the command failed, or could not read or write something
    --- stderr
    ");
    assert_snapshot!(Workdir::new().run(&["skill", "--help"]), @"
    exit 0
    --- stdout
    Create, validate, show, pack, scan, upload and download skills

    Usage: prowess skill <COMMAND>

    Commands:
      new       Create a new skill
      validate  Validate skills and explain problems
      show      Show the content of a skill
      list      List the skills of folders and archives, or of a server
      route     Rank skills for a task, and show why
      overlap   List skills that are found for each other's queries
      pack      Pack a skill into an archive
      scan      Scan skills for security problems, without running anything
      explain   Explain a rule, or list all of them
      push      Upload skills to a server
      pull      Download a skill from a server
      import    Have a server import skills from a URL
      versions  List the versions of a skill on a server
      diff      Show what differs between two versions of a skill, or between two skills
      label     List, set, move or delete the labels of a skill on a server
      note      Set or delete the note of a version of a skill on a server
      default   Set the default version of a skill on a server
      revoke    Revoke a version of a skill on a server: nothing can use it
      restore   Restore a revoked version of a skill on a server
      usage     List how often the skills of a server were offered, loaded and used
      delete    Delete a skill, or a version of it, from a server

    Options:
      -h, --help  Print help
    --- stderr
    ");
}

#[test]
fn every_command_explains_itself() {
    assert_snapshot!(helps(&[]));
}

/// The help of a command, and of all that it names.
fn helps(command: &[&str]) -> String {
    let text = help(command);
    let listed = text.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    // What a line has no room for is in the next one, indented deeper.
    let listed = listed.filter_map(|line| line.strip_prefix("  "));
    let names = listed.filter(|line| !line.starts_with(' '));
    let names = names.filter_map(|line| line.split(' ').next());
    let below: String = names
        .map(|name| helps(&[command, &[name]].concat()))
        .collect();
    let title = format!("=== prowess {}", command.join(" "));
    format!("{}\n{text}\n{below}", title.trim_end())
}

fn help(command: &[&str]) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_prowess"));
    // It would show their values.
    let variables = std::env::vars_os().map(|(name, _)| name);
    for name in variables.filter(|name| name.to_string_lossy().starts_with("PROWESS_")) {
        program.env_remove(name);
    }
    program.args(command).arg("--help").env("COLUMNS", "100");
    let output = program.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    // Lists of possible values end with a line of spaces.
    let lines = text.lines().map(|line| format!("{}\n", line.trim_end()));
    lines.collect()
}

#[test]
fn the_help_of_a_command_has_more_than_the_list_of_commands() {
    let has = |command: &[&str], expected: &str| {
        let shown = Workdir::new().run(&[command, &["--help"]].concat());
        let words: Vec<_> = shown.split_whitespace().collect();
        assert!(words.join(" ").contains(expected), "{shown}");
    };
    has(
        &["call"],
        "A tool of a skill has a full name, `skill_name__tool`",
    );
    has(
        &["skill", "push"],
        "when the latest version has the same files",
    );
    has(&["sandbox", "exec"], "writes to /mnt/data are listed");
}

#[test]
fn the_version_names_the_commit() {
    let shown = Workdir::new().run(&["--version"]);
    assert!(
        shown.contains(concat!("prowess ", env!("CARGO_PKG_VERSION"), " (")),
        "{shown}"
    );
}

#[test]
fn completions_are_there_for_common_shells() {
    for shell in ["bash", "zsh", "fish"] {
        let shown = Workdir::new().run(&["completions", shell]);
        assert!(
            shown.starts_with("exit 0") && shown.contains("read-properties"),
            "{shell}"
        );
    }
}
