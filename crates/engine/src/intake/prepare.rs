//! Prepares a run: everything that happens before a model is called. Errors found here reach
//! the client with their status, before the first byte.

use std::sync::Arc;

use prowess_store::FileRecord;
use prowess_toolbox::{Member, SkillLibrary, Toolbox, ToolboxLimits, ToolboxOptions, Workspace};
use prowess_wire::neutral::{Block, Message, Request, Tool};

use crate::client_features::ClientFeatures;
use crate::containers::run_container::RunContainer;
use crate::engine::{Engine, RunRequest};
use crate::error::RunError;
use crate::history::restore::{RestoreContext, RestoredConversation, restore_conversation};
use crate::history::{originals, suspended};
use crate::intake::native_skills::{NativeSkills, add_code_execution};
use crate::intake::plan::{Purpose, RunPlan, open_workspace, plan_run, request_container};
use crate::intake::prepared::{Conversation, PreparedRun, RunTools, TurnContext};
use crate::intake::prompt_piece::PieceOwner;
use crate::intake::skill_request::SkillRequest;
use crate::intake::stored_library::StoredLibrary;
use crate::intake::uploads::{self, ExistingUpload};
use crate::intake::{disclosure, loaded_before, run_tools};
use crate::tool_call::{NATIVE_TOOL_NAMES, ToolNames};

/// Prepares a request to be run, or to have its tokens counted. A run that is resumed
/// `continues` with the container and the versions of skills that it had.
pub(crate) async fn prepare_run(
    engine: &Engine,
    run_request: RunRequest,
    purpose: Purpose,
    continues: Option<RunContainer>,
) -> Result<PreparedRun, RunError> {
    let features = ClientFeatures::for_dialect(run_request.client);
    let skill_request = SkillRequest::from_request(run_request.client, &run_request.request)?;
    skill_request.check_skill_count(run_request.members.len())?;
    let native_skills = NativeSkills::for_route(&run_request.route, &features);
    // The restored files have them, unless a command has removed them.
    let places_uploads = purpose != Purpose::Count && continues.is_none();
    let plan = plan_run(
        engine,
        &run_request,
        &skill_request,
        &features,
        native_skills,
        purpose,
        continues,
    )
    .await?;
    let RunRequest {
        tenant,
        client,
        mut request,
        route,
        mut credentials,
        members: _,
        auto: _,
        max_turns,
        spend_check,
    } = run_request;
    let keeps_native_tool = plan.keeps_native_tool(native_skills);
    request.tools =
        run_tools::client_tools(client, &request, &plan.resolved.native, keeps_native_tool);
    let dropped = if plan.uses_native && native_skills == NativeSkills::Translated {
        add_code_execution(&mut request, &mut credentials)?
    } else {
        Vec::new()
    };
    let context = TurnContext {
        engine: engine.clone(),
        tenant,
        features,
        route,
        credentials,
    };
    let mut messages = std::mem::take(&mut request.messages);
    if let Some(routed) = &plan.routed {
        routed.offer.add_notes(&routed.texts, &mut messages);
    }
    messages = suspended::restore(engine.store(), &context.tenant, messages).await?;
    let allows_native = native_skills != NativeSkills::Unsupported;
    let files = find_files(&context, &skill_request.files, &mut messages, allows_native).await?;
    let workspace = open_workspace(&context.tenant, &plan, purpose).await?;
    if let Some(workspace) = workspace.as_ref().filter(|_| places_uploads) {
        let (store, existing) = (engine.store(), ExistingUpload::Keep);
        uploads::place_uploads(store, &context.tenant, workspace, &files, existing).await?;
    }

    let client_tools = std::mem::take(&mut request.tools);
    let members: Vec<Member> = plan.members();
    let library = plan.routed.as_ref().map(|routed| {
        let (named, pins) = (&plan.resolved.local, &plan.container.pins);
        Arc::new(StoredLibrary::new(
            routed.finder.clone(),
            named,
            &routed.offer,
            pins,
        ))
    });
    let tools = build_tools(engine, &plan, &members, &client_tools, workspace, &library)?;
    let known = known_members(&members, library.as_deref(), &tools, &messages).await;
    let restored = restore_history(&context, &plan, &known, &tools, messages).await?;
    let prompt_pieces =
        disclose_skills(&context, &plan, &members, &tools, &restored, &mut request).await;
    request.messages = restored.messages;
    request.container = request_container(&request, &plan);
    let own_tools = run_tools::all_tools(&[], &tools.toolbox);
    request.tool_choice =
        run_tools::tool_choice(request.tool_choice.take(), &tools.names, &own_tools);
    Ok(PreparedRun {
        context,
        conversation: Conversation {
            first_new_message: request.messages.len(),
            request,
            client_tools,
            open_calls: restored.open_calls,
            dropped,
            prompt_pieces,
        },
        tools,
        skills: plan.resolved.local,
        offer: plan.routed.map(|routed| routed.offer),
        library,
        container: plan.container,
        _foreground_use: plan.foreground_use,
        max_turns,
        spend_check,
    })
}

