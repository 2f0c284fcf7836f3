//! Which tools a toolbox begins with, and what they are called.

use crate::catalogue::{self, loadable};
use crate::names::{to_identifier, tool_name};
use crate::registry::{NewTool, Registry, ToolRoute};
use crate::spec::{LoadToolStyle, Member, ToolboxOptions};
use crate::text::cut_end;
use crate::{bash, declared, editor, litellm};
use prowess_skill::Skill;
use serde_json::{Value, json};

/// Most bytes of a description that every provider takes.
const MAX_DESCRIPTION_BYTES: usize = 1024;

/// All tools of these skills. Those of a skill itself are added, but not shown: that
/// happens when it is loaded. With nowhere to run code there are none that would.
pub(crate) fn register_tools(
    members: &[Member],
    runs_code: bool,
    options: &ToolboxOptions,
) -> Registry {
    let mut registry = Registry::new(&options.reserved_names);
    match options.load_style {
        LoadToolStyle::Compact => add_compact_loader(&mut registry, members, options),
        LoadToolStyle::PerSkill => add_loader_per_skill(&mut registry, members, options),
    }
    add_compat_tools(&mut registry, members, runs_code, options);
    if options.code_execution {
        add_code_tools(&mut registry);
    }
    if options.litellm {
        litellm::add_tools(&mut registry, members);
    }
    if runs_code {
        for member in members {
            add_declared_tools(&mut registry, member);
        }
    }
    registry
}

fn add_compact_loader(registry: &mut Registry, members: &[Member], options: &ToolboxOptions) {
    let budget = options.limits.catalogue_bytes;
    let catalogue = catalogue::render_catalogue(members, budget);
    let mut description = String::from(
        "Load a skill: its instructions, and its own tools if it has any. Do this before a task \
         that a skill is for. With `path`, read another file of the skill instead.",
    );
    if options.catalogue {
        description.push_str("\n\nSkills:\n");
        description.push_str(catalogue.text.trim_end());
        if catalogue.omitted > 0 {
            let more = catalogue.omitted;
            description.push_str(&format!("\n({more} more: search for them)"));
        }
    }
    let names: Vec<&str> = loadable(members).map(|m| m.skill.name.as_str()).collect();
    let mut name = json!({ "type": "string", "description": "The skill's name." });
    let fits = names.iter().map(|name| name.len() + 3).sum::<usize>() <= budget;
    if let (true, Some(name)) = (fits, name.as_object_mut()) {
        name.insert("enum".into(), json!(names));
    }
    let path = json!({
        "type": "string",
        "description": "A file of the skill, relative to its folder. Leave out for SKILL.md.",
    });
    let new = NewTool {
        name: "load_skill",
        fallback_name: "skills_load",
        description,
        input_schema: object_schema(json!({ "name": name, "path": path }), &["name"]),
        route: ToolRoute::Load,
    };
    match names.is_empty() {
        true => registry.add(new),
        false => registry.show(new),
    };
    if catalogue.omitted > 0 || options.show_compat_tools {
        registry.show(list_tool());
        registry.show(search_tool());
    }
}

fn add_loader_per_skill(registry: &mut Registry, members: &[Member], options: &ToolboxOptions) {
    for member in loadable(members) {
        let skill = &member.skill;
        let name = format!("load_skill_{}", to_identifier(&skill.name));
        let path = json!({
            "type": "string",
            "default": "SKILL.md",
            "description": "A file of the skill, relative to its folder.",
        });
        registry.show(NewTool {
            name: &name,
            fallback_name: &name,
            description: cut_end(
                &frontmatter_description(&member.skill),
                options.limits.catalogue_bytes,
            ),
            input_schema: object_schema(json!({ "path": path }), &[]),
            route: ToolRoute::LoadOne(skill.name.clone()),
        });
    }
    if options.show_compat_tools {
        registry.show(list_tool());
        registry.show(search_tool());
    }
}

/// A skill's frontmatter, what it is for first, and each thing said once.
fn frontmatter_description(skill: &Skill) -> String {
    let when = skill.invocation.when_to_use.as_deref().unwrap_or_default();
    let about = format!("{} {when}", skill.description);
    let mut text = format!("Load the skill {}: {}", skill.name, about.trim_end());
    let mut rest = skill.frontmatter.clone();
    rest.retain(|key, _| !["name", "description", "when_to_use"].contains(&key.as_str()));
    if !rest.is_empty() {
        text.push_str(&format!("\n\n{}", Value::Object(rest)));
    }
    text
}

