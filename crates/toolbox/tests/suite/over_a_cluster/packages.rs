//! Packages that skills require, installed by the worker that runs their commands.

use super::package_index::{IndexServer, wheel};
use super::place::CommandPlace;
use super::support::{OWNER, skill};
use prowess_sandbox::{Command, Execution, Policy, SandboxSettings};
use prowess_testkit::SkillFixture;
use prowess_toolbox::Workspace;
use std::sync::Arc;
use tempfile::TempDir;

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_installs_what_skills_require_once_for_all_their_containers() {
    let index = IndexServer::serve(&[wheel("tiny", "")]);
    let folder = TempDir::new().unwrap();
    let mut settings = SandboxSettings::new(folder.path());
    settings.allow_reduced = true;
    settings.warm = 0;
    index.set_as_index(&mut settings);
    let (sandbox, _place) = CommandPlace::open(folder, settings, OWNER).await;
    let fixture = SkillFixture::new("gif").file("requirements.txt", "# small\ntiny>=1.0\n");
    let skills = vec![Arc::new(skill(&fixture))];
    let answer = async || {
        let (sandbox, skills) = (sandbox.clone(), skills.clone());
        let workspace = Workspace::for_skills(sandbox, OWNER, skills, Policy::default());
        let execution = Execution {
            command: Command::Python("import tiny; print(tiny.answer)".to_owned()),
            ..Execution::default()
        };
        let report = workspace.run(execution).await.unwrap();
        (report.stdout.text, report.stderr.text)
    };
    let expected = ("42\n".to_owned(), String::new());
    assert_eq!(answer().await, expected);
    let installed = index.requests();
    assert!(installed.iter().any(|path| path == "/simple/tiny/"));
    // Another container has the same packages, and neither index nor network.
    assert_eq!(answer().await, expected);
    assert_eq!(index.requests(), installed);
}
