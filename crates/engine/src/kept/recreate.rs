//! The container of a resumed run: its files are put back, and one that has expired meanwhile
//! is created again with its packages, network access and records of uploads. Skills are
//! mounted when the run is prepared.

use prowess_sandbox::{
    ContainerSetup, ContainerSpec, Error as SandboxError, Layer, Requirements, SharedSandboxes,
    SkillFiles,
};
use prowess_store::RunLease;
use prowess_toolbox::skill_folder;

use super::container_state::ContainerState;
use crate::client_features::ClientFeatures;
use crate::engine::{Engine, RunRequest};
use crate::error::RunError;
use crate::intake::native_skills::NativeSkills;
use crate::intake::resolve::{Resolver, SkillPin};
use crate::intake::skill_request::SkillRequest;

/// What is known of the container of a resumed run.
pub(super) struct RecordedContainer<'a> {
    pub(super) engine: &'a Engine,
    pub(super) request: &'a RunRequest,
    /// The versions of its skills.
    pub(super) pins: &'a [SkillPin],
    pub(super) setup: ContainerSetup,
}

impl RecordedContainer<'_> {
    /// Restores the container. Returns too whether it was created again.
    pub(super) async fn restore(
        self,
        lease: &RunLease,
        id: &str,
    ) -> Result<(ContainerState, bool), RunError> {
        let sandbox = self.engine.sandbox_handle().sandbox().await?;
        let owner = lease.tenant.as_str();
        let has_expired = match sandbox.expiry(owner, id).await {
            Ok(_) => false,
            Err(error @ SandboxError::StoreUnreachable) => {
                return Err(RunError::Toolbox(error.into()));
            }
            Err(_) => true,
        };
        let spec = ContainerSpec {
            policy: self.setup.policy.clone(),
            layer: match has_expired {
                true => self.build_layer(&sandbox).await?,
                false => None,
            },
            skills: Vec::new(),
        };
        let store = self.engine.store();
        let state = ContainerState::restore(store, &sandbox, lease, id, spec).await?;
        if has_expired {
            let uploads = self.setup.uploads;
            let added = sandbox.add_upload_records(owner, id, uploads).await;
            added.map_err(|error| RunError::Toolbox(error.into()))?;
        }
        Ok((state, has_expired))
    }

    /// The packages that the skills require. As in a new container, code may run without them.
    async fn build_layer(&self, sandbox: &SharedSandboxes) -> Result<Option<Layer>, RunError> {
        let RunRequest {
            tenant,
            client,
            request,
            route,
            members,
            ..
        } = self.request;
        let features = ClientFeatures::for_dialect(*client);
        let resolver = Resolver {
            store: self.engine.store(),
            unpacking: self.engine.unpacking(),
            tenant,
            aliases: &self.engine.settings().aliases,
            model: route.name(),
            native_skills: NativeSkills::for_route(route, &features),
            pins: self.pins,
        };
        let named = SkillRequest::from_request(*client, request)?.skills;
        let resolved = resolver.resolve(&named).await?;
        let stored = resolved.local.iter().map(|chosen| &chosen.member);
        let files = stored.chain(members).map(|member| {
            let skill = &member.skill;
            SkillFiles::from_skill(skill, skill_folder(&skill.name))
        });
        let layer = match Requirements::from_skills(&files.collect::<Vec<_>>()) {
            Ok(None) => return Ok(None),
            Ok(Some(requirements)) => sandbox.layer(tenant.as_str(), &requirements).await,
            Err(error) => Err(error),
        };
        Ok(layer
            .inspect_err(|error| tracing::warn!(%error, "cannot install the packages again"))
            .ok())
    }
}
