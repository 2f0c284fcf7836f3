//! Words that say nothing about a task. An index has them all the same: a query of nothing
//! else still finds something.

/// Those of English. Sorted.
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
    "because", "been", "before", "being", "but", "by", "can", "could", "did", "do", "does",
    "doing", "dont", "each", "for", "from", "get", "give", "had", "has", "have", "having", "he",
    "help", "her", "here", "him", "his", "how", "i", "id", "if", "im", "in", "into", "is", "it",
    "its", "ive", "just", "let", "lets", "like", "make", "me", "more", "most", "my", "need",
    "needs", "no", "not", "now", "of", "off", "on", "one", "only", "or", "other", "our", "out",
    "over", "please", "s", "same", "she", "should", "so", "some", "such", "t", "than", "that",
    "the", "their", "them", "then", "there", "these", "they", "this", "those", "through", "to",
    "too", "under", "up", "us", "use", "using", "very", "want", "was", "we", "were", "what",
    "when", "where", "which", "while", "who", "why", "will", "with", "would", "you", "your",
];

/// Those of Dutch, French, German, Italian, Portuguese and Spanish that are no words of English
/// and no names or abbreviations of technologies (`dem`, `las`), without accents. As most skills
/// are in English, they are rare there, and would count more than what a query is about. Sorted.
const FOREIGN_STOP_WORDS: &[&str] = &[
    "auch", "auf", "aus", "avec", "bei", "bitte", "cette", "che", "como", "dans", "de", "della",
    "der", "een", "ein", "eine", "einem", "einen", "einer", "el", "esta", "este", "et", "fur",
    "gli", "het", "ich", "ik", "il", "ist", "je", "kann", "la", "le", "les", "leur", "los", "mein",
    "meine", "meinem", "meinen", "meiner", "meu", "mi", "minha", "mon", "nach", "nao", "nel",
    "nicht", "nos", "nous", "oder", "ou", "para", "pas", "por", "que", "qui", "se", "seu", "sich",
    "sie", "sind", "sono", "sur", "um", "uma", "un", "una", "und", "une", "van", "von", "voor",
    "vous", "wie", "wir", "zu", "zum", "zur",
];

/// Whether a lower-case word is one of them.
pub(crate) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok() || FOREIGN_STOP_WORDS.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted() {
        assert!(STOP_WORDS.is_sorted_by(|a, b| a < b));
        assert!(FOREIGN_STOP_WORDS.is_sorted_by(|a, b| a < b));
    }
}
