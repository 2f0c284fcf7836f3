//! What the skills of a run took, as a table.

use comfy_table::{Table, presets};
use serde_json::Value;

/// Skills that are shown, those that took most first.
const MAX_SKILLS: usize = 20;

/// The table; none if the record has no costs of skills.
pub(super) fn skill_table(skills: &Value, usage: &Value) -> Option<String> {
    let skills = skills.as_array()?.iter();
    let mut rows: Vec<(u64, [String; 5])> = skills
        .filter_map(|skill| {
            let took = skill.get("took")?;
            let name = skill.get("name")?.as_str()?;
            let part = |name: &str| took.get(name).unwrap_or(&Value::Null);
            let parts = ["offered", "loaded", "used"].map(part);
            let all = parts.iter().map(|part| input(part) + output(part)).sum();
            let [offered, loaded, used] = parts.map(tokens);
            Some((all, [name.to_owned(), offered, loaded, used, millis(took)]))
        })
        .collect();
    let no_skill = usage.get("no_skill")?;
    if rows.is_empty() {
        return None;
    }
    rows.sort_by(|(a, _), (b, _)| b.cmp(a));
    let more = rows.len().saturating_sub(MAX_SKILLS);
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["SKILL", "OFFERED", "LOADED", "USED", "OTHER", "SANDBOX"]);
    for (_, [name, offered, loaded, used, time]) in rows.into_iter().take(MAX_SKILLS) {
        table.add_row([name, offered, loaded, used, "-".to_owned(), time]);
    }
    if more > 0 {
        table.add_row([format!("({more} more)")]);
    }
    let none = || "-".to_owned();
    table.add_row([
        "(no skill)".to_owned(),
        none(),
        none(),
        none(),
        tokens(no_skill),
        millis(no_skill),
    ]);
    Some(format!("{}\n", table.trim_fmt()))
}

fn number(fields: &Value, name: &str) -> u64 {
    fields.get(name).and_then(Value::as_u64).unwrap_or_default()
}

fn input(part: &Value) -> u64 {
    let kinds = ["input_tokens", "cache_read_tokens", "cache_write_tokens"];
    kinds.iter().map(|kind| number(part, kind)).sum()
}

fn output(part: &Value) -> u64 {
    number(part, "output_tokens")
}

/// `input+output`, cached input included.
fn tokens(part: &Value) -> String {
    format!("{}+{}", input(part), output(part))
}

fn millis(fields: &Value) -> String {
    format!("{} ms", number(fields, "sandbox_ms"))
}
