//! What the run loop reports: the prompt, turns, calls and results. It finds out whose each is,
//! and keeps lengths only.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use prowess_provider::config::Price;
use prowess_store::SkillCost;
use prowess_toolbox::{CallPurpose, ToolOutcome, Toolbox};
use prowess_wire::neutral::{Block, Content, TokenUsage, Tool};
use serde_json::Value;

use super::lengths::{block_bytes, call_bytes, tool_bytes};
use super::prompt_bytes::PromptBytes;
use super::segment::{CostPart, Segment, SkillPart};
use super::totals::CostTotals;
use crate::intake::prepared::PreparedRun;
use crate::intake::prompt_piece::PieceOwner;
use crate::intake::resolve::RunSkill;
use crate::model_text;
use crate::tool_call::ToolCall;

/// Calls of the conversation whose owners are remembered until their results.
const MAX_OPEN_CALLS: usize = 10_000;

/// Observes what the skills of a run take.
#[derive(Debug, Default)]
pub(crate) struct CostObserver {
    pub(super) totals: CostTotals,
    prompt: PromptBytes,
    /// Whose the calls without results are, by id.
    open_calls: HashMap<String, Vec<SkillPart>>,
    /// Time in the sandbox that [`CostObserver::take_new`] has returned.
    taken_millis: u64,
}

impl CostObserver {
    /// An observer of a run that has not begun: its prompt is that of its request.
    pub(crate) fn new(run: &PreparedRun) -> Self {
        let mut observer = CostObserver::default();
        for skill in &run.skills {
            observer.add_run_skill(skill);
        }
        for offered in run.offer.iter().flat_map(|offer| &offer.skills) {
            let id = Some(offered.skill_id.as_str());
            observer.totals.add_skill(&offered.name, id);
        }
        observer.add_system(run);
        let messages = run.conversation.request.messages.iter();
        for block in messages.flat_map(|message| &message.content) {
            observer.add_block(run, block);
        }
        observer
    }

    /// The system prompt: the client's, then the text about skills.
    fn add_system(&mut self, run: &PreparedRun) {
        let conversation = &run.conversation;
        let (system, pieces) = (&conversation.request.system, &conversation.prompt_pieces);
        let of_client = system.len().saturating_sub(usize::from(!pieces.is_empty()));
        for block in system.iter().take(of_client) {
            self.prompt.add_system(None, block_bytes(block));
        }
        for (owner, bytes) in pieces {
            let found = match owner {
                PieceOwner::NoSkill => None,
                PieceOwner::Listed(name) => self.owner(name, CostPart::Offered),
                PieceOwner::Full(name) => {
                    let owner = self.owner(name, CostPart::Loaded);
                    if let Some(owner) = owner {
                        self.totals.set_loaded(owner.skill);
                    }
                    owner
                }
                PieceOwner::Routed(at) => {
                    let mut offered = run.offer.iter().flat_map(|offer| offer.first_skills());
                    let offered = offered.nth(*at);
                    offered.and_then(|offered| self.owner(&offered.name, CostPart::Offered))
                }
            };
            self.prompt.add_system(found, *bytes);
        }
    }

    /// The tools of the next turn.
    pub(crate) fn set_tools(&mut self, tools: &[Tool], toolbox: &Toolbox) {
        if !self.prompt.needs_tools(tools.len()) {
            return;
        }
        let totals = &self.totals;
        let pieces = tools.iter().map(|tool| {
            let skill = toolbox.skill_for_tool(&tool.name);
            let skill = skill.and_then(|name| totals.number(&name));
            let part = CostPart::Loaded;
            let owner = skill.map(|skill| SkillPart { skill, part });
            Segment::new(owner, tool_bytes(tool))
        });
        self.prompt.set_tools(tools.len(), pieces);
    }

    /// A turn has finished with this response.
    pub(crate) fn add_turn(
        &mut self,
        run: &PreparedRun,
        response: &[Block],
        usage: &TokenUsage,
        price: Option<&Price>,
    ) {
        let mut calls = Vec::new();
        for block in response {
            if let Content::ToolUse { name, input, .. } = &block.content {
                let owners = self.call_owners(run, name, input);
                calls.extend(Segment::shared(&owners, call_bytes(name, input)));
            }
        }
        let prompt = self.prompt.pieces();
        self.totals.add_turn(&prompt, &calls, usage, price);
        for block in response {
            self.add_block(run, block);
        }
    }

    /// A call has ended with this result, after `time` in the sandbox.
    pub(crate) fn add_result(
        &mut self,
        run: &PreparedRun,
        call: &ToolCall,
        outcome: &ToolOutcome,
        result: &Block,
        time: Duration,
    ) {
        for name in &outcome.loaded_skills {
            if let Some(skill) = self.find_skill(run, name) {
                self.totals.set_loaded(skill);
            }
        }
        let owners = self.call_owners(run, &call.name, &call.input);
        if !outcome.is_error || !time.is_zero() {
            self.note_use(run, call);
        }
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.totals.add_sandbox_time(&owners, millis);
        let purpose = run.tools.toolbox.call_purpose(&call.name, &call.input);
        if purpose == CallPurpose::Search {
            self.open_calls.remove(&call.id);
            self.add_listed(run, &outcome.text_content());
        } else {
            self.add_block(run, result);
        }
    }

