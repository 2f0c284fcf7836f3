//! Skills of the pool as files that can be uploaded, and as many more as are needed.

use serde_json::Value;

use crate::dataset::PoolSkill;

/// Characters of a name and of a description that the upload rules allow.
const MAX_NAME_CHARS: usize = 64;
const MAX_DESCRIPTION_CHARS: usize = 1024;
/// Words that no name may have, and what is written instead: the first has the same stem.
const RESERVED: [(&str, &str); 2] = [("claude", "claud"), ("anthropic", "anthrop")];

/// The skills of a pool, and others made from them.
pub(super) struct SkillFiles<'a> {
    pool: &'a [PoolSkill],
}

/// A skill to be uploaded.
pub(super) struct SkillFile {
    pub(super) text: String,
    /// Bytes of name, description and body.
    pub(super) text_bytes: usize,
    pub(super) folder: String,
}

impl<'a> SkillFiles<'a> {
    pub(super) fn new(pool: &'a [PoolSkill]) -> Self {
        SkillFiles { pool }
    }

    /// Skills of the pool itself.
    pub(super) fn len(&self) -> usize {
        self.pool.len()
    }

    /// How many of them differ from what is uploaded.
    pub(super) fn changed(&self) -> usize {
        let is_changed = |skill: &&PoolSkill| {
            allowed_name(&skill.name) != skill.name
                || allowed_description(&skill.description) != skill.description
        };
        self.pool.iter().filter(is_changed).count()
    }

    /// The skill of this number: one of the pool, or after its end one with the shuffled words
    /// of one of them. `None` if the pool is empty.
    pub(super) fn file(&self, number: usize) -> Option<SkillFile> {
        let round = number / self.pool.len().max(1);
        let skill = self.pool.get(number % self.pool.len().max(1))?;
        let mut name = allowed_name(&skill.name);
        let mut description = allowed_description(&skill.description);
        let mut body = skill.body.clone();
        if round > 0 {
            let ending = format!("-v{round}");
            name = name.chars().take(MAX_NAME_CHARS - ending.len()).collect();
            name = format!("{}{ending}", name.trim_end_matches('-'));
            description = shuffle_words(&description, number as u64);
            body = shuffle_lines(&body, number as u64);
        }
        let text_bytes = name.len() + description.len() + body.len();
        // A JSON string is a YAML string.
        let text = format!(
            "---\nname: {}\ndescription: {}\n---\n{body}\n",
            Value::String(name.clone()),
            Value::String(description)
        );
        Some(SkillFile {
            text,
            text_bytes,
            folder: name,
        })
    }
}

fn allowed_name(name: &str) -> String {
    let mut allowed = String::new();
    for c in name.to_lowercase().chars() {
        if c.is_ascii_alphanumeric() {
            allowed.push(c);
        } else if !allowed.ends_with('-') && !allowed.is_empty() {
            allowed.push('-');
        }
    }
    for (word, instead) in RESERVED {
        allowed = allowed.replace(word, instead);
    }
    let allowed: String = allowed.chars().take(MAX_NAME_CHARS).collect();
    match allowed.trim_matches('-') {
        "" => "unnamed".to_owned(),
        name => name.to_owned(),
    }
}

fn allowed_description(description: &str) -> String {
    let plain = description.replace(['<', '>'], " ");
    plain.chars().take(MAX_DESCRIPTION_CHARS).collect()
}

/// The words in another order, the same for the same seed.
fn shuffle_words(text: &str, seed: u64) -> String {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let mut state = seed;
    for end in (1..words.len()).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let at = usize::try_from(state >> 33).unwrap_or_default() % (end + 1);
        words.swap(at, end);
    }
    words.join(" ")
}

/// Each line shuffled; headings stay headings.
fn shuffle_lines(text: &str, seed: u64) -> String {
    let lines = text.lines().map(|line| {
        let rest = line.trim_start_matches('#');
        let marks = line.get(..line.len() - rest.len()).unwrap_or_default();
        format!("{marks} {}", shuffle_words(rest, seed))
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_names_that_can_be_uploaded() {
        assert_eq!(allowed_name("FFmpeg Audio (2)"), "ffmpeg-audio-2");
        assert_eq!(allowed_name("claude_api"), "claud-api");
        assert_eq!(allowed_name("-x-"), "x");
        assert_eq!(allowed_name("日本"), "unnamed");
    }

    #[test]
    fn more_skills_have_other_names_and_the_same_words() {
        let pool = [PoolSkill {
            id: "1".to_owned(),
            name: "one".to_owned(),
            description: "a b c d e f g".to_owned(),
            body: "# Head\nline one two".to_owned(),
        }];
        let files = SkillFiles::new(&pool);
        let (first, more) = (files.file(0).unwrap(), files.file(1).unwrap());
        assert!(
            first
                .text
                .contains("name: \"one\"\ndescription: \"a b c d e f g\"")
        );
        assert!(more.text.contains("name: \"one-v1\""));
        assert!(more.text.contains("# Head"));
        assert!(!more.text.contains("a b c d e f g"));
        let sorted = |text: &str| {
            let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            words.sort();
            words
        };
        let words = shuffle_words("a b c d e f g", 1);
        assert_eq!(sorted(&words), sorted("a b c d e f g"));
    }
}
