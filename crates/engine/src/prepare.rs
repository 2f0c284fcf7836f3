//! Everything that happens before a model is called: errors found here reach the client
//! with their status, before the first byte.

use prowess_sandbox::Sandbox;
use prowess_toolbox::{Caps, Member, Options, Toolbox, Workspace};
use prowess_wire::neutral::Request;
use prowess_wire::{Client, Dialect};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::budget::Budget;
use crate::collect::Collection;
use crate::engine::{Engine, RunRequest};
use crate::error::RunError;
use crate::events::RunEvent;
use crate::naming::Naming;
use crate::offer::{self, NATIVE_NAMES, Names};
use crate::record::Log;
use crate::resolve::{Chosen, Own, Resolved, Resolver};
use crate::restore::restore;
use crate::session::Session;
use crate::tell::Teller;
use crate::work::Work;
use crate::{disclose, hidden, native, uploads};

/// What a run will be made of, once it is known which skills are whose.
struct Plan {
    session: Session,
    resolved: Resolved,
    sandbox: Option<Sandbox>,
    /// Whether our tools run code.
    code: bool,
    /// Whether the upstream keeps its own code execution and container.
    native: bool,
}

/// Prepares a run.
pub(crate) async fn prepare(
    engine: &Engine,
    asked: RunRequest,
    out: mpsc::Sender<RunEvent>,
) -> Result<Work, RunError> {
    let naming = Naming::of(asked.client, &asked.request)?;
    naming.room_for(asked.members.len())?;
    let own = Own::of(&asked.route, asked.client);
    let plan = plan(engine, &asked, &naming, own).await?;
    let RunRequest {
        tenant,
        client,
        mut request,
        route,
        mut caller,
        members: _,
    } = asked;
    let settings = engine.settings();
    let members: Vec<Member> = plan
        .resolved
        .ours
        .iter()
        .map(|c| c.member.clone())
        .collect();
    let workspace = workspace(engine, &tenant, &plan).await?;

    request.tools = offer::clients_tools(client, &request, &plan.resolved.native, plan.keeps(own));
    let dropped = match plan.native && own == Own::Translated {
        true => native::borrow(&mut request, &mut caller)?,
        false => Vec::new(),
    };
    let messages = std::mem::take(&mut request.messages);
    let mut messages = hidden::put_back(engine.store(), &tenant, messages).await?;
    let files = &naming.files;
    let theirs = own != Own::None;
    let files = uploads::find(engine.store(), &tenant, files, &mut messages, theirs).await?;
    match (&workspace, files.is_empty()) {
        (Some(workspace), _) => uploads::put(engine.store(), &tenant, workspace, &files).await?,
        (None, true) => {}
        (None, false) => drop(engine.door().sandbox().await?),
    }

    let clients = std::mem::take(&mut request.tools);
    let mut reserved: Vec<String> = clients.iter().map(|tool| tool.name.clone()).collect();
    if plan.native {
        reserved.extend(NATIVE_NAMES.map(str::to_owned));
    }
    let options = Options {
        code: plan.code,
        litellm: settings.litellm && workspace.is_some() && !members.is_empty(),
        catalogue: false,
        caps: Caps {
            catalogue: settings.catalogue_tokens * 4,
            ..Caps::default()
        },
        reserved,
        ..Options::default()
    };
    let toolbox = Toolbox::new(members.clone(), workspace, options)?;
    let names = Names::of(&toolbox);
    let restored = restore(messages, &members, &names);
    if disclose::is_full(&members, settings) {
        toolbox.resume(&offer::member_names(&members)).await;
    } else {
        toolbox.resume(&restored.loaded).await;
    }

    let told = disclose::Told {
        load: &names.load,
        code: plan.code,
    };
    offer::tell(&mut request, disclose::text(&members, settings, told));
    request.messages = restored.messages;
    request.container = container(&request, &plan);
    let ours = offer::tools(&[], &toolbox);
    request.tool_choice = offer::choice(request.tool_choice.take(), &names, &ours);

    let model = route.name();
    let mut log = Log::new(engine.recorder(), settings.record, &tenant, model, client)?;
    log.skills(&plan.resolved.ours);
    Ok(Work {
        budget: Budget::new(settings.limits.clone()),
        teller: Teller::new(client, out),
        began_at: request.messages.len(),
        open: restored.open,
        engine: engine.clone(),
        collection: Collection::default(),
        session: plan.session,
        chosen: plan.resolved.ours,
        upstream_container: None,
        upstream_files: Vec::new(),
        dropped,
        called: false,
        tenant,
        route,
        caller,
        request,
        clients,
        toolbox,
        names,
        log,
    })
}

async fn plan(
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
    resolved.ours.extend(asked.members.iter().map(at_hand));
    let ours = !resolved.ours.is_empty() || session.id.is_some();
    let named = !resolved.native.is_empty() || session.upstream.is_some();
    let native = match own {
        Own::None => false,
        Own::Passed => named || !ours,
        Own::Translated => named,
    };
    let wanted = match asked.client {
        // Chat has no word for code execution: skills come with it where there is any.
        Client::Chat => ours,
        Client::Messages | Client::Responses => naming.code && (ours || !native),
    };
    let sandbox = match engine.door().sandbox().await {
        Ok(sandbox) => Some(sandbox),
        Err(error) if wanted && asked.client != Client::Chat => return Err(error),
        Err(_) => None,
    };
    Ok(Plan {
        code: wanted && sandbox.is_some(),
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
async fn workspace(
    engine: &Engine,
    tenant: &prowess_store::TenantId,
    plan: &Plan,
) -> Result<Option<Workspace>, RunError> {
    let Some(sandbox) = &plan.sandbox else {
        return Ok(None);
    };
    let chosen = &plan.resolved.ours;
    plan.session.mount(sandbox, tenant, chosen).await?;
    let (sandbox, owner) = (sandbox.clone(), tenant.as_str());
    Ok(Some(match &plan.session.id {
        Some(id) => Workspace::existing(sandbox, owner, id),
        None => {
            let skills = chosen.iter().map(|c| c.member.skill.clone()).collect();
            let policy = engine.settings().policy.clone();
            Workspace::fresh(sandbox, owner, skills, policy)
        }
    }))
}

impl Plan {
    /// Whether the client's own code execution tool goes to the upstream.
    fn keeps(&self, own: Own) -> bool {
        self.native && own == Own::Passed
    }
}

/// What the upstream is told of containers: its own, with its own skills. Only Anthropic
/// is told of them beside the tools.
fn container(request: &Request, plan: &Plan) -> Option<Value> {
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
