//! The tools, the route of each name, and which are shown.
//!
//! The order is fixed and tools are only appended, so that the list a model was sent
//! before is a prefix of the next one and prompt caches stay valid.

use crate::names::NamePool;
use crate::spec::ToolSpec;
use prowess_skill::control_tokens::{neutralise, neutralise_json};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// Edit distance up to which a similar name is suggested.
const MAX_EDIT_DISTANCE: usize = 3;

/// Tools, and bytes of memory of their descriptions and schemas: one frontmatter can declare
/// thousands of tools, and every MCP session has those of all skills of its tenant.
const MAX_TOOLS: usize = 10_000;
const MAX_SPEC_BYTES: usize = 8 << 20;

/// What a call of a tool does.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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
    /// The first tool of each route.
    by_route: HashMap<ToolRoute, usize>,
    shown: Vec<usize>,
    /// Bytes of memory of all descriptions and schemas, about.
    spec_bytes: usize,
    /// Whether a tool of a skill was left out.
    is_full: bool,
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
        let index = self.tools.len();
        self.by_name.insert(name.clone(), index);
        self.by_route.entry(new.route.clone()).or_insert(index);
        self.spec_bytes = self.spec_bytes.saturating_add(new.spec_bytes());
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

    /// Adds a skill's own tool, which is not shown yet; false if there is no room for it.
    pub(crate) fn add_own(&mut self, new: NewTool<'_>) -> bool {
        let bytes = self.spec_bytes.saturating_add(new.spec_bytes());
        self.is_full |= self.tools.len() >= MAX_TOOLS || bytes > MAX_SPEC_BYTES;
        if !self.is_full {
            self.add(new);
        }
        !self.is_full
    }

    /// Whether there is no room for more tools of skills.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
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

    /// How many tools are shown.
    pub(crate) fn shown_count(&self) -> usize {
        self.shown.len()
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
        let shown = self.shown.iter().filter_map(|index| self.tools.get(*index));
        shown.map(|tool| tool.spec.name.clone()).collect()
    }

    /// The name of the tool with this route.
    pub(crate) fn name_for(&self, route: &ToolRoute) -> Option<&str> {
        let tool = self.tools.get(*self.by_route.get(route)?)?;
        Some(&tool.spec.name)
    }
}

impl NewTool<'_> {
    /// Bytes of memory of its description and its schema, about.
    fn spec_bytes(&self) -> usize {
        self.description.len() + value_bytes(&self.input_schema)
    }
}

fn value_bytes(value: &Value) -> usize {
    let inside: usize = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(value_bytes).sum(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| size_of::<String>() + name.len() + value_bytes(value))
            .sum(),
    };
    size_of::<Value>() + inside
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn own_tool(number: usize, description: String) -> NewTool<'static> {
        NewTool {
            name: "one__go",
            fallback_name: "one__go",
            description,
            input_schema: json!({}),
            route: ToolRoute::Declared {
                skill: "one".into(),
                tool: number.to_string(),
            },
        }
    }

    #[test]
    fn tools_of_skills_have_limits_and_are_found_by_their_routes() {
        let mut many = Registry::default();
        let added = (0..).take_while(|number| many.add_own(own_tool(*number, String::new())));
        assert_eq!(added.count(), MAX_TOOLS);
        let route = |number| own_tool(number, String::new()).route;
        assert_eq!(many.name_for(&route(0)), Some("one__go"));
        assert_eq!(many.name_for(&route(9_999)), Some("one__go_10000"));
        assert_eq!(many.name_for(&route(10_000)), None);

        let mut large = Registry::default();
        let text = || "x".repeat(1 << 20);
        let added = (0..).take_while(|number| large.add_own(own_tool(*number, text())));
        assert_eq!(added.count(), (MAX_SPEC_BYTES >> 20) - 1);
        // What a toolbox itself has is always there.
        assert!(large.is_full());
        large.show(own_tool(100, String::new()));
        assert_eq!(large.shown_count(), 1);
    }
}
