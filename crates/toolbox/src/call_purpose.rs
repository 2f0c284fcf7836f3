//! Which skills a call is about, from its arguments alone: before it is made, and for calls of
//! earlier runs. It must not know what a call costs.

use crate::arguments::ArgumentNames;
use crate::folder::{SKILLS_FOLDER, relative_path, skill_folder};
use crate::registry::ToolRoute;
use crate::spec::Member;
use crate::toolbox::Toolbox;
use prowess_skill::control_tokens::neutralise;
use serde_json::Value;

/// Skills that one command line can be about.
const MAX_MENTIONED: usize = 8;

/// What a call does with which skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallPurpose {
    /// It reads the instructions of a skill, or another file of it.
    Load {
        /// The skill's name, as the call has it if the skill is not a member.
        skill: String,
        /// Whether it reads another file than the instructions.
        reads_file: bool,
    },
    /// It runs something of these skills.
    Use {
        /// Their names, each once.
        skills: Vec<String>,
    },
    /// It searches for skills.
    Search,
    /// It is about no skill that could be recognised.
    Other,
}

impl Toolbox {
    /// Which skills a call is about. A command line is about the skills whose folders it names.
    #[must_use]
    pub fn call_purpose(&self, name: &str, input: &Value) -> CallPurpose {
        let (route, members) = {
            let state = self.state.lock();
            let Some((_, route)) = state.registry.find(name) else {
                return CallPurpose::Other;
            };
            (route.clone(), std::sync::Arc::clone(&state.members))
        };
        let named = || text(input, ArgumentNames::SKILL).map(|name| member_name(&members, name));
        match route {
            ToolRoute::Load | ToolRoute::Resource => {
                named().map_or(CallPurpose::Other, |skill| load(&members, skill, input))
            }
            ToolRoute::LoadOne(skill) => load(&members, skill, input),
            ToolRoute::Script => named().map_or(CallPurpose::Other, use_one),
            ToolRoute::Entry(skill)
            | ToolRoute::Declared { skill, .. }
            | ToolRoute::Function { skill, .. } => use_one(skill),
            ToolRoute::Editor => view(&members, input),
            ToolRoute::Bash => command(&members, input.get("command")),
            ToolRoute::Code => command(&members, input.get("code")),
            ToolRoute::List | ToolRoute::Search => CallPurpose::Search,
        }
    }
}

fn text(input: &Value, names: ArgumentNames) -> Option<&str> {
    names.find(input).and_then(Value::as_str)
}

/// The name of the skill that a model calls so, maybe with the name of its plugin.
fn member_name(members: &[Member], name: &str) -> String {
    let find = |name: &str| {
        let called = |m: &&Member| m.skill.name == name || neutralise(&m.skill.name) == name;
        members.iter().find(called)
    };
    let own = name.rsplit_once(':').map_or(name, |(_, own)| own);
    let found = find(name).or_else(|| find(own));
    found.map_or_else(|| own.to_owned(), |member| member.skill.name.clone())
}

fn use_one(skill: String) -> CallPurpose {
    CallPurpose::Use {
        skills: vec![skill],
    }
}

fn load(members: &[Member], skill: String, input: &Value) -> CallPurpose {
    let path = text(input, ArgumentNames::PATH).unwrap_or_default();
    let member = members.iter().find(|member| member.skill.name == skill);
    let (path, main) = match member {
        Some(member) => {
            let skill = &member.skill;
            (
                relative_path(skill, path),
                skill.bundle.skill_file().as_str(),
            )
        }
        None => (path, "SKILL.md"),
    };
    CallPurpose::Load {
        skill,
        reads_file: !path.is_empty() && !path.eq_ignore_ascii_case(main),
    }
}

