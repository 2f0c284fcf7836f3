//! What a skill says about when to use it. It must not know how texts are ranked.

use crate::shorten::find_usage;

/// Fewer words say too little: `Use when needed.`
const MIN_USAGE_WORDS: usize = 5;

/// What a skill says about when to use it, without its own name: what those who need it would
/// ask for. All of its description if it does not say.
pub fn usage_text(name: &str, description: &str, when_to_use: Option<&str>) -> String {
    let usage = find_usage(description).and_then(|at| description.get(at..));
    let usage = usage.filter(|usage| usage.split_whitespace().count() >= MIN_USAGE_WORDS);
    let parts = match (usage, when_to_use.filter(|when| !when.trim().is_empty())) {
        (None, None) => [description, ""],
        (usage, when) => [usage.unwrap_or_default(), when.unwrap_or_default()],
    };
    let text = parts.join(" ");
    // A name of one word is a word of the task too.
    let is_identifier = name.contains(['-', '_']);
    let text = if is_identifier {
        text.replace(name, " ")
    } else {
        text
    };
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::usage_text;

    #[test]
    fn the_part_about_when_to_use_a_skill_is_found() {
        for (description, when, expected) in [
            (
                "Fills in forms. Use when a form has to be filled.",
                None,
                "Use when a form has to be filled.",
            ),
            ("Fills in forms.", None, "Fills in forms."),
            (
                "Fills in forms. Use when needed.",
                None,
                "Fills in forms. Use when needed.",
            ),
            (
                "Fills in forms.",
                Some("A form is empty"),
                "A form is empty",
            ),
            ("Fills in forms.", Some(" "), "Fills in forms."),
            (
                "Fills. Use pdf-forms when forms are empty; use when pdf-forms are many.",
                None,
                "use when   are many.",
            ),
            ("", None, ""),
        ] {
            assert_eq!(usage_text("pdf-forms", description, when), expected);
        }
        let one_word = usage_text("pdf", "Reads a pdf.", None);
        assert_eq!(one_word, "Reads a pdf.");
    }
}
