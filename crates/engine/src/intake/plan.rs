//! What a run consists of: its container, its skills, whether code is run and where.

use std::time::Instant;

use prowess_sandbox::{Policy, SharedSandboxes};
use prowess_store::TenantId;
use prowess_toolbox::{Member, NamedSecret, Workspace};
use prowess_wire::Dialect;
use prowess_wire::neutral::{Request, Role};
use serde_json::{Value, json};

use crate::client_features::ClientFeatures;
use crate::containers::foreground_containers::ForegroundUse;
use crate::containers::run_container::RunContainer;
use crate::engine::{Engine, RunRequest};
use crate::error::RunError;
use crate::ids::container_id;
use crate::intake::auto_selector::AutoSelector;
use crate::intake::disclosure;
use crate::intake::native_skills::NativeSkills;
use crate::intake::offer_memory::conversation_keys;
use crate::intake::resolve::{ResolvedSkills, Resolver, RunSkill};
use crate::intake::routing::{Router, SkillOffer};
use crate::intake::skill_finder::SkillFinder;
use crate::intake::skill_request::SkillRequest;
use crate::intake::user_texts::{UserText, user_texts};

/// What a run consists of.
pub(crate) struct RunPlan {
    /// The container that it continues in.
    pub(crate) container: RunContainer,
    /// Makes kept runs wait for that container, if the run is not kept itself.
    pub(crate) foreground_use: Option<ForegroundUse>,
    /// Its skills.
    pub(crate) resolved: ResolvedSkills,
    /// Other stored skills that it offers.
    pub(crate) routed: Option<RoutedSkills>,
    /// The sandbox, if there is one.
    pub(crate) sandbox: Option<SharedSandboxes>,
    /// Whether Prowess's tools run code.
    pub(crate) code_execution: bool,
    /// The policy and the secrets of a new container.
    pub(crate) policy: Policy,
    pub(crate) secrets: Vec<NamedSecret>,
    /// Whether the upstream uses its own code execution and container.
    pub(crate) uses_native: bool,
}

/// Stored skills that a run offers without naming them.
pub(crate) struct RoutedSkills {
    pub(crate) finder: SkillFinder,
    pub(crate) offer: SkillOffer,
    /// The texts that they were routed by.
    pub(crate) texts: Vec<UserText>,
}

/// What a run is prepared for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It is run while its client waits.
    Run,
    /// It is run with or without its client.
    KeptRun,
    /// Only its tokens are counted: nothing is run, written or stored.
    Count,
}

/// Finds the container and the skills, and decides where code runs.
pub(crate) async fn plan_run(
    engine: &Engine,
    run_request: &RunRequest,
    skill_request: &SkillRequest,
    features: &ClientFeatures,
    native_skills: NativeSkills,
    purpose: Purpose,
    continues: Option<RunContainer>,
) -> Result<RunPlan, RunError> {
    let (store, tenant) = (engine.store(), &run_request.tenant);
    let requested_id = skill_request.container.as_deref();
    let allows_native = native_skills != NativeSkills::Unsupported;
    let is_resumed = continues.is_some();
    let used = engine.foreground_containers();
    let foreground_use = requested_id
        .filter(|_| purpose == Purpose::Run)
        .map(|id| used.begin_use(tenant, container_id(id)));
    let container = match continues {
        Some(container) => container,
        None => {
            let sandbox = engine.sandbox_handle();
            let use_now = purpose == Purpose::Run;
            RunContainer::find(store, sandbox, tenant, requested_id, allows_native, use_now).await?
        }
    };
    let resolver = Resolver {
        store,
        unpacking: engine.unpacking(),
        tenant,
        aliases: &engine.settings().aliases,
        model: run_request.route.name(),
        native_skills,
        pins: &container.pins,
    };
    let mut resolved = resolver.resolve(&skill_request.skills).await?;
    // Of the vendors' own skills, a container's record has only Anthropic's.
    let is_anthropic = native_skills == NativeSkills::Translated
        || (allows_native && features.names_anthropic_skills());
    if skill_request.skills.is_empty() && is_anthropic {
        resolved.native.clone_from(&container.native_skills);
    }
    resolved
        .local
        .extend(run_request.members.iter().map(unpinned));
    let routed = if is_resumed {
        recorded_skills(engine, run_request, &container)
    } else {
        let is_opened = run_request.auto.unwrap_or(engine.settings().auto);
        match auto_selector(
            is_opened,
            skill_request,
            native_skills,
            &container,
            &resolved,
        ) {
            Some(selector) => {
                route_skills(engine, run_request, selector, &container, &resolved).await?
            }
            None => None,
        }
    };
    let has_local = !resolved.local.is_empty() || container.id.is_some() || routed.is_some();
    let has_native = !resolved.native.is_empty() || container.upstream_id.is_some();
    let uses_native = match native_skills {
        NativeSkills::Unsupported => false,
        NativeSkills::PassThrough => has_native || !has_local,
        NativeSkills::Translated => has_native,
    };
    let needs_code = if features.requests_code_execution {
        skill_request.code_execution && (has_local || !uses_native)
    } else {
        has_local
    };
    let sandbox = match engine.sandbox_handle().sandbox().await {
        Ok(sandbox) => Some(sandbox),
        Err(error) if needs_code && features.requests_code_execution => return Err(error),
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
        foreground_use,
        resolved,
        routed,
        sandbox,
        uses_native,
    })
}

