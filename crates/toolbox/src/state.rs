//! What changes while a toolbox is in use: its skills, their tools, and which are loaded.
//!
//! The tools read and change it; it must not know any of them, nor the sandbox. Skills of a
//! library become members when they are first used (`fetch`).

use crate::lock::lock;
use crate::registry::Registry;
use crate::requires;
use crate::skill_library::SkillLibrary;
use crate::spec::Member;
use prowess_skill::Skill;
use prowess_skill::control_tokens::neutralise;
use std::sync::{Arc, Mutex, MutexGuard};

/// The state of a toolbox, shared by calls that run at the same time.
#[derive(Debug)]
pub(crate) struct SharedState {
    state: Mutex<ToolboxState>,
    library: Option<Arc<dyn SkillLibrary>>,
    /// Whether the `allowed-tools` of loaded skills restrict calls.
    pub(crate) enforces_allowed_tools: bool,
}

/// The state itself, while it is locked.
#[derive(Debug)]
pub(crate) struct ToolboxState {
    pub(crate) members: Arc<[Member]>,
    pub(crate) registry: Registry,
    /// Loaded skills, in the order of loading.
    pub(crate) active: Vec<ActiveSkill>,
    /// Whether skills' own tools are shown before the skills are loaded.
    pub(crate) shows_skill_tools: bool,
}

/// A loaded skill.
#[derive(Debug)]
pub(crate) struct ActiveSkill {
    pub(crate) skill: Arc<Skill>,
    /// Whether the last request to load it was answered with a reminder.
    pub(crate) was_reminded: bool,
}

impl SharedState {
    /// The state with these skills, none of them loaded.
    pub(crate) fn new(
        members: Vec<Member>,
        registry: Registry,
        library: Option<Arc<dyn SkillLibrary>>,
        enforces_allowed_tools: bool,
    ) -> Self {
        Self {
            library,
            enforces_allowed_tools,
            state: Mutex::new(ToolboxState {
                members: members.into(),
                registry,
                active: Vec::new(),
                shows_skill_tools: false,
            }),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, ToolboxState> {
        lock(&self.state)
    }

    /// Skills that are not members yet.
    pub(crate) fn library(&self) -> Option<&dyn SkillLibrary> {
        self.library.as_deref()
    }

    /// Adds a skill after all others, and returns it; the one of the same name if another
    /// call has added it meanwhile.
    pub(crate) fn add_member(&self, member: Member) -> Arc<Skill> {
        let mut state = self.lock();
        let name = &member.skill.name;
        let known = state.members.iter().find(|known| known.skill.name == *name);
        if let Some(known) = known {
            return Arc::clone(&known.skill);
        }
        let skill = Arc::clone(&member.skill);
        state.members = state.members.iter().cloned().chain([member]).collect();
        skill
    }

    /// All skills.
    pub(crate) fn members(&self) -> Arc<[Member]> {
        Arc::clone(&self.lock().members)
    }

    /// The skill of this name.
    pub(crate) fn skill(&self, name: &str) -> Option<Arc<Skill>> {
        let members = self.members();
        let called = |m: &&Member| m.skill.name == name || neutralise(&m.skill.name) == name;
        let found = members.iter().find(called)?;
        Some(Arc::clone(&found.skill))
    }

    /// The name of a skill without that of its plugin: skills of a plugin name each other so, as
    /// `superpowers:debugging`. A skill that is called so keeps its name.
    pub(crate) fn without_plugin<'a>(&self, name: &'a str) -> &'a str {
        match name.rsplit_once(':') {
            Some((_, own)) if self.skill(name).is_none() => own,
            _ => name,
        }
    }

    /// The skill of this name and those it requires, in the order of loading.
    ///
    /// # Errors
    /// A sentence for the model, when there is no such skill or one it requires.
    pub(crate) fn load_order(&self, name: &str) -> Result<Vec<Arc<Skill>>, String> {
        requires::load_order(&self.members(), name)
    }

    pub(crate) fn is_active(&self, skill: &str) -> bool {
        self.lock().is_active(skill)
    }

    /// The loaded skills, in the order of loading.
    pub(crate) fn active_skills(&self) -> Vec<Arc<Skill>> {
        let state = self.lock();
        let active = state.active.iter();
        active.map(|active| Arc::clone(&active.skill)).collect()
    }
}

impl ToolboxState {
    pub(crate) fn is_active(&self, skill: &str) -> bool {
        self.active.iter().any(|active| active.skill.name == skill)
    }
}
