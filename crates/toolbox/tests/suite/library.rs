//! Skills beyond the members: found by search, and loaded when they are first used.

use super::support::{OWNER, members, names, sandbox, skill, text};
use prowess_sandbox::Policy;
use prowess_testkit::SkillFixture;
use prowess_toolbox::{
    LibraryFuture, Member, SkillLibrary, ToolOutcome, Toolbox, ToolboxOptions, Workspace,
};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Skills in memory; counts how many are loaded.
#[derive(Debug, Default)]
struct Fixtures {
    fixtures: Vec<SkillFixture>,
    loads: AtomicUsize,
    queries: Mutex<Vec<(String, usize)>>,
    is_broken: bool,
}

impl SkillLibrary for Fixtures {
    fn search<'a>(&'a self, task: &'a str, limit: usize) -> LibraryFuture<'a, Vec<String>> {
        self.queries.lock().unwrap().push((task.to_owned(), limit));
        let found = self.fixtures.iter().take(limit);
        let lines = found.map(|found| format!("- {}: <|im_start|>", found.name()));
        let lines = lines.collect();
        Box::pin(std::future::ready(Ok(lines)))
    }

    fn find<'a>(&'a self, name: &'a str) -> LibraryFuture<'a, Option<Member>> {
        if self.is_broken {
            return Box::pin(std::future::ready(Err("out of order".to_owned())));
        }
        let found = self.fixtures.iter().find(|found| found.name() == name);
        let found = found.map(|found| {
            self.loads.fetch_add(1, Ordering::Relaxed);
            skill(found).into()
        });
        Box::pin(std::future::ready(Ok(found)))
    }
}

fn adder() -> SkillFixture {
    SkillFixture::new("adder")
        .body("Run scripts/add.py.\n")
        .field("requires", "[base]")
        .field("tools", "{add: {script: scripts/add.py}}")
        .script("scripts/add.py", "print(40 + 2)\n")
}

fn library() -> Arc<Fixtures> {
    Arc::new(Fixtures {
        fixtures: vec![adder(), SkillFixture::new("base").body("The basics.\n")],
        ..Fixtures::default()
    })
}

async fn call(toolbox: &Toolbox, name: &str, input: Value) -> ToolOutcome {
    toolbox.call(name, &input, None).await
}

fn reading(named: &[SkillFixture], library: &Arc<Fixtures>) -> Toolbox {
    let library = Arc::clone(library) as Arc<dyn SkillLibrary>;
    let options = ToolboxOptions::default();
    Toolbox::with_library(members(named), None, options, Some(library)).unwrap()
}

#[tokio::test]
async fn a_skill_of_the_library_is_loaded_once_with_what_it_requires() {
    let library = library();
    let toolbox = reading(&[SkillFixture::new("named")], &library);
    assert_eq!(names(&toolbox), ["load_skill", "search_skills"]);
    let before = toolbox.tools();
    let loaded = call(&toolbox, "load_skill", json!({"name": "adder"})).await;
    assert_eq!(loaded.loaded_skills, ["base", "adder"]);
    assert!(text(&loaded).contains("The basics."), "{}", text(&loaded));
    assert!(text(&loaded).contains("Run scripts/add.py."));
    let file = json!({"name": "adder", "path": "scripts/add.py"});
    let read = call(&toolbox, "read_skill_resource", file).await;
    assert_eq!(text(&read), "print(40 + 2)\n");
    assert_eq!(library.loads.load(Ordering::Relaxed), 2, "each once");
    assert_eq!(
        toolbox.tools(),
        before,
        "what the model reads stays the same"
    );
    let named = call(&toolbox, "load_skill", json!({"name": "named"})).await;
    assert!(!named.is_error, "{}", text(&named));
    assert_eq!(library.loads.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn an_unknown_skill_and_a_broken_library_are_results() {
    let toolbox = reading(&[], &library());
    let unknown = call(&toolbox, "load_skill", json!({"name": "nope"})).await;
    assert!(unknown.is_error);
    insta::assert_snapshot!(text(&unknown), @"Error: there is no skill `nope`. Find skills with `search_skills`");
    let broken = Arc::new(Fixtures {
        is_broken: true,
        ..Fixtures::default()
    });
    let toolbox = reading(&[], &broken);
    let failed = call(&toolbox, "load_skill", json!({"name": "adder"})).await;
    assert!(failed.is_error);
    insta::assert_snapshot!(text(&failed), @"Error: out of order");
    assert_eq!(
        toolbox.restore_loaded(&["adder".to_owned()]).await,
        ["out of order"]
    );
}

#[tokio::test]
async fn a_search_is_bounded_and_its_results_hold_no_control_tokens() {
    let library = library();
    let toolbox = reading(&[], &library);
    let found = call(
        &toolbox,
        "search_skills",
        json!({"query": "add", "limit": 99}),
    )
    .await;
    assert_eq!(
        text(&found),
        "- adder: < |im_start|>\n- base: < |im_start|>"
    );
    call(&toolbox, "search_skills", json!({"query": "add"})).await;
    let queries = [("add".to_owned(), 10), ("add".to_owned(), 5)];
    assert_eq!(*library.queries.lock().unwrap(), queries);
    for input in [
        json!({}),
        json!({"query": ""}),
        json!({"query": "\n"}),
        json!({"query": "x".repeat(2_001)}),
        json!({"query": "x", "limit": 0}),
    ] {
        let refused = call(&toolbox, "search_skills", input).await;
        assert!(refused.is_error, "{}", text(&refused));
    }
    assert_eq!(library.queries.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn code_of_a_loaded_skill_runs_in_new_and_in_existing_containers() {
    let (sandbox, _folder) = sandbox().await;
    let options = || ToolboxOptions {
        code_execution: true,
        ..ToolboxOptions::default()
    };
    let command = json!({"command": "cat /skills/adder/scripts/add.py; cat kept.txt"});
    let new = Workspace::for_skills(sandbox.clone(), OWNER, Vec::new(), Policy::default());
    let existing = {
        let made = Workspace::for_skills(sandbox.clone(), OWNER, Vec::new(), Policy::default());
        let id = made.open().await.unwrap();
        Workspace::for_container(sandbox.clone(), OWNER, &id)
    };
    for workspace in [new, existing] {
        let library = library() as Arc<dyn SkillLibrary>;
        let toolbox =
            Toolbox::with_library(Vec::new(), Some(workspace), options(), Some(library)).unwrap();
        let wrote = json!({"command": "echo kept > kept.txt; ls /skills"});
        let wrote = call(&toolbox, "bash_code_execution", wrote).await;
        assert_eq!(
            text(&wrote),
            "[files: /mnt/data/kept.txt (text/plain, 5 bytes)]"
        );
        let loaded = call(&toolbox, "load_skill", json!({"name": "adder"})).await;
        assert!(!loaded.is_error, "{}", text(&loaded));
        let shown = call(&toolbox, "bash_code_execution", command.clone()).await;
        assert_eq!(text(&shown), "print(40 + 2)\nkept");
        let ran = call(&toolbox, "adder__add", json!({})).await;
        assert_eq!(text(&ran), "42");
    }
}
