//! Output of programs as HTML: colours and styles of ANSI escape sequences become spans with
//! classes, all other sequences and control characters are left out, and everything else is
//! escaped. The result is the only HTML that is not made by a template.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Bytes of an output that are read.
const MAX_BYTES: usize = 64 << 10;
/// Parameters of a sequence that are read.
const MAX_PARAMETERS: usize = 16;

/// Colours 30 to 37, and their bright forms 90 to 97.
const COLOURS: [&str; 8] = [
    "black", "red", "green", "yellow", "blue", "magenta", "cyan", "white",
];

/// The HTML of an output, for `<pre class="terminal">`.
pub(crate) fn terminal_html(output: &str) -> String {
    let shown = shorten(output);
    let mut html = String::with_capacity(shown.len() + shown.len() / 8);
    let mut style = Style::default();
    let mut open = Style::default();
    let mut chars = shown.chars().peekable();
    while let Some(one) = chars.next() {
        match one {
            '\u{1b}' => {
                if let Some(parameters) = read_escape(&mut chars) {
                    style.apply(&parameters);
                }
            }
            // A line that is written over begins a new one; a line end stays one.
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' => html.push('\n'),
            '\n' | '\t' => html.push(one),
            one if one.is_control() => {}
            one => {
                if style != open {
                    open.close(&mut html);
                    style.open(&mut html);
                    open = style;
                }
                escape(one, &mut html);
            }
        }
    }
    open.close(&mut html);
    html
}

fn shorten(output: &str) -> Cow<'_, str> {
    if output.len() <= MAX_BYTES {
        return Cow::Borrowed(output);
    }
    let mut end = MAX_BYTES;
    while !output.is_char_boundary(end) {
        end -= 1;
    }
    let more = output.len() - end;
    let kept = output.get(..end).unwrap_or_default();
    Cow::Owned(format!("{kept}\n[{more} more bytes]"))
}

