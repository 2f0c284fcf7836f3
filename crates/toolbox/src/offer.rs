//! Which tools a toolbox begins with, and what they are called.

use crate::catalogue::{self, offered};
use crate::names::{of_tool, word};
use crate::registry::{NewTool, Registry, Route};
use crate::spec::{Form, Member, Options};
use crate::text::cut_end;
use crate::{bash, declared, editor, litellm};
use prowess_skill::Skill;
use serde_json::{Value, json};

/// Most bytes of a description that every provider takes.
const LONGEST: usize = 1024;

/// All tools of these skills. Those of a skill itself are added, but not shown: that
/// happens when it is loaded. With nowhere to run code there are none that would.
pub(crate) fn tools(members: &[Member], runs: bool, options: &Options) -> Registry {
    let mut registry = Registry::new(&options.reserved);
    match options.form {
        Form::Compact => compact(&mut registry, members, options),
        Form::PerSkill => per_skill(&mut registry, members, options),
    }
    others(&mut registry, members, runs, options);
    if options.code {
        code(&mut registry);
    }
    if options.litellm {
        litellm::offer(&mut registry, members);
    }
    if runs {
        for member in members {
            own(&mut registry, member);
        }
    }
    registry
}

fn compact(registry: &mut Registry, members: &[Member], options: &Options) {
    let budget = options.caps.catalogue;
    let catalogue = catalogue::write(members, budget);
    let mut description = String::from(
        "Load a skill: its instructions, and its own tools if it has any. Do this before a task \
         that a skill is for. With `path`, read another file of the skill instead.",
    );
    if options.catalogue {
        description.push_str("\n\nSkills:\n");
        description.push_str(catalogue.text.trim_end());
        if catalogue.left_out > 0 {
            let more = catalogue.left_out;
            description.push_str(&format!("\n({more} more: search for them)"));
        }
    }
    let names: Vec<&str> = offered(members).map(|m| m.skill.name.as_str()).collect();
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
        wanted: "load_skill",
        otherwise: "skills_load",
        description,
        input_schema: object(json!({ "name": name, "path": path }), &["name"]),
        route: Route::Load,
    };
    match names.is_empty() {
        true => registry.add(new),
        false => registry.show(new),
    };
    if catalogue.left_out > 0 || options.all_names {
        registry.show(list());
        registry.show(search());
    }
}

fn per_skill(registry: &mut Registry, members: &[Member], options: &Options) {
    for member in offered(members) {
        let skill = &member.skill;
        let wanted = format!("load_skill_{}", word(&skill.name));
        let path = json!({
            "type": "string",
            "default": "SKILL.md",
            "description": "A file of the skill, relative to its folder.",
        });
        registry.show(NewTool {
            wanted: &wanted,
            otherwise: &wanted,
            description: cut_end(&frontmatter(&member.skill), options.caps.catalogue),
            input_schema: object(json!({ "path": path }), &[]),
            route: Route::LoadOne(skill.name.clone()),
        });
    }
    if options.all_names {
        registry.show(list());
        registry.show(search());
    }
}

/// A skill's frontmatter, what it is for first, and each thing said once.
fn frontmatter(skill: &Skill) -> String {
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
fn others(registry: &mut Registry, members: &[Member], runs: bool, options: &Options) {
    let mut more = vec![resource()];
    if runs && members.iter().any(|m| m.skill.bundle.len() > 1) {
        more.push(run_script());
    }
    for new in more {
        match options.all_names {
            true => registry.show(new),
            false => registry.add(new),
        };
    }
    for route in [Route::List, Route::Search, Route::Load] {
        if registry.name_of(&route).is_none() {
            registry.add(match route {
                Route::List => list(),
                Route::Search => search(),
                _ => NewTool {
                    wanted: "load_skill",
                    otherwise: "skills_load",
                    description: "Load a skill.".into(),
                    input_schema: object(json!({ "name": { "type": "string" } }), &["name"]),
                    route,
                },
            });
        }
    }
}

fn list() -> NewTool<'static> {
    NewTool {
        wanted: "list_skills",
        otherwise: "skills_list",
        description: "List the skills there are, with what each is for.".into(),
        input_schema: object(json!({}), &[]),
        route: Route::List,
    }
}

fn search() -> NewTool<'static> {
    NewTool {
        wanted: "search_skills",
        otherwise: "skills_search",
        description: "Find skills for a task by words about it, best first.".into(),
        input_schema: object(
            json!({
                "query": { "type": "string", "description": "Words about the task." },
                "limit": { "type": "integer", "description": "Most skills to return.", "default": 10 },
            }),
            &["query"],
        ),
        route: Route::Search,
    }
}

fn resource() -> NewTool<'static> {
    NewTool {
        wanted: "read_skill_resource",
        otherwise: "skills_read_resource",
        description: "Read a file of a skill.".into(),
        input_schema: object(
            json!({
                "name": { "type": "string", "description": "The skill's name." },
                "path": { "type": "string", "description": "The file, relative to the skill's folder." },
            }),
            &["name", "path"],
        ),
        route: Route::Resource,
    }
}

fn run_script() -> NewTool<'static> {
    NewTool {
        wanted: "run_skill_script",
        otherwise: "skills_run_script",
        description: "Run a script of a skill in the sandbox, with these arguments.".into(),
        input_schema: object(
            json!({
                "name": { "type": "string", "description": "The skill's name." },
                "path": { "type": "string", "description": "The script, relative to the skill's folder." },
                "args": { "type": "array", "items": { "type": "string" }, "description": "Its arguments." },
            }),
            &["name", "path"],
        ),
        route: Route::Script,
    }
}

fn code(registry: &mut Registry) {
    registry.show(NewTool {
        wanted: bash::NAME,
        otherwise: "skill_bash",
        description: bash::DESCRIPTION.into(),
        input_schema: bash::input_schema(),
        route: Route::Bash,
    });
    registry.show(NewTool {
        wanted: editor::NAME,
        otherwise: "skill_editor",
        description: editor::DESCRIPTION.into(),
        input_schema: editor::input_schema(),
        route: Route::Editor,
    });
}

/// The declared tools of a skill.
fn own(registry: &mut Registry, member: &Member) {
    let skill = &member.skill;
    for tool in &skill.tools {
        let wanted = of_tool(&skill.name, &tool.name);
        registry.add(NewTool {
            wanted: &wanted,
            otherwise: &wanted,
            description: cut_end(&tool.description, LONGEST),
            input_schema: declared::input_schema(tool),
            route: Route::Declared {
                skill: skill.name.clone(),
                tool: tool.name.clone(),
            },
        });
    }
}

/// The schema of arguments that are all known.
pub(crate) fn object(properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}
