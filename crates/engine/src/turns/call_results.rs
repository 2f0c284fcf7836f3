//! Calls of Prowess's tools within a run: made all at once, their results written for the
//! client and added to the conversation for the model.

use std::time::Duration;

use futures_util::future::{OptionFuture, try_join};
use prowess_sandbox::Error as SandboxError;
use prowess_store::StagedFile;
use prowess_toolbox::{CallPurpose, ContainerAnnouncer, MissingWorker, ToolOutcome, Toolbox};
use prowess_wire::neutral::Block;

use crate::error::RunError;
use crate::events::{CalledSkill, RunEvent, RunStep};
use crate::history::client_view::ClientView;
use crate::history::tool_results;
use crate::kept::steps::{KeptSteps, NextCalls};
use crate::tool_call::{ToolCall, with_original_call};
use crate::turns::collect::OutputStore;
use crate::turns::dispatch::{self, CallOrigin, FinishedCall};
use crate::turns::run_loop::{RunLoop, RunStop};

impl RunLoop {
    /// Makes calls and writes their results, read from the journal if they were made before.
    pub(super) async fn dispatch_calls(&mut self, calls: Vec<ToolCall>) -> Result<(), RunStop> {
        self.has_server_calls = true;
        let recorded = self.kept.as_mut().map_or(Ok(None), KeptSteps::next_results);
        if let Some(done) = recorded.map_err(RunError::from)? {
            self.replay_results(done).await;
            return Ok(());
        }
        let NextCalls { calls, attached } = match &mut self.kept {
            Some(kept) => kept.take_repeatable(calls, &self.run.tools.toolbox).await,
            None => calls.into(),
        };
        if let Some(kept) = &mut self.kept {
            let time_left = self.budget.time_left();
            Box::pin(kept.store_container(&self.run, &calls, time_left)).await?;
        }
        for ToolCall {
            id, name, input, ..
        } in &calls
        {
            let (id, name, input) = (id.clone(), name.clone(), input.clone());
            self.emit_step(RunStep::ToolStarted { id, name, input })
                .await;
        }
        let step = self.kept.as_ref().map(KeptSteps::next_step);
        let (step, epoch) = OptionFuture::from(step).await.unzip();
        let ownership = self.kept.as_ref().map(KeptSteps::ownership);
        let ownership = ownership.unwrap_or_default();
        let (run, writer, id) = (&self.run, &self.writer, &self.log.id);
        let (context, toolbox) = (&run.context, &run.tools.toolbox);
        let settings = context.engine.settings();
        // Without spans, a header of the client passes unread.
        let traceparent = context.credentials.traceparent();
        let time_left = self.budget.time_left();
        let announces = self.kept.is_some() && keeps_commands(toolbox);
        let announcements = announces.then(|| ContainerAnnouncer::new(run.container_id()));
        let (announcer, announced) = announcements.unzip();
        // It owns the announcer: when all calls are made, nothing more is announced.
        let made = async move {
            let origin = CallOrigin {
                run: id,
                step,
                epoch: epoch.unwrap_or_default(),
                ownership: &ownership,
                attached: &attached,
                announcer: announcer.as_ref(),
                traceparent: traceparent.filter(|_| settings.spans),
            };
            let ping_interval = settings.ping_interval;
            dispatch::call_all(toolbox, calls, origin, time_left, writer, ping_interval).await
        };
        let mut done = match (&mut self.kept, announced) {
            (Some(kept), Some(announced)) => {
                let stored = Box::pin(kept.store_announced(run, step, announced));
                let made = async { Ok(made.await) };
                try_join(made, stored).await?.0
            }
            _ => made.await,
        };
        let mut staged = self.kept.is_some().then(Vec::new);
        self.collect_outputs(&mut done, staged.as_mut()).await;
        let Some(kept) = &mut self.kept else {
            let missing = missing_worker(&done);
            self.write_results(done).await;
            return missing.map_or(Ok(()), |error| Err(error.into()));
        };
        kept.add_not_repeated(&mut done);
        kept.hold_results();
        let mut changes = kept
            .stage_results(&self.run, staged.unwrap_or_default())
            .await?;
        self.write_results(done.clone()).await;
        let container = self.run.container_id();
        let Some(kept) = &mut self.kept else {
            return Ok(());
        };
        if kept.has_target() {
            let taken = self.log.costs.take_new();
            changes.usage.extend(kept.results_usage(taken));
        }
        Ok(kept.store_results(done, container, changes).await?)
    }

    /// Stores the files that calls created.
    async fn collect_outputs(
        &mut self,
        done: &mut [FinishedCall],
        mut staged: Option<&mut Vec<StagedFile>>,
    ) {
        let context = &self.run.context;
        let Some(workspace) = self.run.tools.toolbox.workspace() else {
            return;
        };
        let store = OutputStore {
            store: context.engine.store(),
            tenant: &context.tenant,
            workspace,
            retention: context.engine.settings().file_retention,
        };
        for done in done {
            let outputs = &done.outcome.outputs;
            let collected = self.outputs.collect(store, outputs, staged.as_deref_mut());
            done.collected = collected.await;
        }
    }

