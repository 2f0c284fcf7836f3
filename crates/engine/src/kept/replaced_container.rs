//! Storing a container that takes the place of another one within a call: where commands go on
//! without their server, the next server finds them by their container.

use prowess_sandbox::SharedSandboxes;
use prowess_store::{StepChanges, StepKind};
use prowess_toolbox::AnnouncedContainer;
use tokio::sync::mpsc::UnboundedReceiver;

use super::container_state::ContainerState;
use super::step_record::OpenedContainer;
use super::steps::KeptSteps;
use crate::intake::prepared::PreparedRun;
use crate::turns::run_loop::RunStop;

impl KeptSteps {
    /// Stores the containers that calls announce, and lets the calls use them, until all calls are
    /// made. `calls_step` is the step that the ids of their commands have.
    pub(crate) async fn store_announced(
        &mut self,
        run: &PreparedRun,
        calls_step: Option<i64>,
        mut announced: UnboundedReceiver<AnnouncedContainer>,
    ) -> Result<(), RunStop> {
        let mut last = None;
        while let Some(container) = announced.recv().await {
            let id = container.id();
            // Several calls may use it.
            if last.as_deref() != Some(id) {
                self.store_replaced(run, id, calls_step).await?;
                last = Some(id.to_owned());
            }
        }
        Ok(())
    }

    /// Stores a container, if its files are those of the last step. If they are not, calls of this
    /// turn have changed files already: the next server makes them again from the container
    /// before, which it still finds.
    async fn store_replaced(
        &mut self,
        run: &PreparedRun,
        id: &str,
        calls_step: Option<i64>,
    ) -> Result<(), RunStop> {
        let Some(workspace) = run.tools.toolbox.workspace() else {
            return Ok(());
        };
        let sandbox = workspace.sandbox();
        let lease = self.journal.lease().await;
        let owner = lease.tenant.as_str();
        if !has_files_of(sandbox, owner, id, self.container.as_ref()).await {
            return Ok(());
        }
        let store = run.context.engine.store();
        let mut state = ContainerState::create(store, sandbox, &lease, id).await?;
        let (contents, container) = state.stage_changes(store).await?;
        let changes = StepChanges {
            new_container: Some(run.container_record(id)),
            contents,
            container,
            ..StepChanges::default()
        };
        let record = OpenedContainer {
            container: Some(id.to_owned()),
            setup: Some(state.setup().await?),
            calls_step,
        };
        self.container = Some(state);
        self.append(StepKind::Start, &record, changes).await?;
        Ok(())
    }
}

/// Whether a container has the files that the one before had as of the last step: none, if that
/// one is gone.
async fn has_files_of(
    sandbox: &SharedSandboxes,
    owner: &str,
    id: &str,
    before: Option<&ContainerState>,
) -> bool {
    let Ok(found) = sandbox.snapshot(owner, id, None).await else {
        return false;
    };
    let is_gone = match before {
        Some(before) if before.committed_digest() == found.digest() => return true,
        Some(before) => sandbox.expiry(owner, before.id()).await.is_err(),
        None => true,
    };
    is_gone && found.entries().next().is_none()
}
