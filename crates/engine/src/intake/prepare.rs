//! Everything that happens before a model is called: errors found here reach the client
//! with their status, before the first byte.

use prowess_provider::{ClientCredentials, InputTokenCount, Route};
use prowess_store::{FileRecord, TenantId};
use prowess_toolbox::{Member, Toolbox, ToolboxLimits, ToolboxOptions};
use prowess_wire::neutral::{Map, Message, Request, Tool};
use prowess_wire::{ClientDialect, Dropped};
use tokio::sync::mpsc;

use crate::answer_writer::AnswerWriter;
use crate::budget::RunBudget;
use crate::collect::OutputFiles;
use crate::engine::{Engine, RunRequest};
use crate::error::RunError;
use crate::events::RunEvent;
use crate::plan::{self, Purpose, RunPlan, plan_run};
use crate::record::RunLog;
use crate::resolve::NativeSkills;
use crate::restore::{RestoreContext, ToolCall, restore_conversation};
use crate::run_loop::RunLoop;
use crate::run_tools::{self, NATIVE_TOOL_NAMES, ToolNames};
use crate::skill_request::SkillRequest;
use crate::uploads::ExistingUpload;
use crate::{call_records, disclose, hidden_turns, native, uploads};

/// A request as its model gets it, and what is needed to see it through.
struct PreparedRun {
    tenant: TenantId,
    client: ClientDialect,
    route: Route,
    credentials: ClientCredentials,
    plan: RunPlan,
    request: Request,
    /// The client's tools.
    client_tools: Vec<Tool>,
    toolbox: Toolbox,
    tool_names: ToolNames,
    /// Calls that a paused run left open.
    open_calls: Vec<ToolCall>,
    dropped: Vec<Dropped>,
}

/// Prepares a run.
pub(crate) async fn prepare_run(
    engine: &Engine,
    run_request: RunRequest,
    out: mpsc::Sender<RunEvent>,
) -> Result<RunLoop, RunError> {
    let prepared = prepare_request(engine, run_request, Purpose::Run).await?;
    let (settings, model) = (engine.settings(), prepared.route.name());
    let mut log = RunLog::new(
        engine.recorder(),
        settings.record_detail,
        &prepared.tenant,
        model,
        prepared.client,
    )?;
    log.set_skills(&prepared.plan.resolved.local);
    Ok(RunLoop {
        budget: RunBudget::new(settings.limits.clone()),
        writer: AnswerWriter::new(prepared.client, out),
        first_new_message: prepared.request.messages.len(),
        open_calls: prepared.open_calls,
        engine: engine.clone(),
        outputs: OutputFiles::default(),
        container: prepared.plan.container,
        skills: prepared.plan.resolved.local,
        upstream_container: None,
        upstream_files: Vec::new(),
        dropped: prepared.dropped,
        response_extras: Map::new(),
        call_records: Vec::new(),
        has_server_calls: false,
        tenant: prepared.tenant,
        route: prepared.route,
        credentials: prepared.credentials,
        request: prepared.request,
        client_tools: prepared.client_tools,
        toolbox: prepared.toolbox,
        tool_names: prepared.tool_names,
        log,
    })
}

/// Counts the tokens of what the first turn of a run would be sent.
pub(crate) async fn count_tokens(
    engine: &Engine,
    run_request: RunRequest,
) -> Result<InputTokenCount, RunError> {
    let PreparedRun {
        route,
        credentials,
        mut request,
        client_tools,
        toolbox,
        ..
    } = prepare_request(engine, run_request, Purpose::Count).await?;
    request.tools = run_tools::all_tools(&client_tools, &toolbox);
    // Counters know no containers.
    request.container = None;
    Ok(route.count(&request, &credentials).await?)
}

async fn prepare_request(
    engine: &Engine,
    run_request: RunRequest,
    purpose: Purpose,
) -> Result<PreparedRun, RunError> {
    let skill_request = SkillRequest::from_request(run_request.client, &run_request.request)?;
    skill_request.check_skill_count(run_request.members.len())?;
    let native_skills = NativeSkills::for_route(&run_request.route, run_request.client);
    let plan = plan_run(engine, &run_request, &skill_request, native_skills).await?;
    let RunRequest {
        tenant,
        client,
        mut request,
        route,
        mut credentials,
        members: _,
    } = run_request;
    let chosen = plan.resolved.local.iter();
    let members: Vec<Member> = chosen.map(|chosen| chosen.member.clone()).collect();

    request.tools = run_tools::client_tools(
        client,
        &request,
        &plan.resolved.native,
        plan.keeps_native_tool(native_skills),
    );
    let dropped = match plan.uses_native && native_skills == NativeSkills::Translated {
        true => native::add_code_execution(&mut request, &mut credentials)?,
        false => Vec::new(),
    };
    let messages = std::mem::take(&mut request.messages);
    let mut messages = hidden_turns::restore(engine.store(), &tenant, messages).await?;
    let files = find_files(
        engine,
        &tenant,
        &skill_request,
        &mut messages,
        native_skills,
    )
    .await?;
    let workspace = plan::open_workspace(&tenant, &plan, purpose).await?;
    if let (Some(workspace), Purpose::Run) = (&workspace, purpose) {
        uploads::place_uploads(
            engine.store(),
            &tenant,
            workspace,
            &files,
            ExistingUpload::Keep,
        )
        .await?;
    }

    let client_tools = std::mem::take(&mut request.tools);
    let options = toolbox_options(engine, &plan, &client_tools, workspace.is_some());
    let toolbox = Toolbox::new(members.clone(), workspace, options)?;
    let tool_names = ToolNames::for_toolbox(&toolbox);
    let call_records = call_records::load(engine.store(), &tenant, client, &messages).await?;
    let restore_context = RestoreContext {
        members: &members,
        names: &tool_names,
        records: &call_records,
        runs_code: plan.code_execution && !plan.uses_native,
    };
    let restored = restore_conversation(messages, restore_context);
    let settings = engine.settings();
    if disclose::is_full(&members, settings) {
        toolbox
            .restore_loaded(&run_tools::member_names(&members))
            .await;
    } else {
        toolbox.restore_loaded(&restored.loaded_skills).await;
    }

    let prompt_context = disclose::PromptContext {
        load_tool: &tool_names.load,
        code_execution: plan.code_execution,
    };
    run_tools::append_system_text(
        &mut request,
        disclose::skills_prompt(&members, settings, prompt_context),
    );
    request.messages = restored.messages;
    request.container = plan::request_container(&request, &plan);
    let ours = run_tools::all_tools(&[], &toolbox);
    request.tool_choice = run_tools::tool_choice(request.tool_choice.take(), &tool_names, &ours);
    Ok(PreparedRun {
        tenant,
        client,
        route,
        credentials,
        plan,
        request,
        client_tools,
        toolbox,
        tool_names,
        open_calls: restored.open_calls,
        dropped,
    })
}

/// The files that are to lie in the container. They need one.
async fn find_files(
    engine: &Engine,
    tenant: &TenantId,
    skill_request: &SkillRequest,
    messages: &mut [Message],
    native_skills: NativeSkills,
) -> Result<Vec<FileRecord>, RunError> {
    let allows_native = native_skills != NativeSkills::Unsupported;
    let files = uploads::find_uploads(
        engine.store(),
        tenant,
        &skill_request.files,
        messages,
        allows_native,
    )
    .await?;
    if !files.is_empty() {
        engine.sandbox_handle().sandbox().await?;
    }
    Ok(files)
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