/// What other systems call the same things. Answered in any case, shown when wanted.
fn add_compat_tools(
    registry: &mut Registry,
    members: &[Member],
    runs_code: bool,
    options: &ToolboxOptions,
) {
    let mut more = vec![resource_tool()];
    if runs_code && members.iter().any(|m| m.skill.bundle.len() > 1) {
        more.push(script_tool());
    }
    for new in more {
        match options.show_compat_tools {
            true => registry.show(new),
            false => registry.add(new),
        };
    }
    for route in [ToolRoute::List, ToolRoute::Search, ToolRoute::Load] {
        if registry.name_for(&route).is_none() {
            registry.add(match route {
                ToolRoute::List => list_tool(),
                ToolRoute::Search => search_tool(),
                _ => NewTool {
                    name: "load_skill",
                    fallback_name: "skills_load",
                    description: "Load a skill.".into(),
                    input_schema: object_schema(json!({ "name": { "type": "string" } }), &["name"]),
                    route,
                },
            });
        }
    }
}

fn list_tool() -> NewTool<'static> {
    NewTool {
        name: "list_skills",
        fallback_name: "skills_list",
        description: "List the skills there are, with what each is for.".into(),
        input_schema: object_schema(json!({}), &[]),
        route: ToolRoute::List,
    }
}

fn search_tool() -> NewTool<'static> {
    NewTool {
        name: "search_skills",
        fallback_name: "skills_search",
        description: "Find skills for a task by words about it, best first.".into(),
        input_schema: object_schema(
            json!({
                "query": { "type": "string", "description": "Words about the task." },
                "limit": { "type": "integer", "description": "Most skills to return.", "default": 10 },
            }),
            &["query"],
        ),
        route: ToolRoute::Search,
    }
}

fn resource_tool() -> NewTool<'static> {
    NewTool {
        name: "read_skill_resource",
        fallback_name: "skills_read_resource",
        description: "Read a file of a skill.".into(),
        input_schema: object_schema(
            json!({
                "name": { "type": "string", "description": "The skill's name." },
                "path": { "type": "string", "description": "The file, relative to the skill's folder." },
            }),
            &["name", "path"],
        ),
        route: ToolRoute::Resource,
    }
}

fn script_tool() -> NewTool<'static> {
    NewTool {
        name: "run_skill_script",
        fallback_name: "skills_run_script",
        description: "Run a script of a skill in the sandbox, with these arguments.".into(),
        input_schema: object_schema(
            json!({
                "name": { "type": "string", "description": "The skill's name." },
                "path": { "type": "string", "description": "The script, relative to the skill's folder." },
                "args": { "type": "array", "items": { "type": "string" }, "description": "Its arguments." },
            }),
            &["name", "path"],
        ),
        route: ToolRoute::Script,
    }
}

fn add_code_tools(registry: &mut Registry) {
    registry.show(NewTool {
        name: bash::NAME,
        fallback_name: "skill_bash",
        description: bash::DESCRIPTION.into(),
        input_schema: bash::input_schema(),
        route: ToolRoute::Bash,
    });
    registry.show(NewTool {
        name: editor::NAME,
        fallback_name: "skill_editor",
        description: editor::DESCRIPTION.into(),
        input_schema: editor::input_schema(),
        route: ToolRoute::Editor,
    });
}

/// The declared tools of a skill.
fn add_declared_tools(registry: &mut Registry, member: &Member) {
    let skill = &member.skill;
    for tool in &skill.tools {
        let name = tool_name(&skill.name, &tool.name);
        registry.add(NewTool {
            name: &name,
            fallback_name: &name,
            description: cut_end(&tool.description, MAX_DESCRIPTION_BYTES),
            input_schema: declared::input_schema(tool),
            route: ToolRoute::Declared {
                skill: skill.name.clone(),
                tool: tool.name.clone(),
            },
        });
    }
}

/// The schema of arguments that are all known.
pub(crate) fn object_schema(properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}
