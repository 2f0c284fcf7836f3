//! Characters that make a name show as another one: control characters, those without a glyph,
//! and those that change the direction of text.
//!
//! The rule for names that people give to files, containers and keys. Writing systems and emoji
//! keep the joiners, marks and selectors that they need. Paths inside a skill follow a stricter
//! rule, see [`path`](crate::path).

use unicode_general_category::{GeneralCategory, get_general_category};

/// The first character of a name that a reader does not see, or that changes how they see
/// others, unless the characters around it need it.
pub fn find_misleading(name: &str) -> Option<char> {
    if name.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return None;
    }
    let right_to_left = name.chars().any(is_right_to_left);
    let mut before = None;
    let mut rest = name.chars();
    while let Some(c) = rest.next() {
        let after = rest.clone().next();
        let is_needed = match c {
            '\u{200c}' | '\u{200d}' => {
                before.is_some_and(takes_joiners) && after.is_some_and(takes_joiners)
            }
            '\u{200e}' | '\u{200f}' | '\u{61c}' => right_to_left,
            // Asks for the coloured form of the emoji before it.
            '\u{fe0f}' => before.is_some_and(is_symbol) || after == Some('\u{20e3}'),
            // Select the form of the letter before them, which names in Japan and in Mongolia have.
            '\u{fe00}'..='\u{fe02}' | '\u{e0100}'..='\u{e01ef}' => before.is_some_and(is_ideograph),
            '\u{180b}'..='\u{180f}' => before.is_some_and(is_mongolian),
            // Signs around Arabic numbers, which have a glyph.
            '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{8e2}' => true,
            _ => false,
        };
        if !is_needed && (c.is_control() || is_invisible(c)) {
            return Some(c);
        }
        before = Some(c);
    }
    None
}

/// What is wrong with a name that misleads: the end of a sentence that begins with the name.
pub fn describe_misleading(name: &str) -> Option<String> {
    let c = find_misleading(name)?;
    let kind = match c.is_control() {
        true => "a control character",
        false => "an invisible or direction-changing character",
    };
    Some(format!("has {kind} (U+{:04X}); remove it", u32::from(c)))
}

/// Whether a character misleads wherever it stands: no text needs it.
pub fn always_misleads(c: char) -> bool {
    let may_be_needed = matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
        | '\u{8e2}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200c}'..='\u{200f}'
        | '\u{2800}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}');
    !may_be_needed && (c.is_control() || is_invisible(c))
}

/// Characters without a glyph of their own: formats (which direction marks, joiners and
/// tags are), separators of lines, fillers and variation selectors.
pub(crate) fn is_invisible(c: char) -> bool {
    if c.is_ascii() {
        return false;
    }
    matches!(
        get_general_category(c),
        GeneralCategory::Format
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
    ) || matches!(c,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{2065}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Emoji that are letters or punctuation by their category.
const OTHER_EMOJI: [char; 5] = ['\u{203c}', '\u{2049}', '\u{2139}', '\u{3030}', '\u{303d}'];

/// Whether a character is one that emoji are made of.
pub(crate) fn is_symbol(c: char) -> bool {
    get_general_category(c) == GeneralCategory::OtherSymbol
        || matches!(c, '\u{2190}'..='\u{2bff}')
        || OTHER_EMOJI.contains(&c)
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

fn is_mongolian(c: char) -> bool {
    matches!(c, '\u{1820}'..='\u{18aa}')
}

/// Whether zero-width joiners belong beside this character: emoji and their
/// modifiers, and the scripts that shape their letters.
pub(crate) fn takes_joiners(c: char) -> bool {
    matches!(c,
        '\u{0600}'..='\u{109F}' | '\u{1780}'..='\u{1CFF}' | '\u{A800}'..='\u{ABFF}'
        | '\u{FB50}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFE}' | '\u{11000}'..='\u{11FFF}'
        | '\u{1E900}'..='\u{1E95F}'
        | '\u{2190}'..='\u{2BFF}' | '\u{FE0F}' | '\u{1F000}'..='\u{1FAFF}')
}

pub(crate) fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{0590}'..='\u{08FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFE}'
        | '\u{10800}'..='\u{10FFF}' | '\u{1E800}'..='\u{1EFFF}')
        && c != '\u{61C}'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_show_as_others_are_found() {
        for (name, found) in [
            ("invoice_\u{202e}fdp.exe", '\u{202e}'),
            ("a\u{2066}b", '\u{2066}'),
            ("a\u{200b}b", '\u{200b}'),
            ("\u{feff}a", '\u{feff}'),
            ("a\u{2060}", '\u{2060}'),
            ("a\u{ad}b", '\u{ad}'),
            ("a\u{200f}b", '\u{200f}'),
            ("a\u{200d}b", '\u{200d}'),
            ("a\u{200c}", '\u{200c}'),
            ("\u{1f469}\u{200d}", '\u{200d}'),
            ("a\u{fe0f}", '\u{fe0f}'),
            ("\u{2764}\u{fe0f}\u{fe0f}", '\u{fe0f}'),
            ("a\u{e0041}", '\u{e0041}'),
            ("a\u{e0100}", '\u{e0100}'),
            ("\u{845b}\u{e0100}\u{e0101}", '\u{e0101}'),
            ("a\u{180b}", '\u{180b}'),
            ("\u{3164}", '\u{3164}'),
            ("a\u{2028}b", '\u{2028}'),
            ("a\nb", '\n'),
            ("a\u{9b}b", '\u{9b}'),
            ("a\u{7f}", '\u{7f}'),
        ] {
            assert_eq!(find_misleading(name), Some(found), "{name:?}");
        }
        let described = ["a\u{202e}b", "a\u{7f}"].map(describe_misleading);
        assert_eq!(
            described.map(Option::unwrap),
            [
                "has an invisible or direction-changing character (U+202E); remove it",
                "has a control character (U+007F); remove it"
            ]
        );
    }

    #[test]
    fn names_of_every_writing_system_are_shown_as_written() {
        for name in [
            "",
            "report 1.pdf",
            "gr\u{f6}\u{df}e.txt",
            "\u{5e9}\u{5dc}\u{200f}.txt",
            "\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}.txt",
            "\u{915}\u{94d}\u{200d}\u{937}",
            "\u{8868}\u{3000}1.xlsx",
            "Screenshot 1.00\u{202f}PM.png",
            "\u{1f469}\u{200d}\u{1f4bb}.png",
            "\u{2764}\u{fe0f}\u{200d}\u{1f525}",
            "1\u{fe0f}\u{20e3}",
            "\u{2139}\u{fe0f} Read me.pdf",
            "Urgent\u{203c}\u{fe0f}.docx",
            "\u{845b}\u{e0100}\u{57ce}.pdf",
            "\u{182d}\u{180b}\u{1820}",
            "e\u{301}",
        ] {
            assert_eq!(find_misleading(name), None, "{name:?}");
        }
    }

    #[test]
    fn what_some_text_needs_does_not_always_mislead() {
        for c in ['\u{202e}', '\u{2069}', '\u{200b}', '\u{feff}', '\u{e0041}'] {
            assert!(always_misleads(c), "{c:?}");
        }
        for c in ['a', '\u{e4}', '\u{200d}', '\u{200f}', '\u{fe0f}', '\u{ad}'] {
            assert!(!always_misleads(c), "{c:?}");
        }
        assert!(always_misleads('\n'));
    }
}
