//! The tools a toolbox starts with, and their names.

use crate::catalogue::{self, loadable};
use crate::model_text;
use crate::names::to_identifier;
use crate::registry::{NewTool, Registry, ToolRoute};
use crate::schema::object_schema;
use crate::spec::{LoadToolStyle, Member, ToolboxOptions};
use crate::text::cut_end;
use crate::{activation, bash, editor, litellm};
use prowess_skill::Skill;
use serde_json::{Value, json};

/// All tools of these skills. A skill's own tools are added but not shown until the skill
/// is loaded. Without a sandbox there are no tools that run code. With a library, skills that
/// are not members can be searched and loaded.
pub(crate) fn register_tools(
    members: &[Member],
    runs_code: bool,
    has_library: bool,
    options: &ToolboxOptions,
) -> Registry {
    let mut registry = Registry::new(&options.reserved_names);
    match options.load_style {
        _ if has_library => add_library_tools(&mut registry),
        LoadToolStyle::Compact => add_compact_loader(&mut registry, members, options),
        LoadToolStyle::PerSkill => add_loader_per_skill(&mut registry, members, options),
    }
    let has_scripts = has_library || members.iter().any(|m| m.skill.bundle.len() > 1);
    add_compat_tools(&mut registry, runs_code && has_scripts, options);
    if options.code_execution {
        add_code_tools(&mut registry);
    }
    if options.litellm {
        litellm::add_tools(&mut registry, members);
    }
    if runs_code {
        // A skill whose tools have no room reports it when it is loaded.
        for member in members {
            if registry.is_full() {
                break;
            }
            activation::add_declared_tools(&mut registry, &member.skill);
        }
    }
    registry
}

fn add_compact_loader(registry: &mut Registry, members: &[Member], options: &ToolboxOptions) {
    let budget = options.limits.catalogue_bytes;
    let catalogue = catalogue::render_catalogue(members, budget);
    let mut description = String::from(model_text::LOAD_SKILL);
    if options.catalogue {
        description.push_str("\n\nSkills:\n");
        description.push_str(catalogue.text.trim_end());
        if catalogue.omitted > 0 {
            description.push('\n');
            description.push_str(&model_text::omitted_skills(catalogue.omitted));
        }
    }
    let names: Vec<&str> = loadable(members).map(|m| m.skill.name.as_str()).collect();
    let fits = names.iter().map(|name| name.len() + 3).sum::<usize>() <= budget;
    let new = load_tool(description, fits.then_some(&names));
    if names.is_empty() {
        registry.add(new);
    } else {
        registry.show(new);
    }
    if catalogue.omitted > 0 || options.show_compat_tools {
        registry.show(list_tool());
        registry.show(search_tool());
    }
}

/// The same tools, whatever the library has: prompts stay the same while skills are found and
/// loaded.
fn add_library_tools(registry: &mut Registry) {
    registry.show(load_tool(model_text::LOAD_SKILL.into(), None));
    registry.show(search_tool());
}

fn add_loader_per_skill(registry: &mut Registry, members: &[Member], options: &ToolboxOptions) {
    for member in loadable(members) {
        let skill = &member.skill;
        let name = format!("load_skill_{}", to_identifier(&skill.name));
        let path = json!({
            "type": "string",
            "default": "SKILL.md",
            "description": model_text::SKILL_FILE,
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

/// A skill's frontmatter as a description: its purpose first, nothing twice.
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

/// Tools under the names that other systems use. Always callable; shown if the options ask
/// for it.
fn add_compat_tools(registry: &mut Registry, runs_scripts: bool, options: &ToolboxOptions) {
    let mut more = vec![resource_tool()];
    if runs_scripts {
        more.push(script_tool());
    }
    for new in more {
        if options.show_compat_tools {
            registry.show(new);
        } else {
            registry.add(new);
        }
    }
    for route in [ToolRoute::List, ToolRoute::Search, ToolRoute::Load] {
        if registry.name_for(&route).is_none() {
            registry.add(match route {
                ToolRoute::List => list_tool(),
                ToolRoute::Search => search_tool(),
                _ => NewTool {
                    name: "load_skill",
                    fallback_name: "skills_load",
                    description: model_text::LOAD_SKILL_BRIEF.into(),
                    input_schema: object_schema(json!({ "name": { "type": "string" } }), &["name"]),
                    route,
                },
            });
        }
    }
}

/// `load_skill`, which accepts these names only, or any.
fn load_tool(description: String, names: Option<&Vec<&str>>) -> NewTool<'static> {
    let mut name = json!({ "type": "string", "description": model_text::SKILL_NAME });
    if let (Some(names), Some(name)) = (names, name.as_object_mut()) {
        name.insert("enum".into(), json!(names));
    }
    let path = json!({
        "type": "string",
        "description": model_text::OPTIONAL_SKILL_FILE,
    });
    NewTool {
        name: "load_skill",
        fallback_name: "skills_load",
        description,
        input_schema: object_schema(json!({ "name": name, "path": path }), &["name"]),
        route: ToolRoute::Load,
    }
}

fn list_tool() -> NewTool<'static> {
    NewTool {
        name: "list_skills",
        fallback_name: "skills_list",
        description: model_text::LIST_SKILLS.into(),
        input_schema: object_schema(json!({}), &[]),
        route: ToolRoute::List,
    }
}

fn search_tool() -> NewTool<'static> {
    NewTool {
        name: "search_skills",
        fallback_name: "skills_search",
        description: model_text::SEARCH_SKILLS.into(),
        input_schema: object_schema(
            json!({
                "query": { "type": "string", "description": model_text::SEARCH_QUERY },
                "limit": { "type": "integer", "description": model_text::SEARCH_LIMIT, "default": 10 },
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
        description: model_text::READ_RESOURCE.into(),
        input_schema: object_schema(
            json!({
                "name": { "type": "string", "description": model_text::SKILL_NAME },
                "path": { "type": "string", "description": model_text::RESOURCE_PATH },
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
        description: model_text::RUN_SCRIPT.into(),
        input_schema: object_schema(
            json!({
                "name": { "type": "string", "description": model_text::SKILL_NAME },
                "path": { "type": "string", "description": model_text::SCRIPT_PATH },
                "args": { "type": "array", "items": { "type": "string" }, "description": model_text::SCRIPT_ARGUMENTS },
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
        description: model_text::bash_description(),
        input_schema: bash::input_schema(),
        route: ToolRoute::Bash,
    });
    registry.show(NewTool {
        name: editor::NAME,
        fallback_name: "skill_editor",
        description: model_text::editor_description(),
        input_schema: editor::input_schema(),
        route: ToolRoute::Editor,
    });
}
