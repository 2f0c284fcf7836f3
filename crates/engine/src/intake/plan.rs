//! What a run is made of: which skills are whose, whether code is run and where.

use prowess_sandbox::{Policy, Sandbox};
use prowess_store::TenantId;
use prowess_toolbox::{Member, NamedSecret, Workspace};
use prowess_wire::neutral::Request;
use prowess_wire::{ClientDialect, Dialect};
use serde_json::{Value, json};

use crate::engine::{Engine, RunRequest};
use crate::error::RunError;
use crate::resolve::{NativeSkills, ResolvedSkills, Resolver, RunSkill};
use crate::run_container::RunContainer;
use crate::skill_request::SkillRequest;

/// What a run will be made of, once it is known which skills are whose.
pub(crate) struct RunPlan {
    /// The session it goes on in.
    pub(crate) container: RunContainer,
    /// Its skills.
    pub(crate) resolved: ResolvedSkills,
    /// Where code can be run, if anywhere.
    pub(crate) sandbox: Option<Sandbox>,
    /// Whether our tools run code.
    pub(crate) code_execution: bool,
    /// What a new session may have, and the secrets for it.
    pub(crate) policy: Policy,
    pub(crate) secrets: Vec<NamedSecret>,
    /// Whether the upstream keeps its own code execution and container.
    pub(crate) uses_native: bool,
}

/// Whether what is prepared is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It is.
    Run,
    /// Only its tokens are counted: nothing is run, written or kept.
    Count,
}

/// Finds it all out.
pub(crate) async fn plan_run(
    engine: &Engine,
    run_request: &RunRequest,
    skill_request: &SkillRequest,
    native_skills: NativeSkills,
) -> Result<RunPlan, RunError> {
    let (store, tenant) = (engine.store(), &run_request.tenant);
    let requested_id = skill_request.container.as_deref();
    let allows_native = native_skills != NativeSkills::Unsupported;
    let container = RunContainer::find(
        store,
        engine.sandbox_handle(),
        tenant,
        requested_id,
        allows_native,
    )
    .await?;
    let resolver = Resolver {
        store,
        tenant,
        aliases: &engine.settings().aliases,
        model: run_request.route.name(),
        native_skills,
        pins: &container.pins,
    };
    let mut resolved = resolver.resolve(&skill_request.skills).await?;
    // A session remembers the skills of no other vendor than Anthropic.
    let same = native_skills == NativeSkills::Translated
        || (allows_native && run_request.client == ClientDialect::Messages);
    if skill_request.skills.is_empty() && same {
        resolved.native.clone_from(&container.native_skills);
    }
    resolved
        .local
        .extend(run_request.members.iter().map(unpinned));
    let has_local = !resolved.local.is_empty() || container.id.is_some();
    let has_native = !resolved.native.is_empty() || container.upstream_id.is_some();
    let uses_native = match native_skills {
        NativeSkills::Unsupported => false,
        NativeSkills::PassThrough => has_native || !has_local,
        NativeSkills::Translated => has_native,
    };
    let needs_code = match run_request.client {
        // Chat has no word for code execution, and what Gemini has is Google's: skills come
        // with ours where there is any.
        ClientDialect::Chat | ClientDialect::Gemini => has_local,
        ClientDialect::Messages | ClientDialect::Responses => {
            skill_request.code_execution && (has_local || !uses_native)
        }
    };
    let sandbox = match engine.sandbox_handle().sandbox().await {
        Ok(sandbox) => Some(sandbox),
        Err(error)
            if needs_code
                && !matches!(
                    run_request.client,
                    ClientDialect::Chat | ClientDialect::Gemini
                ) =>
        {
            return Err(error);
        }
        Err(_) => None,
    };
    let code_execution = needs_code && sandbox.is_some();
    let mut policy = engine.settings().policy.clone();
    let mut secrets = Vec::new();
    if let (true, Some(network)) = (code_execution, &skill_request.network) {
        policy.network = network.grant(&engine.settings().domains)?;
        secrets.clone_from(&network.secrets);
    }
    Ok(RunPlan {
        code_execution,
        policy,
        secrets,
        container,
        resolved,
        sandbox,
        uses_native,
    })
}

fn unpinned(member: &Member) -> RunSkill {
    let member = member.clone();
    RunSkill { member, pin: None }
}

/// Where the run's code runs: in the session it goes on with, or in one that is made
/// when something is first run.
pub(crate) async fn open_workspace(
    tenant: &TenantId,
    plan: &RunPlan,
    purpose: Purpose,
) -> Result<Option<Workspace>, RunError> {
    let Some(sandbox) = &plan.sandbox else {
        return Ok(None);
    };
    let (chosen, owner) = (&plan.resolved.local, tenant.as_str());
    if purpose == Purpose::Count {
        return Ok(Some(Workspace::disabled(sandbox.clone(), owner)));
    }
    plan.container.mount_skills(sandbox, tenant, chosen).await?;
    let sandbox = sandbox.clone();
    Ok(Some(match &plan.container.id {
        Some(id) => Workspace::for_container(sandbox, owner, id),
        None => {
            let skills = chosen.iter().map(|c| c.member.skill.clone()).collect();
            Workspace::for_skills(sandbox, owner, skills, plan.policy.clone())
                .with_secrets(plan.secrets.clone())
        }
    }))
}

impl RunPlan {
    /// Whether the client's own code execution tool goes to the upstream.
    pub(crate) fn keeps_native_tool(&self, native_skills: NativeSkills) -> bool {
        self.uses_native && native_skills == NativeSkills::PassThrough
    }
}

/// What the upstream is told of containers: its own, with its own skills. Only Anthropic
/// is told of them beside the tools.
pub(crate) fn request_container(request: &Request, plan: &RunPlan) -> Option<Value> {
    if request.origin != Dialect::Messages || !plan.uses_native {
        return None;
    }
    upstream_container(plan.container.upstream_id.as_deref(), &plan.resolved.native)
}

pub(crate) fn upstream_container(id: Option<&str>, skills: &[Value]) -> Option<Value> {
    match (id, skills.is_empty()) {
        (None, true) => None,
        (Some(id), true) => Some(json!({"id": id})),
        (None, false) => Some(json!({"skills": skills})),
        (Some(id), false) => Some(json!({"id": id, "skills": skills})),
    }
}

/// The skills that the upstream was told of.
pub(crate) fn native_skills(request: &Request) -> Vec<Value> {
    let skills = request
        .container
        .as_ref()
        .and_then(|c| c.get("skills")?.as_array());
    skills.cloned().unwrap_or_default()
}