    /// Continues with results from the journal.
    async fn replay_results(&mut self, done: Vec<FinishedCall>) {
        for FinishedCall {
            call,
            outcome,
            collected,
            ..
        } in &done
        {
            let ToolCall {
                id, name, input, ..
            } = call.clone();
            self.emit_step(RunStep::ToolStarted { id, name, input })
                .await;
            self.outputs.add_recorded(&outcome.outputs, collected);
            // Problems with their tools were in the results.
            let loaded = &outcome.loaded_skills;
            self.run.tools.toolbox.restore_loaded(loaded).await;
        }
        self.write_results(done).await;
        if let Some(kept) = &mut self.kept {
            if kept.has_target() {
                // The step's own row has it.
                drop(self.log.costs.take_new());
            }
            kept.finish_replayed_step(&mut self.writer);
        }
    }

    /// Writes calls that have ended: first those that the client has not received yet, then
    /// all results, in the order of the calls.
    pub(super) async fn write_results(&mut self, done: Vec<FinishedCall>) {
        for FinishedCall { call, outcome, .. } in done.iter().filter(|done| !done.call.is_announced)
        {
            let input = with_original_call(call, outcome.native.input());
            self.writer
                .write_call(&call.id, outcome.native.tool(), &input)
                .await;
        }
        let mut results = Vec::with_capacity(done.len());
        for done in done {
            results.push(self.write_result(done).await);
        }
        tool_results::add_results(&mut self.run.conversation.request.messages, results);
        // Before the first turn nobody knows yet who is paid for it.
        if self.budget.turns() > 0 {
            self.send_totals().await;
        }
    }

    /// Writes one result for the client, and returns it as the model reads it.
    async fn write_result(&mut self, done: FinishedCall) -> Block {
        self.record_call(&done).await;
        let FinishedCall {
            call,
            outcome,
            collected,
            duration,
            ..
        } = done;
        let mut content = dispatch::native_content(&outcome.native, &collected.file_ids);
        for file in collected.new_files {
            let container_id = self.run.container_id().unwrap_or_default();
            if self.run.context.features.describes_files {
                dispatch::describe_file(&mut content, &container_id, &file);
            }
            self.writer.add_output_file(&container_id, file.clone());
            self.emit_step(RunStep::FileCreated(file)).await;
        }
        let result = dispatch::result_block(&call.id, &outcome, &collected.problems);
        let time = sandbox_time(&outcome, duration);
        let costs = &mut self.log.costs;
        costs.add_result(&self.run, &call, &outcome, &result, time);
        let names = &self.run.tools.names;
        let (tool, input) = names.native_call(&call).unwrap_or_else(|| {
            let input = with_original_call(&call, outcome.native.input());
            (outcome.native.tool(), input)
        });
        let view = ClientView {
            server_calls: self.run.context.features.server_calls,
            call: &call,
            tool,
            input: &input,
            content: &content,
            result: &result,
        };
        self.originals
            .extend(view.to_record(&self.run.members(), names));
        self.writer.write_result(&call.id, tool, content).await;
        result
    }

    /// Counts a call that has ended, and writes its steps.
    async fn record_call(&mut self, done: &FinishedCall) {
        let FinishedCall {
            call,
            outcome,
            duration,
            observed,
            ..
        } = done;
        self.budget
            .add_sandbox_time(sandbox_time(outcome, *duration));
        self.log.add_call(outcome.skill.as_deref());
        let skill = self.skill_of_call(call, outcome);
        self.emit_step(RunStep::ToolEnded {
            id: call.id.clone(),
            name: call.name.clone(),
            is_error: outcome.is_error,
            skill,
            output: outcome.text_content(),
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            observed: observed.clone(),
        })
        .await;
        if let (false, Some(library)) = (outcome.loaded_skills.is_empty(), &self.run.library) {
            self.log.set_skills(&library.loaded());
        }
        for name in outcome.loaded_skills.clone() {
            self.emit_step(RunStep::SkillLoaded { name }).await;
        }
    }

    /// The skill that a call was for: a command line names it by its folder.
    fn skill_of_call(&self, call: &ToolCall, outcome: &ToolOutcome) -> Option<CalledSkill> {
        let name = outcome.skill.clone().or_else(|| {
            match self.run.tools.toolbox.call_purpose(&call.name, &call.input) {
                CallPurpose::Use { skills } => skills.into_iter().next(),
                CallPurpose::Load { skill, .. } if !outcome.is_error => Some(skill),
                _ => None,
            }
        })?;
        Some(self.log.called_skill(&name))
    }

    /// Reports what the run has used so far.
    pub(super) async fn send_totals(&mut self) {
        let totals = self.log.totals();
        self.writer.send(RunEvent::Usage(totals)).await;
    }
}

/// Whether commands go on when this server has ended.
fn keeps_commands(toolbox: &Toolbox) -> bool {
    let workspace = toolbox.workspace();
    workspace.is_some_and(|place| place.sandbox().keeps_commands())
}

/// The error of a run whose client waits, and for whose command no worker had room in time. The
/// client tries again later, as with every server that is overloaded; a model could only give up.
fn missing_worker(done: &[FinishedCall]) -> Option<RunError> {
    let failed = done.iter().filter(|done| done.outcome.is_error);
    let mut observed = failed.filter_map(|done| done.observed.as_ref());
    let missing = observed.find_map(|call| call.missing_worker.clone())?;
    let MissingWorker { why, retry_after } = missing;
    Some(RunError::Toolbox(
        SandboxError::NoWorker { why, retry_after }.into(),
    ))
}

/// The part of a call's time that it spent in the sandbox.
fn sandbox_time(outcome: &ToolOutcome, duration: Duration) -> Duration {
    match outcome.native.tool() {
        "bash_code_execution" => duration,
        _ => Duration::ZERO,
    }
}
