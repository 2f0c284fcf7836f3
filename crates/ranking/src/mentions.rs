//! Skills that a text names outright: `/name` and `$name`.
//!
//! What is found are candidates; whether there is such a skill the caller must see. Paths,
//! URLs, prices and variables in capitals are not mentions.

/// Mentions of one text.
pub const MAX_MENTIONS: usize = 16;
/// Characters of a skill's name.
const MAX_NAME_CHARS: usize = 64;

/// The names that a text mentions, in order, each once; [`MAX_MENTIONS`] at most.
pub fn mentions(text: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    let mut before = None;
    for (at, c) in text.char_indices() {
        if found.len() == MAX_MENTIONS {
            break;
        }
        if matches!(c, '/' | '$')
            && before.is_none_or(begins_mention)
            && let Some(name) = text.get(at + 1..).and_then(name_at_start)
            && !found.contains(&name)
        {
            found.push(name);
        }
        before = Some(c);
    }
    found
}

/// Whether a mention may follow this character: not within a word, a path or an address.
fn begins_mention(before: char) -> bool {
    before.is_whitespace()
        || matches!(
            before,
            '(' | '['
                | '"'
                | '\''
                | '`'
                | '*'
                | ','
                | ';'
                | '“'
                | '‘'
                | '「'
                | '（'
                | '，'
                | '、'
                | '。'
                | '：'
        )
}

/// The name at the start of a text, unless it goes on as a path or is no name.
fn name_at_start(text: &str) -> Option<&str> {
    let is_name =
        |c: char| c.is_alphanumeric() && !c.is_uppercase() || matches!(c, '-' | '_' | ':');
    let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at_checked(end)?;
    // A full stop or a colon may end the sentence.
    let name = name.trim_end_matches([':', '-', '_']);
    let mut rest = rest.chars();
    let goes_on = match rest.next() {
        Some('/' | '\\' | '=' | '@') => true,
        Some('.') => rest.next().is_some_and(char::is_alphanumeric),
        Some(c) => c.is_alphanumeric(),
        None => false,
    };
    let is_word = name.chars().next().is_some_and(char::is_alphanumeric)
        && name.chars().any(char::is_alphabetic);
    let fits = name.chars().count() <= MAX_NAME_CHARS;
    (is_word && fits && !goes_on).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_where_they_are_mentioned() {
        assert_eq!(mentions("/pdf fill this in"), ["pdf"]);
        assert_eq!(
            mentions("Use $code-review, then /pdf-forms."),
            ["code-review", "pdf-forms"]
        );
        assert_eq!(
            mentions("try `/team:deploy` (or $k8s)"),
            ["team:deploy", "k8s"]
        );
        assert_eq!(mentions("/pdf and /pdf again"), ["pdf"]);
        assert_eq!(mentions("请使用 /报表 处理"), ["报表"]);
    }

    #[test]
    fn paths_addresses_prices_and_variables_are_not_mentions() {
        for text in [
            "open /etc/hosts and src/main.rs",
            "see https://example.com/pdf and //cdn",
            "it costs $5 or $20.50",
            "echo $HOME $PATH ${name} $1",
            "either/or, a / b, 1/2",
            "/data.csv and $x=1",
            "/Users",
            "/-x $",
        ] {
            assert_eq!(mentions(text), Vec::<&str>::new(), "{text}");
        }
    }

    #[test]
    fn there_is_a_limit() {
        let many: String = (0..100).map(|number| format!("/skill-{number} ")).collect();
        assert_eq!(mentions(&many).len(), MAX_MENTIONS);
        assert!(mentions(&format!("/{}", "x".repeat(65))).is_empty());
    }
}
