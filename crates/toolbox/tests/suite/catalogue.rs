//! Which tools there are, in each form, for few skills and for many.

use super::support::{names, text, toolbox_without_sandbox};
use prowess_testkit::SkillFixture;
use prowess_toolbox::{LoadToolStyle, ToolboxLimits, ToolboxOptions};
use serde_json::json;

fn three() -> Vec<SkillFixture> {
    let about =
        |name: &str, description: &str| SkillFixture::new(name).field("description", description);
    vec![
        about(
            "pdf-forms",
            "Fills PDF forms. Use when a form is to be filled.",
        ),
        about("charts", "Draws charts and diagrams of numbers.")
            .field("when_to_use", "For pie charts too.")
            .field("license", "MIT"),
        about("letters", "Writes letters, and forms of address."),
    ]
}

fn many(count: usize) -> Vec<SkillFixture> {
    let one = |n: usize| {
        let about = format!("Does task {n} with care, whenever task {n} comes up in a project.");
        SkillFixture::new(&format!("skill-{n:04}")).field("description", &about)
    };
    (0..count).map(one).collect()
}

#[test]
fn the_compact_form_is_one_tool_with_all_names() {
    let toolbox = toolbox_without_sandbox(&three(), ToolboxOptions::default());
    insta::assert_json_snapshot!(toolbox.tools(), @r#"
    [
      {
        "name": "load_skill",
        "description": "Load a skill: its instructions and, if it has any, its own tools. When a task matches a skill's description, load that skill first. With `path`, read another file of the skill instead.\n\nSkills:\n- pdf-forms: Fills PDF forms. Use when a form is to be filled.\n- charts: Draws charts and diagrams of numbers. For pie charts too.\n- letters: Writes letters, and forms of address.",
        "input_schema": {
          "type": "object",
          "properties": {
            "name": {
              "type": "string",
              "description": "The skill's name.",
              "enum": [
                "pdf-forms",
                "charts",
                "letters"
              ]
            },
            "path": {
              "type": "string",
              "description": "A file of the skill, relative to its folder. Omit for SKILL.md."
            }
          },
          "required": [
            "name"
          ],
          "additionalProperties": false
        }
      }
    ]
    "#);
}

#[test]
fn one_tool_per_skill_is_described_by_its_frontmatter() {
    let options = ToolboxOptions {
        load_style: LoadToolStyle::PerSkill,
        ..ToolboxOptions::default()
    };
    let toolbox = toolbox_without_sandbox(&three(), options);
    assert_eq!(
        names(&toolbox),
        [
            "load_skill_pdf_forms",
            "load_skill_charts",
            "load_skill_letters"
        ]
    );
    insta::assert_json_snapshot!(toolbox.tools()[1], @r#"
    {
      "name": "load_skill_charts",
      "description": "Load the skill charts: Draws charts and diagrams of numbers. For pie charts too.\n\n{\"license\":\"MIT\"}",
      "input_schema": {
        "type": "object",
        "properties": {
          "path": {
            "type": "string",
            "default": "SKILL.md",
            "description": "A file of the skill, relative to its folder."
          }
        },
        "required": [],
        "additionalProperties": false
      }
    }
    "#);
}

#[tokio::test]
async fn a_skills_own_loader_reads_its_files_too() {
    let options = ToolboxOptions {
        load_style: LoadToolStyle::PerSkill,
        ..ToolboxOptions::default()
    };
    let fixture = SkillFixture::new("a").body("Body.").file("b.txt", "file");
    let toolbox = toolbox_without_sandbox(&[fixture], options);
    let input = json!({ "path": "b.txt" });
    assert_eq!(
        text(&toolbox.call("load_skill_a", &input, None).await),
        "file"
    );
    let input = json!({ "path": "SKILL.md" });
    let loaded = toolbox.call("load_skill_a", &input, None).await;
    assert!(text(&loaded).starts_with("Body."));
    let again = toolbox.call("load_skill_a", &json!({}), None).await;
    assert!(text(&again).contains("already loaded"));
}

#[test]
fn where_the_system_prompt_lists_the_skills_the_tool_does_not() {
    let options = ToolboxOptions {
        catalogue: false,
        ..ToolboxOptions::default()
    };
    let toolbox = toolbox_without_sandbox(&three(), options);
    assert!(!toolbox.tools()[0].description.contains("charts"));
    let listed = toolbox.catalogue();
    assert!(listed.starts_with("- pdf-forms: Fills"), "{listed}");
    assert_eq!(listed.lines().count(), 3);
}

#[tokio::test]
async fn many_skills_stay_within_the_budget_and_can_be_searched() {
    let toolbox = toolbox_without_sandbox(&many(1000), ToolboxOptions::default());
    let tools = toolbox.tools();
    assert_eq!(
        names(&toolbox),
        ["load_skill", "list_skills", "search_skills"]
    );
    let budget = ToolboxLimits::default().catalogue_bytes;
    assert!(
        tools[0].description.len() < budget + 400,
        "{}",
        tools[0].description.len()
    );
    assert!(tools[0].description.ends_with(" more: search for them)"));

    let input = json!({ "query": "about task 777", "limit": 1 });
    let found = toolbox.call("search_skills", &input, None).await;
    insta::assert_snapshot!(text(&found), @"- skill-0777: Does task 777 with care, whenever task 777 comes up in a project.");
    let listed = toolbox.call("list_skills", &json!({}), None).await;
    assert!(text(&listed).len() <= ToolboxLimits::default().result_bytes + 60);
}

#[test]
fn before_a_skill_is_left_out_descriptions_are_cut() {
    let options = ToolboxOptions {
        limits: ToolboxLimits {
            catalogue_bytes: 330,
            ..ToolboxLimits::default()
        },
        ..ToolboxOptions::default()
    };
    let toolbox = toolbox_without_sandbox(&many(3), options.clone());
    assert_eq!(names(&toolbox), ["load_skill"]);
    let long = SkillFixture::new("long").field("description", &"very long ".repeat(90));
    let mut fixtures = many(2);
    fixtures.push(long);
    let toolbox = toolbox_without_sandbox(&fixtures, options);
    let description = toolbox.tools().swap_remove(0).description;
    insta::assert_snapshot!(description.split_once("Skills:").unwrap().1.trim(), @"
    - skill-0000: Does task 0 with care, whenever task 0 comes up in a project.
    - skill-0001: Does task 1 with care, whenever task 1 comes up in a project.
    - long: very long very long very long very long very long very long very long very long very long very long very long very long very long very long very long very long very…
    ");
}

/// What says at its end when to use the skill, as descriptions often do.
fn described(n: usize) -> String {
    format!(
        "Creates, edits and checks documents of kind {n}, with their tables, charts and images, \
         and keeps the layout of the template that they were made from. Use when a document of \
         kind {n} is to be made or changed."
    )
}

/// The names of the tools for so many skills with the budget that `prowess mcp` has, and the
/// lines about skills.
fn briefly_listed(count: usize) -> (Vec<String>, Vec<String>) {
    let one = |n: usize| {
        let fixture = SkillFixture::new(&format!("documents-{n:03}"));
        fixture.field("description", &described(n))
    };
    let fixtures: Vec<SkillFixture> = (0..count).map(one).collect();
    let options = ToolboxOptions {
        limits: ToolboxLimits {
            catalogue_bytes: 1_700,
            ..ToolboxLimits::default()
        },
        ..ToolboxOptions::default()
    };
    let toolbox = toolbox_without_sandbox(&fixtures, options);
    let description = toolbox.tools().swap_remove(0).description;
    assert!(description.len() <= 2_048, "{}", description.len());
    let (_, lines) = description.split_once("Skills:\n").unwrap();
    let lines = lines.lines().map(str::to_owned).collect();
    (names(&toolbox), lines)
}

/// The lines are those of the first skills, in order, cut at the ends of words.
fn check_lines(lines: &[String]) {
    for (n, line) in lines.iter().enumerate() {
        let text = line.strip_prefix(&format!("- documents-{n:03}: ")).unwrap();
        let whole = described(n);
        for part in text.split(" … ") {
            let part = part.trim_end_matches('…').trim_end();
            let (_, rest) = whole.split_once(part).unwrap();
            assert!(!rest.starts_with(char::is_alphanumeric), "{line}");
        }
        assert!(text.split(' ').count() > 1, "{line}");
    }
}

#[test]
fn of_ten_skills_with_long_descriptions_it_is_listed_what_they_do_and_when_to_use_them() {
    let (tools, lines) = briefly_listed(10);
    assert_eq!(tools, ["load_skill"]);
    assert_eq!(lines.len(), 10);
    check_lines(&lines);
    insta::assert_snapshot!(lines[9].as_str(), @"- documents-009: Creates, edits and checks documents of kind 9, with their … Use when a document of kind 9 is to be made or changed.");
}

#[test]
fn forty_skills_are_all_listed_with_a_few_words_each() {
    let (tools, lines) = briefly_listed(40);
    assert_eq!(tools, ["load_skill"]);
    assert_eq!(lines.len(), 40);
    check_lines(&lines);
    insta::assert_snapshot!(lines[39].as_str(), @"- documents-039: Creates, edits and…");
}

#[test]
fn of_more_skills_than_have_space_the_first_are_listed_and_the_others_are_found() {
    let (tools, mut lines) = briefly_listed(120);
    assert_eq!(tools, ["load_skill", "list_skills", "search_skills"]);
    assert_eq!(lines.pop().unwrap(), "(72 more: search for them)");
    assert_eq!(lines.len(), 48);
    check_lines(&lines);
}

#[test]
fn a_skill_with_a_very_long_name_does_not_keep_others_from_being_listed() {
    let mut fixtures = vec![SkillFixture::new(&"a".repeat(120))];
    fixtures.extend(many(3));
    let options = ToolboxOptions {
        limits: ToolboxLimits {
            catalogue_bytes: 240,
            ..ToolboxLimits::default()
        },
        ..ToolboxOptions::default()
    };
    let toolbox = toolbox_without_sandbox(&fixtures, options);
    let listed = toolbox.catalogue();
    assert_eq!(listed.lines().count(), 4, "{listed}");
    assert!(listed.len() <= 240, "{listed}");
}

#[tokio::test]
async fn a_search_finds_by_name_description_and_use_best_first() {
    let toolbox = toolbox_without_sandbox(&three(), ToolboxOptions::default());
    let mut seen = String::new();
    for query in [
        "filling a form",
        "pie",
        "chart of numbers",
        "forms",
        "nothing here fits",
    ] {
        let input = json!({ "query": query });
        let found = toolbox.call("search_skills", &input, None).await;
        seen.push_str(&format!("{query}:\n{}\n", text(&found)));
    }
    insta::assert_snapshot!(seen, @r#"
    filling a form:
    - pdf-forms: Fills PDF forms. Use when a form is to be filled.
    - letters: Writes letters, and forms of address.
    pie:
    - charts: Draws charts and diagrams of numbers. For pie charts too.
    chart of numbers:
    - charts: Draws charts and diagrams of numbers. For pie charts too.
    forms:
    - pdf-forms: Fills PDF forms. Use when a form is to be filled.
    - letters: Writes letters, and forms of address.
    nothing here fits:
    No skill matches "nothing here fits". There are 3 skills; try other words.
    "#);
}

#[tokio::test]
async fn a_search_finds_a_declared_trigger_before_all_else() {
    let about =
        |name: &str, description: &str| SkillFixture::new(name).field("description", description);
    let fixtures = [
        about("plumage", "Writes the quarterly plumage report."),
        about("heron", "Wades.").field("triggers", "[quarterly plumage]"),
    ];
    let toolbox = toolbox_without_sandbox(&fixtures, ToolboxOptions::default());
    let input = json!({ "query": "report on the Quarterly Plumage", "limit": 1 });
    let found = toolbox.call("search_skills", &input, None).await;
    assert_eq!(text(&found), "- heron: Wades.");
}

#[test]
fn names_of_other_systems_are_answered_and_shown_on_request() {
    let toolbox = toolbox_without_sandbox(&three(), ToolboxOptions::default());
    assert!(
        ["list_skills", "search_skills", "read_skill_resource"]
            .iter()
            .all(|n| toolbox.has_tool(n))
    );
    let options = ToolboxOptions {
        show_compat_tools: true,
        ..ToolboxOptions::default()
    };
    assert_eq!(
        names(&toolbox_without_sandbox(&three(), options)),
        [
            "load_skill",
            "list_skills",
            "search_skills",
            "read_skill_resource"
        ]
    );
}

#[test]
fn the_same_skills_give_the_same_bytes() {
    let listed = || {
        serde_json::to_string(
            &toolbox_without_sandbox(&many(50), ToolboxOptions::default()).tools(),
        )
        .unwrap()
    };
    assert_eq!(listed(), listed());
}
