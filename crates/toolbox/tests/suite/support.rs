//! Skills from fixtures, toolboxes over them, and a real sandbox to run in.

use super::place::CommandPlace;
use prowess_sandbox::{Policy, SandboxSettings, SharedSandboxes};
use prowess_skill::{Bundle, BundleLimits, LoadOptions as Loading, Skill};
use prowess_testkit::SkillFixture;
use prowess_toolbox::{
    ContentPart, Member, NativeCall, ToolOutcome, Toolbox, ToolboxOptions, Workspace,
};
use serde_json::Value;
use std::sync::Arc;
use tempfile::TempDir;

pub(crate) const OWNER: &str = "someone";

/// A skill of a fixture's files.
pub(crate) fn skill(fixture: &SkillFixture) -> Skill {
    let bundle = Bundle::from_files(fixture.files(), &BundleLimits::default()).unwrap();
    let options = Loading {
        fallback_name: Some(fixture.name()),
        ..Loading::default()
    };
    let loaded = Skill::load(bundle, &options);
    loaded
        .skill
        .unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
}

pub(crate) fn members(fixtures: &[SkillFixture]) -> Vec<Member> {
    fixtures
        .iter()
        .map(|fixture| skill(fixture).into())
        .collect()
}

/// A toolbox without a sandbox.
pub(crate) fn toolbox_without_sandbox(
    fixtures: &[SkillFixture],
    options: ToolboxOptions,
) -> Toolbox {
    Toolbox::new(members(fixtures), None, options).unwrap()
}

/// A toolbox with a sandbox of its own, which goes with it.
pub(crate) struct RunningToolbox {
    pub(crate) toolbox: Toolbox,
    pub(crate) workspace: Workspace,
    pub(crate) sandbox: SharedSandboxes,
    _place: CommandPlace,
}

impl RunningToolbox {
    pub(crate) async fn new(fixtures: &[SkillFixture]) -> Self {
        let options = ToolboxOptions {
            code_execution: true,
            ..ToolboxOptions::default()
        };
        Self::with(fixtures, options, Policy::default()).await
    }

    pub(crate) async fn with(
        fixtures: &[SkillFixture],
        options: ToolboxOptions,
        policy: Policy,
    ) -> Self {
        let (sandbox, place) = sandbox().await;
        let members = members(fixtures);
        let skills = members.iter().map(|m| Arc::clone(&m.skill)).collect();
        let workspace = Workspace::for_skills(sandbox.clone(), OWNER, skills, policy);
        let toolbox = Toolbox::new(members, Some(workspace.clone()), options).unwrap();
        Self {
            toolbox,
            workspace,
            sandbox,
            _place: place,
        }
    }

    pub(crate) async fn call(&self, name: &str, input: Value) -> ToolOutcome {
        self.toolbox.call(name, &input, None).await
    }

    pub(crate) async fn bash(&self, command: &str) -> ToolOutcome {
        let input = serde_json::json!({ "command": command });
        self.call("bash_code_execution", input).await
    }

    pub(crate) async fn load(&self, name: &str) -> ToolOutcome {
        let outcome = self
            .call("load_skill", serde_json::json!({ "name": name }))
            .await;
        assert!(!outcome.is_error, "{}", text(&outcome));
        outcome
    }
}

pub(crate) async fn sandbox() -> (SharedSandboxes, CommandPlace) {
    let folder = TempDir::new().unwrap();
    let mut settings = SandboxSettings::new(folder.path());
    settings.allow_reduced = true;
    settings.warm = 0;
    CommandPlace::open(folder, settings, OWNER).await
}

/// The only part of an outcome, which is text.
pub(crate) fn text(outcome: &ToolOutcome) -> &str {
    match outcome.content.as_slice() {
        [ContentPart::Text(text)] => text,
        other => panic!("{other:?}"),
    }
}

/// What a native client sees of a call.
pub(crate) fn native(outcome: &ToolOutcome) -> Value {
    let content = match &outcome.native {
        NativeCall::Bash { result, .. } => result.content(&[]),
        NativeCall::Editor { result, .. } => result.clone(),
    };
    serde_json::json!({
        "name": outcome.native.tool(),
        "input": outcome.native.input(),
        "content": content,
    })
}

pub(crate) fn names(toolbox: &Toolbox) -> Vec<String> {
    toolbox.tools().into_iter().map(|tool| tool.name).collect()
}
