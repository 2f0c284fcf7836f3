//! Takes skills from the library of a toolbox when they are first used: from then on they are
//! members like any other. It must not know any tool.

use crate::model_text;
use crate::spec::Member;
use crate::state::SharedState;
use crate::workspace::Workspace;
use prowess_skill::Skill;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Skills that one may require, directly or not.
const MAX_REQUIRED: usize = 20;

/// Makes the skill of this name and all it requires members, as far as the library has them.
///
/// # Errors
/// A sentence for the model, when the library fails or too many are required.
pub(crate) async fn fetch(
    state: &SharedState,
    workspace: Option<&Workspace>,
    name: &str,
) -> Result<(), String> {
    let Some(library) = state.library() else {
        return Ok(());
    };
    let mut waiting = vec![name.to_owned()];
    let mut seen = BTreeSet::new();
    while let Some(next) = waiting.pop() {
        if seen.len() > MAX_REQUIRED {
            return Err(model_text::too_many_required(name, MAX_REQUIRED));
        }
        if !seen.insert(next.clone()) {
            continue;
        }
        let known = state.skill(&next);
        let skill = match known {
            Some(skill) => skill,
            None => match library.find(&next).await? {
                Some(member) => add_member(state, workspace, member),
                // The caller names what is missing.
                None => continue,
            },
        };
        waiting.extend(skill.requires.iter().cloned());
    }
    Ok(())
}

fn add_member(state: &SharedState, workspace: Option<&Workspace>, member: Member) -> Arc<Skill> {
    let skill = state.add_member(member);
    if let Some(workspace) = workspace {
        workspace.add_skill(&skill);
    }
    skill
}
