//! A prepared run: everything that its turns need, in a few named parts.

use std::sync::Arc;

use prowess_provider::{ClientCredentials, InputTokenCount, Route};
use prowess_store::{ContainerRecord, TenantId};
use prowess_toolbox::{Member, Toolbox};
use prowess_wire::Dropped;
use prowess_wire::neutral::{Request, Tool};

use crate::client_features::ClientFeatures;
use crate::containers::foreground_containers::ForegroundUse;
use crate::containers::run_container::{RunContainer, record_skills};
use crate::engine::Engine;
use crate::error::RunError;
use crate::intake::prompt_piece::PieceOwner;
use crate::intake::resolve::{RunSkill, SkillPin};
use crate::intake::routing::SkillOffer;
use crate::intake::run_tools::all_tools;
use crate::intake::stored_library::StoredLibrary;
use crate::spend_check::SpendCheck;
use crate::tool_call::{ToolCall, ToolNames};

/// A request as its model gets it, and what is needed to run it.
pub(crate) struct PreparedRun {
    pub(crate) context: TurnContext,
    pub(crate) conversation: Conversation,
    pub(crate) tools: RunTools,
    /// The skills that the request names.
    pub(crate) skills: Vec<RunSkill>,
    /// Stored skills that `auto` offers, and where those that the model uses are loaded from.
    pub(crate) offer: Option<SkillOffer>,
    pub(crate) library: Option<Arc<StoredLibrary>>,
    /// The container that the request continues in.
    pub(crate) container: RunContainer,
    /// Makes kept runs wait for that container until this run has ended.
    pub(crate) _foreground_use: Option<ForegroundUse>,
    /// Turns that the request allows.
    pub(crate) max_turns: Option<u32>,
    /// Whether the run may go on after a turn.
    pub(crate) spend_check: Option<SpendCheck>,
}

/// Who the run is for, and which models answer: the same on every turn.
pub(crate) struct TurnContext {
    pub(crate) engine: Engine,
    pub(crate) tenant: TenantId,
    pub(crate) features: ClientFeatures,
    pub(crate) route: Route,
    pub(crate) credentials: ClientCredentials,
}

/// What the model is sent.
pub(crate) struct Conversation {
    /// The next request to the model; its messages grow with each turn.
    pub(crate) request: Request,
    /// How many messages there were before the run.
    pub(crate) first_new_message: usize,
    /// The client's tools. `request.tools` is computed from these on each turn.
    pub(crate) client_tools: Vec<Tool>,
    /// Calls that a paused run left open.
    pub(crate) open_calls: Vec<ToolCall>,
    /// Fields of the request that were dropped before the first turn.
    pub(crate) dropped: Vec<Dropped>,
    /// Whose the pieces of the last text of the system prompt are, if it is about skills.
    pub(crate) prompt_pieces: Vec<(PieceOwner, usize)>,
}

/// Prowess's tools and their names in this run.
pub(crate) struct RunTools {
    pub(crate) toolbox: Toolbox,
    pub(crate) names: ToolNames,
}

impl PreparedRun {
    /// Counts the tokens of the first turn.
    pub(crate) async fn count_tokens(self) -> Result<InputTokenCount, RunError> {
        let TurnContext {
            route, credentials, ..
        } = self.context;
        let Conversation {
            mut request,
            client_tools,
            ..
        } = self.conversation;
        request.tools = all_tools(&client_tools, &self.tools.toolbox);
        // Token counters do not accept containers.
        request.container = None;
        Ok(route.count(&request, &credentials).await?)
    }

    /// The id of the container that Prowess's tools use, once there is one.
    pub(crate) fn container_id(&self) -> Option<String> {
        self.tools.toolbox.workspace()?.container_id()
    }

    /// The record of the container that Prowess's tools use, when it is new.
    pub(crate) fn container_record(&self, id: &str) -> ContainerRecord {
        let native = &self.container.native_skills;
        ContainerRecord {
            id: id.to_owned(),
            upstream: self.container.upstream_id.clone(),
            skills: record_skills(&self.pins(), native, self.offer()),
        }
    }

    /// The named skills, then those that the model has loaded from the library.
    pub(crate) fn members(&self) -> Vec<Member> {
        let named = self.skills.iter().map(|skill| skill.member.clone());
        let loaded = self.library.as_ref().map(|library| library.loaded());
        let loaded = loaded.into_iter().flatten().map(|skill| skill.member);
        named.chain(loaded).collect()
    }

    pub(crate) fn pins(&self) -> Vec<SkillPin> {
        let named = self.skills.iter().filter_map(|skill| skill.pin.clone());
        let loaded = self.library.as_ref().map(|library| library.pins());
        named.chain(loaded.into_iter().flatten()).collect()
    }

    pub(crate) fn offer(&self) -> Option<&SkillOffer> {
        self.offer.as_ref()
    }
}
