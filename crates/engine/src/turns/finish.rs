//! The end of a run: what is stored for the next request, and the last events of the
//! response.

use prowess_wire::neutral::{Map, StopReason, StreamEvent};
use serde_json::Value;

use crate::containers::run_container::{self, ContainerUse, RunContainer};
use crate::history::{originals, suspended};
use crate::intake::plan::skills_in_request;
use crate::kept::steps::KeptSteps;
use crate::turns::litellm;
use crate::turns::run_loop::{RunEnd, RunLoop};

impl RunLoop {
    /// Ends the run well: stores what the client does not send back, and ends the response.
    pub(crate) async fn finish(&mut self, end: RunEnd) {
        self.save_originals().await;
        let container = self.final_container().await;
        let status = match &end.stop_reason {
            // As in its journal, which is deleted before the record.
            _ if self.kept.is_some() => end.state().as_str(),
            Some(StopReason::PauseTurn) => "paused",
            Some(StopReason::Refusal) => "refused",
            _ => "completed",
        };
        self.log.set_end(status, None);
        self.log.set_container(self.run.container_id());
        let mut rest = if self.run.context.engine.settings().litellm {
            let workspace = self.run.tools.toolbox.workspace();
            litellm::generated_files(workspace, &self.outputs.files).await
        } else {
            Map::new()
        };
        rest.extend(std::mem::take(&mut self.upstream.response_extras));
        let delta = StreamEvent::MessageDelta {
            stop_reason: end.stop_reason,
            stop_sequence: end.stop_sequence,
            stop_details: end.stop_details,
            container,
            usage: self.log.usage().clone(),
            rest,
        };
        self.writer.write(delta).await;
        self.writer.write(StreamEvent::MessageStop).await;
    }

    /// Stores the turns of this run until the client sends the results of its own tools, if
    /// its dialect does not carry them.
    pub(super) async fn suspend_turns(&mut self, client_calls: &[String]) {
        let context = &self.run.context;
        if client_calls.is_empty() || !self.has_server_calls || !context.features.loses_turns {
            return;
        }
        let conversation = &self.run.conversation;
        let turns = conversation
            .request
            .messages
            .get(conversation.first_new_message..)
            .unwrap_or_default();
        let (store, retention) = (
            context.engine.store(),
            context.engine.settings().turn_retention,
        );
        let saved = suspended::save(store, &context.tenant, client_calls, turns, retention).await;
        if let Err(error) = saved {
            tracing::warn!(%error, run = self.log.id, "cannot store the turns of a run");
        }
    }

    /// Stores originals until the client continues the conversation. If that fails, the model
    /// will read what the client received instead.
    async fn save_originals(&mut self) {
        let context = &self.run.context;
        let retention = context.engine.settings().turn_retention;
        let records = std::mem::take(&mut self.originals);
        let saved =
            originals::save(context.engine.store(), &context.tenant, &records, retention).await;
        if let Err(error) = saved {
            tracing::warn!(%error, run = self.log.id, "cannot store the tool results of a run");
        }
    }

    /// The container that the client may name again: Prowess's, if anything ran, else the
    /// upstream's own.
    async fn final_container(&mut self) -> Option<Value> {
        let context = &self.run.context;
        let (store, features) = (context.engine.store(), &context.features);
        let upstream = self.upstream.container.take();
        let (id, workspace) = (self.run.container_id(), self.run.tools.toolbox.workspace());
        let mut container = if let (Some(id), Some(workspace)) = (id, workspace) {
            let field = |key: &str| upstream.as_ref().and_then(|container| container.get(key));
            let native_skills = field("skills").and_then(Value::as_array).cloned();
            let upstream_id = field("id").and_then(Value::as_str).map(str::to_owned);
            let container_use = ContainerUse {
                features,
                id: &id,
                upstream: upstream_id.or_else(|| self.run.container.upstream_id.clone()),
                pins: self.run.pins(),
                offer: self.run.offer(),
                native_skills: native_skills
                    .unwrap_or_else(|| skills_in_request(&self.run.conversation.request)),
                files: &self.outputs.files,
                saved: self.kept.as_ref().and_then(KeptSteps::container_record),
            };
            let (sandbox, tenant) = (workspace.sandbox(), &context.tenant);
            RunContainer::save_and_render(store, sandbox, tenant, container_use).await
        } else {
            if !features.repeats_container_skills {
                let tenant = &context.tenant;
                run_container::save_upstream_container(store, tenant, upstream.as_ref()).await;
            }
            upstream?
        };
        if !features.names_files_in_content {
            self.upstream.add_files_to(&mut container);
        }
        Some(container)
    }
}
