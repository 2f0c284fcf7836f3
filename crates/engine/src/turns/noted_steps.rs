//! Steps that only records and logs have: clients see by their response that they happened.

use std::time::SystemTime;

use prowess_wire::neutral::{Block, Content, Message, Response, Role};

use crate::events::{CalledSkill, MAX_TEXT_CHARS, RunStep};
use crate::intake::prepared::PreparedRun;

/// The beginning of a run: what is asked, and the skills that the model is told of.
pub(super) fn requested(run: &PreparedRun) -> RunStep {
    let messages = &run.conversation.request.messages;
    let texts = |message: &Message| joined_text(&message.content);
    let from_user = messages.iter().rev().filter(|one| one.role == Role::User);
    let input = from_user.map(texts).find(|text| !text.is_empty());
    let skills = run.skills.iter().map(|skill| CalledSkill {
        name: skill.member.skill.name.clone(),
        id: skill.member.id.clone(),
        version: skill.pin.as_ref().map(|pin| pin.version_id.clone()),
    });
    RunStep::Requested {
        input: input.unwrap_or_default(),
        skills: skills.collect(),
    }
}

pub(super) fn turn_ended(number: u32, response: &Response, cost_nanos: u64) -> RunStep {
    let reason = response.stop_reason.as_ref();
    RunStep::TurnEnded {
        number,
        stop_reason: reason.map(|reason| reason.as_str().to_owned()),
        input_tokens: response.usage.total_input(),
        output_tokens: response.usage.output_tokens,
        cost_nanos,
        output: joined_text(&response.content),
        ended_at: SystemTime::now(),
    }
}

/// The texts of blocks, as far as they are recorded.
fn joined_text(blocks: &[Block]) -> String {
    let mut joined = String::new();
    for block in blocks {
        if let Content::Text(text) = &block.content {
            let space = (MAX_TEXT_CHARS * 2).saturating_sub(joined.len());
            joined.extend(text.chars().take(space));
        }
    }
    joined
}
