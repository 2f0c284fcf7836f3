//! `requires:` which skills must be loaded before another, and in which order.

use crate::model_text;
use crate::spec::Member;
use prowess_skill::Skill;
use std::sync::Arc;

/// The skill and all it requires, in the order of loading: those it needs come first,
/// itself last.
///
/// # Errors
/// A sentence that names the chain, when one of them is missing or requires itself.
pub(crate) fn load_order(members: &[Member], name: &str) -> Result<Vec<Arc<Skill>>, String> {
    let mut walk = DependencyWalk {
        members,
        chain: Vec::new(),
        ordered: Vec::new(),
    };
    walk.visit(name)?;
    Ok(walk.ordered)
}

struct DependencyWalk<'a> {
    members: &'a [Member],
    /// From the requested skill down to the current one.
    chain: Vec<String>,
    ordered: Vec<Arc<Skill>>,
}

impl DependencyWalk<'_> {
    fn visit(&mut self, name: &str) -> Result<(), String> {
        if self.ordered.iter().any(|skill| skill.name == name) {
            return Ok(());
        }
        let again = self.chain.iter().any(|before| before == name);
        self.chain.push(name.to_owned());
        if again {
            let chain = self.chain.join(" → ");
            return Err(model_text::circular_requirement(&chain));
        }
        let Some(member) = self.members.iter().find(|m| m.skill.name == name) else {
            return Err(self.missing(name));
        };
        for required in &member.skill.requires {
            self.visit(required)?;
        }
        self.ordered.push(Arc::clone(&member.skill));
        self.chain.pop();
        Ok(())
    }

    fn missing(&self, name: &str) -> String {
        if self.chain.len() > 1 {
            let chain = self.chain.join(" → ");
            return model_text::missing_requirement(&chain);
        }
        let known = self.members.iter().map(|m| m.skill.name.as_str());
        model_text::unknown_skill(name, known)
    }
}
