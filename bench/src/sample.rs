//! A skill of 60 files and 1 MB, of text that compresses about as prose does.

use bytes::Bytes;
use prowess_skill::{Bundle, BundleError, BundleLimits};

const FILES: usize = 60;
const BYTES: usize = 1_000_000;
const WORDS: [&str; 16] = [
    "skill", "read", "the", "table", "of", "each", "page", "and", "write", "what", "you", "find",
    "there", "into", "one", "sheet",
];

/// Its files; `front` begins its SKILL.md, and `seed` makes it differ from others.
pub fn bundle(seed: u64, front: &str) -> Result<Bundle, BundleError> {
    let mut words = WordSource(seed);
    let first = format!("{front}{}", words.text());
    let mut files = vec![("SKILL.md".to_owned(), Bytes::from(first), false)];
    for n in 1..FILES {
        files.push((format!("references/{n}.md"), words.text().into(), false));
    }
    Bundle::from_files(files, &BundleLimits::default())
}

/// A small generator of words.
struct WordSource(u64);

impl WordSource {
    fn text(&mut self) -> String {
        let mut text = String::new();
        while text.len() < BYTES / FILES {
            text += &self.word();
        }
        text
    }

    fn word(&mut self) -> String {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let pick = (self.0 >> 60) as usize;
        format!(
            "{}{} ",
            WORDS.get(pick).unwrap_or(&""),
            (self.0 >> 40) % 100
        )
    }
}
