//! A cluster in which no worker takes a command.

use super::support::{OWNER, skill};
use prowess_bus::Bus;
use prowess_cluster::{ClusterSandboxes, ClusterSettings};
use prowess_sandbox::{Error as SandboxError, Policy, SharedSandboxes};
use prowess_store::{Store, StoreConfig, TenantId};
use prowess_testkit::SkillFixture;
use prowess_toolbox::{Toolbox, ToolboxError, ToolboxOptions, Workspace, observe_commands};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// A gateway's sandboxes without any worker, whose commands do not wait long.
async fn sandboxes(folder: &TempDir) -> SharedSandboxes {
    let store = Store::open(&StoreConfig::local(folder.path()))
        .await
        .unwrap();
    let tenant = TenantId::new(OWNER).unwrap();
    store.ensure_tenant(&tenant, OWNER).await.unwrap();
    let settings = ClusterSettings {
        wait: Duration::from_millis(50),
        ..ClusterSettings::new(Bus::local(), "prowess", "gateway-0")
    };
    Arc::new(ClusterSandboxes::start(store, settings).await.unwrap())
}

#[tokio::test]
async fn no_container_is_made_without_its_packages_because_no_worker_has_room() {
    let folder = TempDir::new().unwrap();
    let sandbox = sandboxes(&folder).await;
    let fixture = SkillFixture::new("gif").file("requirements.txt", "pillow>=10\n");
    let skills = vec![Arc::new(skill(&fixture))];
    let workspace = Workspace::for_skills(sandbox.clone(), OWNER, skills, Policy::default());
    let error = workspace.open().await.unwrap_err();
    let is_missing = matches!(error, ToolboxError::Sandbox(SandboxError::NoWorker { .. }));
    assert!(is_missing, "{error}");
    let made = sandbox.containers_of_owner(OWNER).await.unwrap();
    assert!(made.is_empty(), "{made:?}");
    // One that needs no packages needs no worker.
    let workspace = Workspace::for_skills(sandbox, OWNER, Vec::new(), Policy::default());
    workspace.open().await.unwrap();
}

#[tokio::test]
async fn who_observes_a_call_learns_that_no_worker_took_its_command() {
    let folder = TempDir::new().unwrap();
    let sandbox = sandboxes(&folder).await;
    let workspace = Workspace::for_skills(sandbox, OWNER, Vec::new(), Policy::default());
    let options = ToolboxOptions {
        code_execution: true,
        ..ToolboxOptions::default()
    };
    let toolbox = Toolbox::new(Vec::new(), Some(workspace), options).unwrap();
    let input = json!({ "command": "true" });
    let call = toolbox.call("bash_code_execution", &input, None);
    let (outcome, commands) = observe_commands(None, call).await;
    assert!(outcome.is_error);
    let missing = commands.missing_worker.unwrap();
    assert_eq!(missing.why, "none is connected");
    assert!(missing.retry_after > Duration::ZERO);
}
