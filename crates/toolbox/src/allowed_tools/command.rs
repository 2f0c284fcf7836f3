//! Command lines held against `Bash(words:*)`.
//!
//! Every command of a line must begin with the words of a pattern; `cd` may precede them. What
//! can hide a command from a reader (substitution, redirection, groups) cannot be checked, and so
//! does not match; a redirection to another stream or to `/dev/null` hides nothing.

use crate::model_text;
use std::iter::Peekable;
use std::str::Chars;

/// Whether every command of a line fits one of the patterns: `git diff:*` or `git diff *` for
/// those that begin with the words, `git diff` for exactly them; a last word such as
/// `test*` matches all that begin so.
///
/// # Errors
/// When the line contains something that cannot be checked.
pub(super) fn matches_patterns(line: &str, patterns: &[&str]) -> Result<bool, &'static str> {
    if patterns.is_empty() {
        return Ok(false);
    }
    let commands = split_commands(line)?;
    let fits = |command: &Vec<String>| {
        let is_cd = command.len() <= 2 && command.first().is_some_and(|word| word == "cd");
        is_cd
            || patterns
                .iter()
                .any(|pattern| fits_pattern(command, pattern))
    };
    Ok(!commands.is_empty() && commands.iter().all(fits))
}

fn fits_pattern(command: &[String], pattern: &str) -> bool {
    let open = pattern.strip_suffix(":*").or(pattern.strip_suffix(" *"));
    let words: Vec<&str> = open.unwrap_or(pattern).split_whitespace().collect();
    starts_with_words(command, &words, open.is_some())
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
            // To a shell, the line goes on as if neither were there.
            '\\' if chars.next_if_eq(&'\n').is_some() => {}
            '\\' => splitter.push(chars.next().unwrap_or('\\')),
            // A comment: a quote in it begins no text, so the next line is a command.
            '#' if splitter.word.is_none() => while chars.next_if(|c| *c != '\n').is_some() {},
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
            '>' if skip_redirection(&mut chars) => splitter.end_redirection(),
            '<' | '>' => return Err(model_text::REDIRECTION),
            '(' | ')' | '{' | '}' => return Err(model_text::COMMAND_GROUP),
            ';' | '&' | '|' | '\n' => splitter.end_command(),
            // To a shell, others (a no-break space, a carriage return) are part of a word.
            ' ' | '\t' => splitter.end_word(),
            c => splitter.push(c),
        }
    }
    splitter.end_command();
    Ok(splitter.commands)
}

/// Skips what follows `>` if it is another stream (`&1`) or `/dev/null`.
fn skip_redirection(chars: &mut Peekable<Chars<'_>>) -> bool {
    let mut rest = chars.clone();
    rest.next_if_eq(&'>');
    while rest.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
    let is_end = |c: &char| matches!(c, ' ' | '\t' | '\n' | ';' | '|' | '&' | '<' | '>');
    let mut target = String::new();
    target.extend(rest.next_if_eq(&'&'));
    while let Some(c) = rest.next_if(|c| !is_end(c)) {
        target.push(c);
    }
    let is_harmless = matches!(target.as_str(), "&1" | "&2" | "/dev/null");
    if is_harmless {
        *chars = rest;
    }
    is_harmless
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

    /// The number directly before a redirection is that of a stream.
    fn end_redirection(&mut self) {
        let word = self.word.take();
        let is_stream = |word: &String| word.bytes().all(|byte| byte.is_ascii_digit());
        self.words.extend(word.filter(|word| !is_stream(word)));
    }

    fn end_command(&mut self) {
        self.end_word();
        if !self.words.is_empty() {
            self.commands.push(std::mem::take(&mut self.words));
        }
    }

    fn double_quoted(&mut self, chars: &mut Peekable<Chars<'_>>) -> Result<(), &'static str> {
        self.begin();
        while let Some(c) = chars.next() {
            match c {
                '"' => break,
                '\\' if chars.next_if_eq(&'\n').is_some() => {}
                // Before other characters it is one itself.
                '\\' => {
                    let escaped = chars.next_if(|c| matches!(c, '"' | '\\' | '$' | '`'));
                    self.push(escaped.unwrap_or('\\'));
                }
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
            ("git diff # it's all", "git diff:*", true),
            ("git log a#b; git log", "git log:*", true),
            ("git \\\n diff", "git diff", true),
            ("npm run test:unit", "npm run test*", true),
            ("'git' \"diff\"", "git diff:*", true),
            ("anything", "*", true),
            ("", "git:*", false),
        ] {
            assert_eq!(
                matches_patterns(line, &[pattern]),
                Ok(expected),
                "{line} against {pattern}"
            );
        }
    }

    #[test]
    fn each_command_of_a_line_may_fit_another_pattern() {
        let patterns = ["git add:*", "git commit:*"];
        for (line, expected) in [
            ("git add -A && git commit -m 'a b'", true),
            ("cd /mnt/data && git add .", true),
            ("git add . 2>&1 | git commit", true),
            ("git add . >/dev/null 2> /dev/null; git commit", true),
            ("git add . && git push", false),
            ("cd a b", false),
        ] {
            assert_eq!(matches_patterns(line, &patterns), Ok(expected), "{line}");
        }
        assert_eq!(matches_patterns("cd x", &[]), Ok(false));
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
            "git\u{a0}diff/../x",
            "git\rdiff",
            "git diff #'\nrm x #'",
            "git diff #\"\nrm x #\"",
            "git diff;#'\nrm x #'",
            "git diff \\\n#'\nrm x #'",
            "\"g\\it\" diff",
        ] {
            assert_eq!(matches_patterns(line, &["git diff:*"]), Ok(false), "{line}");
        }
        for line in [
            "git diff $(rm x)",
            "git diff `rm x`",
            "git diff \"$(rm x)\"",
            "git diff > /mnt/data/x",
            "git diff >& x",
            "git diff > /dev/null/../x",
            "git diff >&1\u{a0}x",
            "git diff <(rm x)",
            "(git diff)",
            "git diff ${x}",
        ] {
            assert!(matches_patterns(line, &["git diff:*"]).is_err(), "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_line_is_too_odd_to_be_judged(line in ".{0,80}", pattern in ".{0,20}") {
            let _ = matches_patterns(&line, &[&pattern]);
        }
    }
}
