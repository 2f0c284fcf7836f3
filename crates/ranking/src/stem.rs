//! Removes English endings, so that `spreadsheets` and `spreadsheet`, `filling` and `filled`, or
//! `migration` and `migrate`, are one term. Words that only look English lose letters too; so do
//! queries, so it does no harm.

/// Endings of nouns, of which adverbs have one, each with the letters that it must follow, if not
/// any.
const NOUN_ENDINGS: [(&str, &[u8]); 5] = [
    ("ment", b""),
    ("ion", b"st"),
    ("er", b""),
    ("or", b"t"),
    ("ly", b""),
];
/// Letters that remain of a noun: of `paper` or `nation` too few would.
const MIN_NOUN_STEM: usize = 4;

/// Reduces a lower-case word to its stem. Words that are not ASCII letters only remain.
pub(crate) fn stem(word: &mut String) {
    if word.len() < 4 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return;
    }
    remove_plural(word);
    remove_verb_ending(word);
    remove_noun_ending(word);
    if word.len() > 3 && word.ends_with('e') {
        word.pop();
    }
}

fn remove_plural(word: &mut String) {
    if word.ends_with("ies") && word.len() > 4 {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if word.ends_with("sses") {
        word.truncate(word.len() - 2);
    } else if word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us") {
        word.pop();
    }
}

/// `creating` and `created` become `creat`, as `create` does; `planning` becomes `plan`.
fn remove_verb_ending(word: &mut String) {
    let Some(rest) = word.strip_suffix("ing").or_else(|| word.strip_suffix("ed")) else {
        return;
    };
    let has_vowel = rest.bytes().any(|byte| b"aeiouy".contains(&byte));
    if rest.len() < 3 || !has_vowel {
        return;
    }
    word.truncate(rest.len());
    let mut last = word.bytes().rev();
    if let (Some(last), Some(before)) = (last.next(), last.next())
        && last == before
        && !b"aeioulsz".contains(&last)
    {
        word.pop();
    }
}

/// `deployment` becomes `deploy`, `migration` and `migrator` become `migrat`, as `migrate` does.
fn remove_noun_ending(word: &mut String) {
    for (ending, after) in NOUN_ENDINGS {
        let Some(rest) = word.strip_suffix(ending) else {
            continue;
        };
        let follows = after.is_empty()
            || rest
                .bytes()
                .last()
                .is_some_and(|last| after.contains(&last));
        let has_vowel = rest.bytes().any(|byte| b"aeiouy".contains(&byte));
        if follows && has_vowel && rest.len() >= MIN_NOUN_STEM {
            word.truncate(rest.len());
        }
        return;
    }
}