fn escape(one: char, html: &mut String) {
    match one {
        '<' => html.push_str("&lt;"),
        '>' => html.push_str("&gt;"),
        '&' => html.push_str("&amp;"),
        '"' => html.push_str("&quot;"),
        '\'' => html.push_str("&#39;"),
        one => html.push(one),
    }
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Reads the rest of an escape sequence. Returns the parameters of one that sets a style.
fn read_escape(chars: &mut Chars<'_>) -> Option<Vec<u16>> {
    match chars.peek()? {
        '[' => {
            chars.next();
            read_control_sequence(chars)
        }
        // Titles of windows, links and the like end with BEL or ESC \.
        ']' | 'P' | '_' | '^' | 'X' => {
            while let Some(one) = chars.next() {
                if one == '\u{7}' || (one == '\u{1b}' && chars.next_if_eq(&'\\').is_some()) {
                    break;
                }
            }
            None
        }
        // Character sets have one more character.
        '(' | ')' | '*' | '+' | '#' => {
            chars.next();
            chars.next_if(|one| !one.is_control());
            None
        }
        one if ('0'..='~').contains(one) => {
            chars.next();
            None
        }
        _ => None,
    }
}

fn read_control_sequence(chars: &mut Chars<'_>) -> Option<Vec<u16>> {
    let mut parameters = vec![0_u16];
    let mut is_private = false;
    while let Some(one) = chars.next_if(|one| ('\u{20}'..='\u{7e}').contains(one)) {
        match one {
            '0'..='9' => {
                let digit = one.to_digit(10).and_then(|digit| u16::try_from(digit).ok());
                if let (Some(last), Some(digit)) = (parameters.last_mut(), digit) {
                    *last = last.saturating_mul(10).saturating_add(digit);
                }
            }
            ';' | ':' if parameters.len() < MAX_PARAMETERS => parameters.push(0),
            ';' | ':' => {}
            'm' => return (!is_private).then_some(parameters),
            '@'..='~' => return None,
            _ => is_private = true,
        }
    }
    None
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Style {
    colour: Option<&'static str>,
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
}

impl Style {
    fn apply(&mut self, parameters: &[u16]) {
        let mut rest = parameters.iter();
        while let Some(parameter) = rest.next() {
            match parameter {
                0 => *self = Style::default(),
                1 => self.bold = true,
                2 => self.dim = true,
                3 => self.italic = true,
                4 => self.underline = true,
                22 => (self.bold, self.dim) = (false, false),
                23 => self.italic = false,
                24 => self.underline = false,
                30..=37 => self.colour = colour(parameter - 30),
                90..=97 => self.colour = colour(parameter - 90),
                39 => self.colour = None,
                // Colours of a palette or of three parts; of these only the first sixteen have
                // names.
                38 | 48 => {
                    let named = match rest.next() {
                        Some(5) => rest.next().and_then(|index| colour(index % 8)),
                        Some(2) => {
                            rest.nth(2);
                            None
                        }
                        _ => None,
                    };
                    if *parameter == 38 {
                        self.colour = named;
                    }
                }
                _ => {}
            }
        }
    }

    fn open(self, html: &mut String) {
        if self == Style::default() {
            return;
        }
        html.push_str("<span class=\"");
        let flags = [
            (self.bold, "bold"),
            (self.dim, "dim"),
            (self.italic, "italic"),
            (self.underline, "underline"),
        ];
        let names = flags.into_iter().filter(|(is_set, _)| *is_set);
        let names = names.map(|(_, name)| name).chain(self.colour);
        for (at, name) in names.enumerate() {
            let space = if at == 0 { "" } else { " " };
            // Writing to a string does not fail.
            let _ = write!(html, "{space}ansi-{name}");
        }
        html.push_str("\">");
    }

    fn close(self, html: &mut String) {
        if self != Style::default() {
            html.push_str("</span>");
        }
    }
}

fn colour(index: u16) -> Option<&'static str> {
    COLOURS.get(usize::from(index)).copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn colours_become_classes_and_other_sequences_vanish() {
        let html = terminal_html("\u{1b}[1;31mred\u{1b}[0m \u{1b}[2K\u{1b}]0;title\u{7}plain");
        assert_eq!(html, "<span class=\"ansi-bold ansi-red\">red</span> plain");
        assert_eq!(
            terminal_html("\u{1b}[38;5;10mgreen\u{1b}[39m\u{1b}[48;2;1;2;3mx"),
            "<span class=\"ansi-green\">green</span>x"
        );
        assert_eq!(terminal_html("10%\r20%\r\ndone\u{8}"), "10%\n20%\ndone");
    }

    #[test]
    fn markup_is_text_even_inside_sequences() {
        assert_eq!(terminal_html("<b>&\"'"), "&lt;b&gt;&amp;&quot;&#39;");
        let html = terminal_html("\u{1b}[31\"><script>m<i>");
        assert!(!html.contains("<script") && !html.contains("<i>"), "{html}");
    }

    #[test]
    fn a_long_output_is_cut() {
        let html = terminal_html(&"ü".repeat(MAX_BYTES));
        assert!(html.ends_with("[65536 more bytes]"), "{}", html.len());
    }

    proptest! {
        #[test]
        fn only_own_spans_are_markup(output in "(\\PC|[\u{1b}\r\n<>&\"'\\[;m0-9]){0,200}") {
            let html = terminal_html(&output);
            let mut rest = html.replace("</span>", "");
            while let Some(at) = rest.find("<span class=\"ansi-") {
                let end = rest.get(at..).and_then(|tag| tag.find("\">"));
                let end = at + end.expect("a span that ends") + 2;
                let names = rest.get(at + 13..end - 2).unwrap_or_default().to_owned();
                let is_name = |one: char| one.is_ascii_lowercase() || matches!(one, '-' | ' ');
                prop_assert!(names.chars().all(is_name), "{}", names);
                rest.replace_range(at..end, "");
            }
            prop_assert!(!rest.contains(['<', '>', '"']), "{}", rest);
            prop_assert_eq!(html.matches("<span").count(), html.matches("</span>").count());
        }
    }
}
