//! Command lines held against `Bash(words:*)`.
//!
//! Every command of a line must begin with the words. What can hide a command from a
//! reader (substitution, redirection, groups) cannot be checked, and so does not match.

use crate::model_text;

/// Whether every command of a line fits a pattern: `git diff:*` or `git diff *` for
/// those that begin with the words, `git diff` for exactly them; a last word such as
/// `test*` matches all that begin so.
///
/// # Errors
/// When the line contains something that cannot be checked.
pub(super) fn matches_pattern(line: &str, pattern: &str) -> Result<bool, &'static str> {
    let open = pattern.strip_suffix(":*").or(pattern.strip_suffix(" *"));
    let words: Vec<&str> = open.unwrap_or(pattern).split_whitespace().collect();
    let commands = split_commands(line)?;
    let fits = |command: &Vec<String>| starts_with_words(command, &words, open.is_some());
    Ok(!commands.is_empty() && commands.iter().all(fits))
}

fn starts_with_words(command: &[String], words: &[&str], open: bool) -> bool {
    let Some((last, before)) = words.split_last() else {
        return open;
    };
    let mut words_left = command.iter();
    let same = before
        .iter()
        .all(|word| words_left.next().is_some_and(|given| given == word));
    let Some(found) = words_left.next().filter(|_| same) else {
        return false;
    };
    match last.strip_suffix('*') {
        Some(start) => found.starts_with(start),
        None => found == last && (open || words_left.next().is_none()),
    }
}

/// The commands of a line, each as its words.
fn split_commands(line: &str) -> Result<Vec<Vec<String>>, &'static str> {
    let mut splitter = Splitter::default();
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => splitter.push(chars.next().unwrap_or('\\')),
            '\'' => {
                splitter.begin();
                for c in chars.by_ref().take_while(|c| *c != '\'') {
                    splitter.push(c);
                }
            }
            '"' => splitter.double_quoted(&mut chars)?,
            '`' => return Err(model_text::SUBSTITUTION),
            '$' if matches!(chars.peek(), Some('(' | '{' | '\'' | '"')) => {
                return Err(model_text::SUBSTITUTION);
            }
            '<' | '>' => return Err(model_text::REDIRECTION),
            '(' | ')' | '{' | '}' => return Err(model_text::COMMAND_GROUP),
            ';' | '&' | '|' | '\n' => splitter.end_command(),
            c if c.is_whitespace() => splitter.end_word(),
            c => splitter.push(c),
        }
    }
    splitter.end_command();
    Ok(splitter.commands)
}

#[derive(Default)]
struct Splitter {
    commands: Vec<Vec<String>>,
    words: Vec<String>,
    word: Option<String>,
}

impl Splitter {
    fn begin(&mut self) {
        self.word.get_or_insert_default();
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    fn end_command(&mut self) {
        self.end_word();
        if !self.words.is_empty() {
            self.commands.push(std::mem::take(&mut self.words));
        }
    }

    fn double_quoted(
        &mut self,
        chars: &mut impl Iterator<Item = char>,
    ) -> Result<(), &'static str> {
        self.begin();
        while let Some(c) = chars.next() {
            match c {
                '"' => break,
                '\\' => self.push(chars.next().unwrap_or('\\')),
                '`' | '$' => return Err(model_text::SUBSTITUTION),
                c => self.push(c),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_fit_by_their_first_words() {
        for (line, pattern, expected) in [
            ("git diff --stat", "git diff:*", true),
            ("git diff --stat", "git diff *", true),
            ("git diff --stat", "git diff", false),
            ("git diff", "git diff", true),
            ("git push", "git diff:*", false),
            ("gitk", "git:*", false),
            ("git diff; git log", "git:*", true),
            ("npm run test:unit", "npm run test*", true),
            ("'git' \"diff\"", "git diff:*", true),
            ("anything", "*", true),
            ("", "git:*", false),
        ] {
            assert_eq!(
                matches_pattern(line, pattern),
                Ok(expected),
                "{line} against {pattern}"
            );
        }
    }

    #[test]
    fn another_command_cannot_hide_behind_a_permitted_one() {
        for line in [
            "git diff; rm -rf x",
            "git diff && rm x",
            "git diff | sh",
            "git diff & rm x",
            "git diff\nrm x",
            "FOO=1 git diff",
            "g\\it x; rm",
            "! git diff",
        ] {
            assert_eq!(matches_pattern(line, "git diff:*"), Ok(false), "{line}");
        }
        for line in [
            "git diff $(rm x)",
            "git diff `rm x`",
            "git diff \"$(rm x)\"",
            "git diff > /mnt/data/x",
            "git diff <(rm x)",
            "(git diff)",
            "git diff ${x}",
        ] {
            assert!(matches_pattern(line, "git diff:*").is_err(), "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_line_is_too_odd_to_be_judged(line in ".{0,80}", pattern in ".{0,20}") {
            let _ = matches_pattern(&line, &pattern);
        }
    }
}
