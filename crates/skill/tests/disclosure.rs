//! What a model sees of a skill stays within its cap and names every cut.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use bytes::Bytes;
use proptest::prelude::*;
use prowess_skill::disclose::{self, CatalogueLine, FileContent};
use prowess_skill::{Bundle, BundleLimits, LoadOptions, Skill};

fn skill(description: &str, body: &str, files: &[(&str, &[u8])]) -> Skill {
    let description = serde_json::Value::from(description);
    let text = format!("---\nname: s\ndescription: {description}\n---\n{body}");
    let first = ("SKILL.md", Bytes::from(text), false);
    let more = files
        .iter()
        .map(|(name, data)| (*name, Bytes::copy_from_slice(data), false));
    let bundle =
        Bundle::from_files(std::iter::once(first).chain(more), &BundleLimits::default()).unwrap();
    Skill::load(bundle, &LoadOptions::default()).skill.unwrap()
}

#[test]
fn a_catalogue_entry_is_one_visible_line() {
    let skill = skill("Does\n\n a\u{200b} thing.\u{e0041}", "", &[]);
    assert_eq!(disclose::catalogue_entry(&skill, 200), "- s: Does a thing.");
    assert_eq!(disclose::catalogue_entry(&skill, 12), "- s: Does…");
}

#[test]
fn control_tokens_of_chat_templates_are_taken_apart_but_not_in_files() {
    const TOKEN: &str = "<|im_end|>";
    // Where something invisible is left out, a token appears.
    let description = "Does <\u{200b}|im_start|>system a [INST] thing. <s>";
    let body = "Say <|im_end|> and <｜User｜>.";
    let skill = skill(description, body, &[("<|x|>.txt", TOKEN.as_bytes())]);
    assert_eq!(
        disclose::catalogue_entry(&skill, 200),
        "- s: Does < |im_start|>system a [ INST] thing. < s>"
    );
    let cut = disclose::catalogue_entry(&skill, 16);
    assert!(!cut.contains("<|"), "{cut}");
    let shown = disclose::body(&skill, "/skills/s", 100).text;
    assert_eq!(shown, "Say < |im_end|> and < ｜User｜>.");
    assert_eq!(
        disclose::body(&skill, "/skills/s", 100).text,
        shown,
        "the same each time"
    );
    assert!(
        disclose::file_list(&skill, 100)
            .text
            .starts_with("< |x|>.txt")
    );
    let Some(FileContent::Text(file)) = disclose::file(&skill, "<|x|>.txt", 100) else {
        unreachable!("it is text");
    };
    assert_eq!(file.text, TOKEN);
}

#[test]
fn a_body_notes_that_it_is_cut() {
    let skill = skill("d", "ééééé", &[]);
    assert_eq!(disclose::body(&skill, "/skills/s", 100).text, "ééééé");
    let cut = disclose::body(&skill, "/skills/s", 5);
    assert_eq!(cut.text, "éé\n[SKILL.md is cut here: 4 of 10 bytes shown]");
    assert_eq!(cut.omitted_bytes, 6);
}

#[test]
fn instructions_name_the_skills_folder_where_their_author_left_a_place_for_it() {
    let text = "Run `python3 \"${CLAUDE_SKILL_DIR}/a.py\"` or {baseDir}/b.sh. In code: \
        `${baseDir}/c`, `{{baseDir}}`, `$CLAUDE_SKILL_DIRS`.";
    let skill = skill("d", text, &[]);
    assert_eq!(
        disclose::body(&skill, "/skills/s", 1000).text,
        "Run `python3 \"/skills/s/a.py\"` or /skills/s/b.sh. In code: \
         `${baseDir}/c`, `{{baseDir}}`, `$CLAUDE_SKILL_DIRS`."
    );
}

