//! Prepares a run: everything that happens before a model is called. Errors found here reach
//! the client with their status, before the first byte.

use prowess_store::FileRecord;
use prowess_toolbox::{Member, Toolbox, ToolboxLimits, ToolboxOptions, Workspace};
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
use crate::intake::skill_request::SkillRequest;
use crate::intake::uploads::{self, ExistingUpload};
use crate::intake::{disclosure, run_tools};
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
    messages = suspended::restore(engine.store(), &context.tenant, messages).await?;
    let allows_native = native_skills != NativeSkills::Unsupported;
    let files = find_files(&context, &skill_request.files, &mut messages, allows_native).await?;
    let workspace = open_workspace(&context.tenant, &plan, purpose).await?;
    if let Some(workspace) = workspace.as_ref().filter(|_| purpose != Purpose::Count) {
        let (store, existing) = (engine.store(), ExistingUpload::Keep);
        uploads::place_uploads(store, &context.tenant, workspace, &files, existing).await?;
    }

    let client_tools = std::mem::take(&mut request.tools);
    let members: Vec<Member> = plan.members();
    let tools = build_tools(engine, &plan, &members, &client_tools, workspace)?;
    let restored = restore_history(&context, &plan, &members, &tools, messages).await?;
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
        },
        tools,
        skills: plan.resolved.local,
        container: plan.container,
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
) -> Result<RunTools, RunError> {
    let options = toolbox_options(engine, plan, client_tools, workspace.is_some());
    let toolbox = Toolbox::new(members.to_vec(), workspace, options)?;
    let names = ToolNames::for_toolbox(&toolbox);
    Ok(RunTools { toolbox, names })
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

/// Appends the skills to the system prompt, and restores which of them are loaded.
async fn disclose_skills(
    context: &TurnContext,
    plan: &RunPlan,
    members: &[Member],
    tools: &RunTools,
    restored: &RestoredConversation,
    request: &mut Request,
) {
    let settings = context.engine.settings();
    if disclosure::is_full(members, settings) {
        let names = members.iter().map(|member| member.skill.name.clone());
        let names: Vec<String> = names.collect();
        tools.toolbox.restore_loaded(&names).await;
    } else {
        tools.toolbox.restore_loaded(&restored.loaded_skills).await;
    }
    let prompt_context = disclosure::PromptContext {
        load_tool: &tools.names.load,
        code_execution: plan.code_execution,
    };
    let prompt = disclosure::skills_prompt(members, settings, prompt_context);
    request.system.extend(prompt.map(Block::text));
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