/// The files to be placed in the container. They need a sandbox.
async fn find_files(
    context: &TurnContext,
    named: &[String],
    messages: &mut [Message],
    allows_native: bool,
) -> Result<Vec<FileRecord>, RunError> {
    let (engine, tenant) = (&context.engine, &context.tenant);
    let files =
        uploads::find_uploads(engine.store(), tenant, named, messages, allows_native).await?;
    if !files.is_empty() {
        engine.sandbox_handle().sandbox().await?;
    }
    Ok(files)
}

fn build_tools(
    engine: &Engine,
    plan: &RunPlan,
    members: &[Member],
    client_tools: &[Tool],
    workspace: Option<Workspace>,
    library: &Option<Arc<StoredLibrary>>,
) -> Result<RunTools, RunError> {
    let options = toolbox_options(engine, plan, client_tools, workspace.is_some());
    let library = library
        .clone()
        .map(|library| library as Arc<dyn SkillLibrary>);
    let toolbox = Toolbox::with_library(members.to_vec(), workspace, options, library)?;
    let names = ToolNames::for_toolbox(&toolbox);
    Ok(RunTools { toolbox, names })
}

/// The named skills, and those that earlier runs of the conversation loaded from the library.
/// One that cannot be loaded any more is left out: its instructions are in the conversation.
async fn known_members(
    named: &[Member],
    library: Option<&StoredLibrary>,
    tools: &RunTools,
    messages: &[Message],
) -> Vec<Member> {
    let mut members = named.to_vec();
    let Some(library) = library else {
        return members;
    };
    for name in loaded_before::loaded_before(messages, &tools.names.load) {
        let is_named = members.iter().any(|member| member.skill.name == name);
        if !is_named && let Ok(Some(member)) = library.find(&name).await {
            members.push(member);
        }
    }
    members
}

/// The conversation as the model gets it, with the calls of earlier runs.
async fn restore_history(
    context: &TurnContext,
    plan: &RunPlan,
    members: &[Member],
    tools: &RunTools,
    messages: Vec<Message>,
) -> Result<RestoredConversation, RunError> {
    let (store, features) = (context.engine.store(), &context.features);
    let records = originals::load(store, &context.tenant, features, &messages).await?;
    let restore_context = RestoreContext {
        members,
        names: &tools.names,
        records: &records,
        runs_code: plan.code_execution && !plan.uses_native,
    };
    Ok(restore_conversation(messages, restore_context))
}

/// Appends the skills to the system prompt, and restores which of them are loaded. Returns
/// whose the pieces of that text are.
async fn disclose_skills(
    context: &TurnContext,
    plan: &RunPlan,
    members: &[Member],
    tools: &RunTools,
    restored: &RestoredConversation,
    request: &mut Request,
) -> Vec<(PieceOwner, usize)> {
    let settings = context.engine.settings();
    if !members.is_empty() && disclosure::is_full(members, settings) {
        let names = members.iter().map(|member| member.skill.name.clone());
        let names: Vec<String> = names.collect();
        tools.toolbox.restore_loaded(&names).await;
    }
    // Those that are loaded already stay so.
    tools.toolbox.restore_loaded(&restored.loaded_skills).await;
    let prompt_context = disclosure::PromptContext {
        load_tool: &tools.names.load,
        search_tool: &tools.names.search,
        code_execution: plan.code_execution,
    };
    let offered = plan
        .routed
        .as_ref()
        .map(|routed| routed.offer.first_lines());
    let prompt = disclosure::skills_prompt(members, offered.as_deref(), settings, prompt_context);
    let Some(prompt) = prompt else {
        return Vec::new();
    };
    request.system.push(Block::text(prompt.text));
    prompt.pieces
}

fn toolbox_options(
    engine: &Engine,
    plan: &RunPlan,
    client_tools: &[Tool],
    runs_code: bool,
) -> ToolboxOptions {
    let settings = engine.settings();
    let mut reserved: Vec<String> = client_tools.iter().map(|tool| tool.name.clone()).collect();
    if plan.uses_native {
        reserved.extend(NATIVE_TOOL_NAMES.map(str::to_owned));
    }
    ToolboxOptions {
        code_execution: plan.code_execution,
        litellm: settings.litellm && runs_code && !plan.resolved.local.is_empty(),
        catalogue: false,
        limits: ToolboxLimits {
            catalogue_bytes: settings.catalogue_tokens * 4,
            ..ToolboxLimits::default()
        },
        reserved_names: reserved,
        ..ToolboxOptions::default()
    }
}