/// A call of the editor: viewing a file of a skill.
fn view(members: &[Member], input: &Value) -> CallPurpose {
    let (Some("view"), Some(path)) = (
        text(input, ArgumentNames::COMMAND),
        text(input, ArgumentNames::PATH),
    ) else {
        return CallPurpose::Other;
    };
    let Some((folder, file)) = path
        .strip_prefix(SKILLS_FOLDER)
        .and_then(|rest| rest.strip_prefix('/'))
        .map(|rest| rest.split_once('/').unwrap_or((rest, "")))
    else {
        return CallPurpose::Other;
    };
    let member = members
        .iter()
        .find(|member| skill_folder(&member.skill.name) == folder);
    let main = member.map_or("SKILL.md", |member| {
        member.skill.bundle.skill_file().as_str()
    });
    CallPurpose::Load {
        reads_file: !file.is_empty() && !file.eq_ignore_ascii_case(main),
        skill: member.map_or_else(|| folder.to_owned(), |member| member.skill.name.clone()),
    }
}

fn command(members: &[Member], line: Option<&Value>) -> CallPurpose {
    let line = line.and_then(Value::as_str).unwrap_or_default();
    let mut skills: Vec<String> = Vec::new();
    for (_, rest) in line
        .match_indices(SKILLS_FOLDER)
        .filter_map(|(at, found)| line.get(at..)?.split_at_checked(found.len()))
    {
        let Some(rest) = rest.strip_prefix('/') else {
            continue;
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let end = rest.find(|c| !plain(c)).unwrap_or(rest.len());
        let folder = rest.get(..end).unwrap_or_default();
        let mut members = members.iter().map(|member| &member.skill.name);
        if let Some(name) = members.find(|name| skill_folder(name) == folder)
            && !skills.contains(name)
        {
            skills.push(name.clone());
        }
        if skills.len() == MAX_MENTIONED {
            break;
        }
    }
    match skills.is_empty() {
        true => CallPurpose::Other,
        false => CallPurpose::Use { skills },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::ToolboxOptions;
    use prowess_skill::{LoadOptions, Skill};
    use serde_json::json;

    fn member(name: &str) -> Member {
        let text = format!("---\nname: {name}\ndescription: About {name}.\n---\nDo it.\n");
        let loaded = Skill::from_text(&text, &LoadOptions::default());
        Member::from(loaded.skill.unwrap())
    }

    #[test]
    fn a_call_is_about_the_skills_that_it_names() {
        let members = vec![member("forms"), member("maps")];
        let toolbox = Toolbox::new(members.clone(), None, ToolboxOptions::default()).unwrap();
        let load = |skill: &str, reads_file| CallPurpose::Load {
            skill: skill.to_owned(),
            reads_file,
        };
        for (name, input, expected) in [
            ("load_skill", json!({"name": "forms"}), load("forms", false)),
            (
                "load_skill",
                json!({"name": "forms", "path": "SKILL.md"}),
                load("forms", false),
            ),
            (
                "load_skill",
                json!({"name": "forms", "path": "/skills/forms/more.md"}),
                load("forms", true),
            ),
            ("load_skill", json!({"name": 7}), CallPurpose::Other),
            ("search_skills", json!({"query": "x"}), CallPurpose::Search),
            ("nobody", json!({"name": "forms"}), CallPurpose::Other),
        ] {
            let found = toolbox.call_purpose(name, &input);
            assert_eq!(found, expected, "{name} {input}");
        }
        let used = |skills: &[&str]| CallPurpose::Use {
            skills: skills.iter().map(|name| (*name).to_owned()).collect(),
        };
        for (line, expected) in [
            ("python3 /skills/forms/fill.py a", used(&["forms"])),
            ("cd /skills/maps && ls ../forms", used(&["maps"])),
            (
                "cat /skills/maps/a /skills/forms/b /skills/maps/c",
                used(&["maps", "forms"]),
            ),
            ("ls /skills /skills/formsx /mnt/data", CallPurpose::Other),
            ("", CallPurpose::Other),
        ] {
            assert_eq!(command(&members, Some(&json!(line))), expected, "{line}");
        }
        let viewed = |path: &str| view(&members, &json!({"command": "view", "path": path}));
        assert_eq!(viewed("/skills/forms/SKILL.md"), load("forms", false));
        assert_eq!(viewed("/skills/forms/more.md"), load("forms", true));
        assert_eq!(viewed("/mnt/data/a"), CallPurpose::Other);
    }
}
