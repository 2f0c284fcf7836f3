//! What the console shows, from a shell on another machine: by the same API, with the same numbers
//! as those of the store itself.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::server::prowess;
use crate::stage::{OPERATOR, Stage};
use crate::story::Story;

/// A machine that has no store.
struct Elsewhere<'a> {
    stage: &'a Stage,
    folder: tempfile::TempDir,
}

impl Elsewhere<'_> {
    /// A command about the server.
    fn run(&self, key: &str, args: &[&str]) -> Output {
        let mut command = prowess(self.folder.path());
        command.args(args).args(["--server", self.stage.url()]);
        command.env("PROWESS_API_KEY", key).output().unwrap()
    }

    /// What it prints for the operator.
    fn text(&self, args: &[&str]) -> String {
        printed(&self.run(OPERATOR, args))
    }
}

/// What a command that must have worked has printed.
fn printed(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The same command on the store itself.
fn at_the_store(folder: &Path, args: &[&str]) -> String {
    printed(&prowess(folder).args(args).output().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_and_runs_of_a_server_are_those_of_its_store() {
    let story = Story::prepare().await;
    let elsewhere = Elsewhere {
        stage: &story.stage,
        folder: tempfile::tempdir().unwrap(),
    };
    let run = story.run.as_str();
    let commands: [&[&str]; 8] = [
        &["usage", "--by", "model"],
        &["usage", "--by", "day", "--json"],
        &["usage", "--by", "tenant", "--tenant", "default", "--json"],
        &["usage", "--by", "skill", "--json"],
        &["runs"],
        &[
            "runs",
            "--state",
            "completed",
            "--skill",
            "report",
            "--json",
        ],
        &["runs", run],
        &["runs", run, "--json"],
    ];
    for args in commands {
        let shown = elsewhere.text(args);
        assert_eq!(shown, at_the_store(story.stage.folder(), args), "{args:?}");
        let is_of_the_story = ["demo", "default", "report", "requests"];
        assert!(
            is_of_the_story.iter().any(|word| shown.contains(word)),
            "{args:?}: {shown}"
        );
    }
    let listed = elsewhere.text(&["runs", "--model", "none", "--json"]);
    assert_eq!(listed, "[]\n");
    let refused = elsewhere.run(OPERATOR, &["runs", "run_none"]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(!elsewhere.folder.path().join("data").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn tenants_providers_and_the_configuration_are_for_the_operator() {
    let story = Story::prepare().await;
    let admin = story.stage.key("ada", "acme", "admin");
    let elsewhere = Elsewhere {
        stage: &story.stage,
        folder: tempfile::tempdir().unwrap(),
    };
    let tenants = elsewhere.text(&["tenants", "--since", "1d"]);
    let names: Vec<&str> = tenants
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(names, ["TENANT", "acme", "default"]);
    let listed: Value = serde_json::from_str(&elsewhere.text(&["tenants", "--json"])).unwrap();
    assert_eq!(listed[1]["id"], "default");
    assert_eq!(listed[1]["skills"], 2);
    let providers = elsewhere.text(&["providers"]);
    assert!(
        providers.contains("stage") && providers.contains("closed"),
        "{providers}"
    );
    let shown: Value = serde_json::from_str(&elsewhere.text(&["config", "show"])).unwrap();
    assert_eq!(shown["database"], "sqlite");
    assert!(
        shown["settings"]["providers"]["stage"].is_object(),
        "{shown}"
    );
    for args in [&["tenants"][..], &["providers"], &["config", "show"]] {
        let refused = elsewhere.run(&admin, args);
        assert_eq!(refused.status.code(), Some(3), "{args:?}");
        let errors = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!errors.is_empty() && refused.stdout.is_empty(), "{args:?}");
    }
    // An administrator sees the usage of their own tenant only.
    let own = printed(&elsewhere.run(&admin, &["usage", "--json"]));
    assert_eq!(own, "[]\n");
}