    /// What every skill took so far.
    pub(crate) fn skill_costs(&self) -> Arc<[SkillCost]> {
        self.totals.skill_costs().into()
    }

    /// All time in the sandbox.
    pub(crate) fn sandbox_millis(&self) -> u64 {
        self.totals.sandbox_millis
    }

    /// What skills took since the last call of this, and all time in the sandbox since then.
    pub(crate) fn take_new(&mut self) -> (Vec<SkillCost>, u64) {
        let millis = self.totals.sandbox_millis - self.taken_millis;
        self.taken_millis = self.totals.sandbox_millis;
        (self.totals.take_new(), millis)
    }

    /// Marks the skills that a call has used.
    fn note_use(&mut self, run: &PreparedRun, call: &ToolCall) {
        let used = match run.tools.toolbox.call_purpose(&call.name, &call.input) {
            CallPurpose::Use { skills } => skills,
            CallPurpose::Load { skill, reads_file } if reads_file => vec![skill],
            _ => return,
        };
        for name in used {
            if let Some(skill) = self.find_skill(run, &name) {
                self.totals.set_used(skill);
            }
        }
    }

    /// A block of the conversation.
    fn add_block(&mut self, run: &PreparedRun, block: &Block) {
        let bytes = block_bytes(block);
        match &block.content {
            Content::ToolUse { id, name, input } => {
                let owners = self.call_owners(run, name, input);
                self.add_shared(&owners, bytes);
                if !owners.is_empty() && self.open_calls.len() < MAX_OPEN_CALLS {
                    self.open_calls.insert(id.clone(), owners);
                }
            }
            Content::ToolResult { tool_use_id, .. } => {
                let owners = self.open_calls.remove(tool_use_id).unwrap_or_default();
                self.add_shared(&owners, bytes);
            }
            Content::Text(text) if text.starts_with(model_text::SKILLS_NOTE) => {
                self.add_listed(run, text);
            }
            _ => self.prompt.add_message(None, bytes),
        }
    }

    fn add_shared(&mut self, owners: &[SkillPart], bytes: usize) {
        for piece in Segment::shared(owners, bytes) {
            self.prompt.add_message(piece.owner, piece.bytes as usize);
        }
    }

    /// A text whose lines offer skills: `- name: description`.
    fn add_listed(&mut self, run: &PreparedRun, text: &str) {
        for line in text.split_inclusive('\n') {
            let name = line.strip_prefix("- ").map(|rest| {
                let end = rest.find([':', '\n', ']']).unwrap_or(rest.len());
                rest.get(..end).unwrap_or_default().trim()
            });
            let skill = name.and_then(|name| self.find_skill(run, name));
            let part = CostPart::Offered;
            let owner = skill.map(|skill| SkillPart { skill, part });
            self.prompt.add_message(owner, line.len());
        }
    }

    /// Whose a call is.
    fn call_owners(&mut self, run: &PreparedRun, name: &str, input: &Value) -> Vec<SkillPart> {
        let (skills, part) = match run.tools.toolbox.call_purpose(name, input) {
            CallPurpose::Load { skill, .. } => (vec![skill], CostPart::Loaded),
            CallPurpose::Use { skills } => (skills, CostPart::Used),
            CallPurpose::Search | CallPurpose::Other => return Vec::new(),
        };
        let mut owners = Vec::new();
        for name in &skills {
            let skill = self.find_skill(run, name);
            owners.extend(skill.map(|skill| SkillPart { skill, part }));
        }
        owners
    }

    fn owner(&self, name: &str, part: CostPart) -> Option<SkillPart> {
        let skill = self.totals.number(name)?;
        Some(SkillPart { skill, part })
    }

    /// The number of a skill, if the run knows it: models make names up.
    fn find_skill(&mut self, run: &PreparedRun, name: &str) -> Option<usize> {
        let known = self.totals.number(name);
        let Some(library) = &run.library else {
            return known;
        };
        if let Some(loaded) = library.loaded_skill(name) {
            return self.add_run_skill(&loaded);
        }
        known.or_else(|| {
            let id = library.known_id(name)?;
            self.totals.add_skill(name, Some(&id))
        })
    }

    fn add_run_skill(&mut self, chosen: &RunSkill) -> Option<usize> {
        let (skill, id) = (&chosen.member.skill, chosen.member.id.as_deref());
        let number = self.totals.add_skill(&skill.name, id)?;
        if skill.bundle.len() > 1 || !skill.tools.is_empty() {
            self.totals.set_has_files(number);
        }
        Some(number)
    }
}
