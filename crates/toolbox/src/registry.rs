//! The tools, the route of each name, and which are shown.
//!
//! The order is fixed and tools are only appended, so that the list a model was sent
//! before is a prefix of the next one and prompt caches stay valid.

use crate::names::NamePool;
use crate::spec::ToolSpec;
use prowess_skill::control_tokens::{neutralise, neutralise_json};
use serde_json::Value;
use std::collections::BTreeMap;

/// Edit distance up to which a similar name is suggested.
const MAX_EDIT_DISTANCE: usize = 3;

/// What a call of a tool does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ToolRoute {
    /// Loads the skill that the arguments name.
    Load,
    /// Loads this skill.
    LoadOne(String),
    /// Lists skills.
    List,
    /// Searches for skills.
    Search,
    /// Reads a file of a skill.
    Resource,
    /// Runs a script of a skill.
    Script,
    /// Runs a command line.
    Bash,
    /// Views and edits files.
    Editor,
    /// Runs Python code.
    Code,
    /// Runs the entry script of this skill, as LiteLLM does.
    Entry(String),
    /// Runs a declared script.
    Declared {
        /// Its skill.
        skill: String,
        /// Its name in the frontmatter.
        tool: String,
    },
    /// Calls a function of a `tools.py`.
    Function {
        /// Its skill.
        skill: String,
        /// Its name there.
        function: String,
    },
}

#[derive(Debug)]
struct RegisteredTool {
    spec: ToolSpec,
    route: ToolRoute,
}

/// All tools, shown or not.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    names: NamePool,
    tools: Vec<RegisteredTool>,
    by_name: BTreeMap<String, usize>,
    shown: Vec<usize>,
}

/// A tool to be added.
pub(crate) struct NewTool<'a> {
    /// The preferred name.
    pub(crate) name: &'a str,
    /// The name if the preferred one is taken.
    pub(crate) fallback_name: &'a str,
    pub(crate) description: String,
    pub(crate) input_schema: Value,
    pub(crate) route: ToolRoute,
}

impl Registry {
    pub(crate) fn new(reserved: &[String]) -> Self {
        Self {
            names: NamePool::new(reserved),
            ..Self::default()
        }
    }

    /// Adds a tool that is not shown yet, and returns its name.
    pub(crate) fn add(&mut self, new: NewTool<'_>) -> String {
        let name = self.names.claim(new.name, new.fallback_name);
        self.by_name.insert(name.clone(), self.tools.len());
        self.tools.push(RegisteredTool {
            spec: ToolSpec {
                name: name.clone(),
                // Both may contain text of a skill; a chat template must not read it as tokens.
                description: neutralise(&new.description).into_owned(),
                input_schema: neutralise_json(new.input_schema),
            },
            route: new.route,
        });
        name
    }

    /// Adds a tool and shows it.
    pub(crate) fn show(&mut self, new: NewTool<'_>) -> String {
        let name = self.add(new);
        self.shown.push(self.tools.len() - 1);
        name
    }

    /// Shows a skill's own tools, and returns the names that were not shown before.
    pub(crate) fn reveal(&mut self, skill: &str) -> Vec<String> {
        let mut names = Vec::new();
        for (index, tool) in self.tools.iter().enumerate() {
            let own = tool.route.own_skill() == Some(skill);
            if own && !self.shown.contains(&index) {
                self.shown.push(index);
                names.push(tool.spec.name.clone());
            }
        }
        names
    }

    /// The names of a skill's own tools that are shown.
    pub(crate) fn shown_tools_of(&self, skill: &str) -> Vec<String> {
        let shown = self.shown.iter().filter_map(|index| self.tools.get(*index));
        let own = shown.filter(|tool| tool.route.own_skill() == Some(skill));
        own.map(|tool| tool.spec.name.clone()).collect()
    }

    /// The shown tools, for the model.
    pub(crate) fn specs(&self) -> Vec<ToolSpec> {
        let shown = self.shown.iter().filter_map(|index| self.tools.get(*index));
        shown.map(|tool| tool.spec.clone()).collect()
    }

    /// A tool and its route, shown or not.
    pub(crate) fn find(&self, name: &str) -> Option<(&ToolSpec, &ToolRoute)> {
        let tool = self.tools.get(*self.by_name.get(name)?)?;
        Some((&tool.spec, &tool.route))
    }

    /// The tool with the most similar name, shown or not: its skill may not be loaded yet.
    pub(crate) fn nearest(&self, name: &str) -> Option<String> {
        let names = self.by_name.keys();
        // The model chooses the name; its length must not determine the cost.
        let near = names.filter(|known| known.len().abs_diff(name.len()) <= MAX_EDIT_DISTANCE);
        let near = near.map(|known| (strsim::levenshtein(known, name), known));
        let (slips, known) = near.min()?;
        (slips <= MAX_EDIT_DISTANCE.min(name.len() / 2)).then(|| known.clone())
    }

    /// The tools of the skill that a name begins with, shown or not.
    pub(crate) fn tools_of_same_skill(&self, name: &str) -> Vec<&str> {
        let Some((skill, _)) = name.split_once("__").filter(|(skill, _)| !skill.is_empty()) else {
            return Vec::new();
        };
        let names = self.by_name.keys().map(String::as_str);
        let same = |known: &&str| known.split_once("__").is_some_and(|(own, _)| own == skill);
        names.filter(same).collect()
    }

    /// The names of the shown tools.
    pub(crate) fn shown_names(&self) -> Vec<String> {
        self.specs().into_iter().map(|spec| spec.name).collect()
    }

    /// The name of the tool with this route.
    pub(crate) fn name_for(&self, route: &ToolRoute) -> Option<&str> {
        let tool = self.tools.iter().find(|tool| tool.route == *route)?;
        Some(&tool.spec.name)
    }
}

impl ToolRoute {
    /// Whether it only shows skills and changes nothing.
    pub(crate) fn is_read_only(&self) -> bool {
        matches!(
            self,
            Self::Load | Self::LoadOne(_) | Self::List | Self::Search | Self::Resource
        )
    }

    /// The skill whose own tool this is, to be shown when the skill is loaded.
    pub(crate) fn own_skill(&self) -> Option<&str> {
        match self {
            Self::Declared { skill, .. } | Self::Function { skill, .. } => Some(skill),
            _ => None,
        }
    }
}