/// The skills that a run may use without naming them: those that its request opens, that its
/// container was used with, or all if its key or the operator opens them (`is_opened`). That
/// setting leaves alone what a vendor runs itself.
fn auto_selector(
    is_opened: bool,
    skill_request: &SkillRequest,
    native_skills: NativeSkills,
    container: &RunContainer,
    resolved: &ResolvedSkills,
) -> Option<AutoSelector> {
    if let Some(selector) = &skill_request.auto {
        return Some(selector.clone());
    }
    if let Some(offer) = container
        .offer
        .as_ref()
        .filter(|_| skill_request.skills.is_empty())
    {
        return Some(offer.selector.clone());
    }
    let is_ours = native_skills == NativeSkills::Unsupported
        || !resolved.local.is_empty()
        || container.id.is_some();
    (is_opened && is_ours).then(AutoSelector::default)
}

/// What a resumed run offered before: neither other stored skills nor other settings change it.
fn recorded_skills(
    engine: &Engine,
    run_request: &RunRequest,
    container: &RunContainer,
) -> Option<RoutedSkills> {
    let offer = container.offer.clone()?;
    Some(RoutedSkills {
        finder: SkillFinder {
            store: engine.store().clone(),
            embedder: engine.embedder().cloned(),
            tenant: run_request.tenant.clone(),
            selector: offer.selector.clone(),
        },
        offer,
        texts: user_texts(&run_request.request.messages),
    })
}

/// Routes the conversation; what its container was used with before, or what is remembered of its
/// earlier requests, is only added to.
async fn route_skills(
    engine: &Engine,
    run_request: &RunRequest,
    selector: AutoSelector,
    container: &RunContainer,
    resolved: &ResolvedSkills,
) -> Result<Option<RoutedSkills>, RunError> {
    let finder = SkillFinder {
        store: engine.store().clone(),
        embedder: engine.embedder().cloned(),
        tenant: run_request.tenant.clone(),
        selector,
    };
    let recorded = container.offer.clone();
    let recorded = recorded.filter(|offer| offer.selector.opens_same(&finder.selector));
    let messages = &run_request.request.messages;
    let texts = user_texts(messages);
    let members: Vec<Member> = resolved.local.iter().map(|s| s.member.clone()).collect();
    let named: Vec<&str> = members.iter().map(|m| m.skill.name.as_str()).collect();
    let opened = json!([run_request.tenant.as_str(), finder.selector, named]).to_string();
    let keys = conversation_keys(&opened, texts.iter().map(|text| text.text.as_str()));
    // A new conversation may begin with the words of an earlier one: it is routed anew.
    let is_later = messages.iter().any(|own| own.role == Role::Assistant);
    let now = Instant::now();
    let earlier = match is_later && recorded.is_none() {
        true => engine.offers().find(&keys, now),
        false => None,
    };
    let routed_at = earlier.as_ref().map_or(now, |earlier| earlier.routed_at);
    let known = recorded.or_else(|| {
        let earlier = earlier?;
        let offer: SkillOffer = serde_json::from_str(&earlier.offer).ok()?;
        Some(offer.for_later_request(earlier.common_texts))
    });
    let offer = known.unwrap_or_else(|| SkillOffer::new(finder.selector.clone()));
    let router = Router {
        finder: &finder,
        named: named.into_iter().collect(),
        budget: disclosure::budget_left(&members, engine.settings()),
    };
    let offer = router.route(&texts, offer).await?;
    if let (Some(offer), None) = (&offer, &container.id)
        && let Ok(offer) = serde_json::to_string(offer)
    {
        let tenant = &run_request.tenant;
        engine.offers().remember(tenant, keys, offer, routed_at);
    }
    Ok(offer.map(|offer| RoutedSkills {
        finder,
        offer,
        texts,
    }))
}

fn unpinned(member: &Member) -> RunSkill {
    let member = member.clone();
    RunSkill { member, pin: None }
}

/// Where the run's code runs: in the container it continues in, or in one that is created
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
        Some(id) => {
            let mounted = chosen.iter().map(|c| c.member.skill.clone()).collect();
            Workspace::for_container(sandbox, owner, id).with_mounted_skills(mounted)
        }
        None => {
            let skills = chosen.iter().map(|c| c.member.skill.clone()).collect();
            Workspace::for_skills(sandbox, owner, skills, plan.policy.clone())
                .with_secrets(plan.secrets.clone())
        }
    }))
}

impl RunPlan {
    pub(crate) fn members(&self) -> Vec<Member> {
        let skills = self.resolved.local.iter();
        skills.map(|skill| skill.member.clone()).collect()
    }

    /// Whether the client's own code execution tool goes to the upstream.
    pub(crate) fn keeps_native_tool(&self, native_skills: NativeSkills) -> bool {
        self.uses_native && native_skills == NativeSkills::PassThrough
    }
}

/// The `container` field of the upstream's request: its own container, with its own skills.
/// Only Anthropic has it; OpenAI's is part of a tool.
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

/// The upstream's own skills in a request to it.
pub(crate) fn skills_in_request(request: &Request) -> Vec<Value> {
    let skills = request
        .container
        .as_ref()
        .and_then(|c| c.get("skills")?.as_array());
    skills.cloned().unwrap_or_default()
}
