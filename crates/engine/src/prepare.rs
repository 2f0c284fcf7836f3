//! Everything that happens before a model is called: errors found here reach the client
//! with their status, before the first byte.

use prowess_provider::{Caller, Counted, Route};
use prowess_store::{FileRecord, TenantId};
use prowess_toolbox::{Caps, Member, Options, Toolbox};
use prowess_wire::neutral::{Map, Message, Request, Tool};
use prowess_wire::{Client, Dropped};
use tokio::sync::mpsc;

use crate::budget::Budget;
use crate::collect::Collection;
use crate::engine::{Engine, RunRequest};
use crate::error::RunError;
use crate::events::RunEvent;
use crate::naming::Naming;
use crate::offer::{self, NATIVE_NAMES, Names};
use crate::plan::{self, Plan, Purpose, plan};
use crate::record::Log;
use crate::resolve::Own;
use crate::restore::{Call, Known, restore};
use crate::tell::Teller;
use crate::uploads::Again;
use crate::work::Work;
use crate::{disclose, hidden, native, seen, uploads};

/// A request as its model gets it, and what is needed to see it through.
struct Ready {
    tenant: TenantId,
    client: Client,
    route: Route,
    caller: Caller,
    plan: Plan,
    request: Request,
    /// The client's tools.
    clients: Vec<Tool>,
    toolbox: Toolbox,
    names: Names,
    /// Calls that a paused run left open.
    open: Vec<Call>,
    dropped: Vec<Dropped>,
}

/// Prepares a run.
pub(crate) async fn prepare(
    engine: &Engine,
    asked: RunRequest,
    out: mpsc::Sender<RunEvent>,
) -> Result<Work, RunError> {
    let ready = ready(engine, asked, Purpose::Run).await?;
    let (settings, model) = (engine.settings(), ready.route.name());
    let mut log = Log::new(
        engine.recorder(),
        settings.record,
        &ready.tenant,
        model,
        ready.client,
    )?;
    log.skills(&ready.plan.resolved.ours);
    Ok(Work {
        budget: Budget::new(settings.limits.clone()),
        teller: Teller::new(ready.client, out),
        began_at: ready.request.messages.len(),
        open: ready.open,
        engine: engine.clone(),
        collection: Collection::default(),
        session: ready.plan.session,
        chosen: ready.plan.resolved.ours,
        upstream_container: None,
        upstream_files: Vec::new(),
        dropped: ready.dropped,
        own_answer: Map::new(),
        unsaid: Vec::new(),
        called: false,
        tenant: ready.tenant,
        route: ready.route,
        caller: ready.caller,
        request: ready.request,
        clients: ready.clients,
        toolbox: ready.toolbox,
        names: ready.names,
        log,
    })
}

/// Counts the tokens of what the first turn of a run would be sent.
pub(crate) async fn count(engine: &Engine, asked: RunRequest) -> Result<Counted, RunError> {
    let Ready {
        route,
        caller,
        mut request,
        clients,
        toolbox,
        ..
    } = ready(engine, asked, Purpose::Count).await?;
    request.tools = offer::tools(&clients, &toolbox);
    // Counters know no containers.
    request.container = None;
    Ok(route.count(&request, &caller).await?)
}

async fn ready(engine: &Engine, asked: RunRequest, purpose: Purpose) -> Result<Ready, RunError> {
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
    let chosen = plan.resolved.ours.iter();
    let members: Vec<Member> = chosen.map(|chosen| chosen.member.clone()).collect();

    request.tools = offer::clients_tools(client, &request, &plan.resolved.native, plan.keeps(own));
    let dropped = match plan.native && own == Own::Translated {
        true => native::borrow(&mut request, &mut caller)?,
        false => Vec::new(),
    };
    let messages = std::mem::take(&mut request.messages);
    let mut messages = hidden::put_back(engine.store(), &tenant, messages).await?;
    let files = find_files(engine, &tenant, &naming, &mut messages, own).await?;
    let workspace = plan::workspace(&tenant, &plan, purpose).await?;
    if let (Some(workspace), Purpose::Run) = (&workspace, purpose) {
        uploads::put(engine.store(), &tenant, workspace, &files, Again::Keep).await?;
    }

    let clients = std::mem::take(&mut request.tools);
    let options = options(engine, &plan, &clients, workspace.is_some());
    let toolbox = Toolbox::new(members.clone(), workspace, options)?;
    let names = Names::of(&toolbox);
    let seen = seen::find(engine.store(), &tenant, client, &messages).await?;
    let known = Known {
        members: &members,
        names: &names,
        seen: &seen,
        runs_code: plan.code && !plan.native,
    };
    let restored = restore(messages, known);
    let settings = engine.settings();
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
    request.container = plan::container(&request, &plan);
    let ours = offer::tools(&[], &toolbox);
    request.tool_choice = offer::choice(request.tool_choice.take(), &names, &ours);
    Ok(Ready {
        tenant,
        client,
        route,
        caller,
        plan,
        request,
        clients,
        toolbox,
        names,
        open: restored.open,
        dropped,
    })
}

/// The files that are to lie in the container. They need one.
async fn find_files(
    engine: &Engine,
    tenant: &TenantId,
    naming: &Naming,
    messages: &mut [Message],
    own: Own,
) -> Result<Vec<FileRecord>, RunError> {
    let theirs = own != Own::None;
    let files = uploads::find(engine.store(), tenant, &naming.files, messages, theirs).await?;
    if !files.is_empty() {
        engine.door().sandbox().await?;
    }
    Ok(files)
}

fn options(engine: &Engine, plan: &Plan, clients: &[Tool], runs: bool) -> Options {
    let settings = engine.settings();
    let mut reserved: Vec<String> = clients.iter().map(|tool| tool.name.clone()).collect();
    if plan.native {
        reserved.extend(NATIVE_NAMES.map(str::to_owned));
    }
    Options {
        code: plan.code,
        litellm: settings.litellm && runs && !plan.resolved.ours.is_empty(),
        catalogue: false,
        caps: Caps {
            catalogue: settings.catalogue_tokens * 4,
            ..Caps::default()
        },
        reserved,
        ..Options::default()
    }
}
