//! What a run is made of: which skills are whose, whether code is run and where.

use prowess_sandbox::{Policy, Sandbox};
use prowess_store::TenantId;
use prowess_toolbox::{Member, NamedSecret, Workspace};
use prowess_wire::neutral::Request;
use prowess_wire::{Client, Dialect};
use serde_json::{Value, json};

use crate::engine::{Engine, RunRequest};
use crate::error::RunError;
use crate::naming::Naming;
use crate::resolve::{Chosen, Own, Resolved, Resolver};
use crate::session::Session;

/// What a run will be made of, once it is known which skills are whose.
pub(crate) struct Plan {
    /// The session it goes on in.
    pub(crate) session: Session,
    /// Its skills.
    pub(crate) resolved: Resolved,
    /// Where code can be run, if anywhere.
    pub(crate) sandbox: Option<Sandbox>,
    /// Whether our tools run code.
    pub(crate) code: bool,
    /// What a new session may have, and the secrets for it.
    pub(crate) policy: Policy,
    pub(crate) secrets: Vec<NamedSecret>,
    /// Whether the upstream keeps its own code execution and container.
    pub(crate) native: bool,
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
pub(crate) async fn plan(
    engine: &Engine,
    asked: &RunRequest,
    naming: &Naming,
    own: Own,
) -> Result<Plan, RunError> {
    let (store, tenant) = (engine.store(), &asked.tenant);
    let written = naming.container.as_deref();
    let theirs = own != Own::None;
    let session = Session::find(store, engine.door(), tenant, written, theirs).await?;
    let resolver = Resolver {
        store,
        tenant,
        aliases: &engine.settings().aliases,
        model: asked.route.name(),
        own,
        pins: &session.pins,
    };
    let mut resolved = resolver.resolve(&naming.skills).await?;
    // A session remembers the skills of no other vendor than Anthropic.
    let same = own == Own::Translated || (theirs && asked.client == Client::Messages);
    if naming.skills.is_empty() && same {
        resolved.native.clone_from(&session.native);
    }
    resolved.ours.extend(asked.members.iter().map(at_hand));
    let ours = !resolved.ours.is_empty() || session.id.is_some();
    let named = !resolved.native.is_empty() || session.upstream.is_some();
    let native = match own {
        Own::None => false,
        Own::Passed => named || !ours,
        Own::Translated => named,
    };
    let wanted = match asked.client {
        // Chat has no word for code execution, and what Gemini has is Google's: skills come
        // with ours where there is any.
        Client::Chat | Client::Gemini => ours,
        Client::Messages | Client::Responses => naming.code && (ours || !native),
    };
    let sandbox = match engine.door().sandbox().await {
        Ok(sandbox) => Some(sandbox),
        Err(error) if wanted && !matches!(asked.client, Client::Chat | Client::Gemini) => {
            return Err(error);
        }
        Err(_) => None,
    };
    let code = wanted && sandbox.is_some();
    let mut policy = engine.settings().policy.clone();
    let mut secrets = Vec::new();
    if let (true, Some(reach)) = (code, &naming.reach) {
        policy.network = reach.granted(&engine.settings().domains)?;
        secrets.clone_from(&reach.secrets);
    }
    Ok(Plan {
        code,
        policy,
        secrets,
        session,
        resolved,
        sandbox,
        native,
    })
}

fn at_hand(member: &Member) -> Chosen {
    let member = member.clone();
    Chosen { member, pin: None }
}

/// Where the run's code runs: in the session it goes on with, or in one that is made
/// when something is first run.
pub(crate) async fn workspace(
    tenant: &TenantId,
    plan: &Plan,
    purpose: Purpose,
) -> Result<Option<Workspace>, RunError> {
    let Some(sandbox) = &plan.sandbox else {
        return Ok(None);
    };
    let (chosen, owner) = (&plan.resolved.ours, tenant.as_str());
    if purpose == Purpose::Count {
        return Ok(Some(Workspace::shut(sandbox.clone(), owner)));
    }
    plan.session.mount(sandbox, tenant, chosen).await?;
    let sandbox = sandbox.clone();
    Ok(Some(match &plan.session.id {
        Some(id) => Workspace::existing(sandbox, owner, id),
        None => {
            let skills = chosen.iter().map(|c| c.member.skill.clone()).collect();
            Workspace::fresh(sandbox, owner, skills, plan.policy.clone())
                .with_secrets(plan.secrets.clone())
        }
    }))
}

impl Plan {
    /// Whether the client's own code execution tool goes to the upstream.
    pub(crate) fn keeps(&self, own: Own) -> bool {
        self.native && own == Own::Passed
    }
}

/// What the upstream is told of containers: its own, with its own skills. Only Anthropic
/// is told of them beside the tools.
pub(crate) fn container(request: &Request, plan: &Plan) -> Option<Value> {
    if request.origin != Dialect::Messages || !plan.native {
        return None;
    }
    upstream_container(plan.session.upstream.as_deref(), &plan.resolved.native)
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