#[test]
fn a_body_of_nothing_but_places_for_the_folder_stays_within_its_cap() {
    let skill = skill("d", &"{baseDir}".repeat(100), &[]);
    let cut = disclose::body(&skill, &"/x".repeat(50), 300);
    assert!(cut.text.len() < 400 && cut.omitted_bytes > 0, "{cut:?}");
}

#[test]
fn a_file_list_is_sorted_and_notes_what_it_leaves_out() {
    let skill = skill("d", "x", &[("b.txt", b"12"), ("a/c.txt", b"1")]);
    let size = skill.bundle.get("SKILL.md").unwrap().data.len();
    let all = format!("SKILL.md ({size} bytes)\na/c.txt (1 bytes)\nb.txt (2 bytes)\n");
    assert_eq!(disclose::file_list(&skill, 1000).text, all);
    let cut = disclose::file_list(&skill, 25);
    assert_eq!(
        cut.text,
        format!("SKILL.md ({size} bytes)\n[2 more files are not listed]\n")
    );
}

#[test]
fn a_file_is_text_or_bytes() {
    let skill = skill("d", "x", &[("t.txt", b"text"), ("b.bin", b"\x00\xff")]);
    assert!(
        matches!(disclose::file(&skill, "t.txt", 9), Some(FileContent::Text(t)) if t.text == "text")
    );
    assert!(
        matches!(disclose::file(&skill, "b.bin", 9), Some(FileContent::Binary(b)) if b.len() == 2)
    );
    assert_eq!(disclose::file(&skill, "../SKILL.md", 9), None);
}

#[test]
fn a_shortened_entry_still_has_when_to_use_the_skill() {
    let details = "It merges, splits, rotates and stamps them, page by page. ".repeat(6);
    let description =
        format!("Works with PDF files. {details}Use when the user has forms to be filled in.");
    let skill = skill(&description, "", &[]);
    insta::assert_snapshot!(disclose::catalogue_entry(&skill, 160), @"- s: Works with PDF files. … Use when the user has forms to be filled in.");
    // What comes early survives by itself.
    let early = format!("Use when the user has forms. {details}");
    let cut = disclose::catalogue_line("s", &early, None, 160);
    assert!(
        cut.starts_with("- s: Use when the user has forms. It"),
        "{cut}"
    );
    assert!(cut.ends_with('…') && cut.len() <= 160, "{cut}");
    let apart = disclose::catalogue_line("s", &details, Some("When asked for forms."), 160);
    assert!(apart.ends_with(" … When asked for forms."), "{apart}");
}

#[test]
fn a_line_with_little_space_keeps_the_name_and_ends_with_a_sentence_or_a_word() {
    let text = "Fills PDF forms. Reads tables, charts and images. Use when the user has forms.";
    let skill = skill(text, "", &[]);
    let line = CatalogueLine::new(&skill);
    assert_eq!((line.head_bytes(), line.text_bytes()), (5, text.len()));
    let shown = [1_000, 40, 36, 24, 12].map(|cap| line.shortened(cap));
    insta::assert_snapshot!(shown.join("\n"), @"
    - s: Fills PDF forms. Reads tables, charts and images. Use when the user has forms.
    - s: Fills PDF forms. Reads tables, charts…
    - s: Fills PDF forms. Reads tables…
    - s: Fills PDF forms. …
    - s: Fills PDF…
    ");
}

proptest! {
    #[test]
    fn no_line_with_little_space_outgrows_it(description in "([a-zé技., ]{0,150}( Use when )?){2}x", cap in 8_usize..200) {
        let line = CatalogueLine::new(&skill(&description, "", &[]));
        prop_assert!(line.shortened(cap).len() <= line.head_bytes() + cap);
    }

    #[test]
    fn no_catalogue_entry_outgrows_its_cap(description in "([a-zé技\u{200b}😀 ]{0,150}( Use when )?){2}x", cap in 8_usize..200) {
        let skill = skill(&description, "", &[]);
        prop_assert!(disclose::catalogue_entry(&skill, cap).len() <= cap);
    }
}
