//! A command's output for a terminal: text and its colours. Other control sequences could move
//! the cursor, set the clipboard or the title, or have the terminal type; they are replaced. Bytes
//! arrive in pieces that may end anywhere. It knows nothing of commands.

use std::io::{self, IsTerminal, Write};

use crate::output;

const ESCAPE: u8 = 0x1b;

/// Longest list of numbers in a colour.
const MAX_COLOUR_BYTES: usize = 40;

/// What ends all colours.
const RESET: &str = "\u{1b}[0m";

/// Writes one stream of a command: byte for byte, but to a terminal as [`TerminalText`] shows it.
/// When it is dropped, it writes what was held back, and ends colours: a command may also end
/// because somebody has interrupted it.
pub(super) struct CommandOutputWriter<W: Write> {
    to: W,
    terminal: Option<TerminalText>,
}

impl<W: Write + IsTerminal> CommandOutputWriter<W> {
    pub(super) fn new(to: W) -> Self {
        let terminal = to.is_terminal().then(TerminalText::default);
        Self { to, terminal }
    }
}

impl<W: Write> CommandOutputWriter<W> {
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.terminal {
            Some(text) => self.to.write_all(text.show(bytes).as_bytes()),
            None => self.to.write_all(bytes),
        }
    }
}

impl<W: Write> Drop for CommandOutputWriter<W> {
    fn drop(&mut self) {
        let rest = self.terminal.as_mut().map(TerminalText::finish);
        // A closed reader, such as `head`, is not an error.
        let _ = self.to.write_all(rest.unwrap_or_default().as_bytes());
        let _ = self.to.flush();
    }
}

/// The text of one stream.
#[derive(Debug, Default)]
struct TerminalText {
    /// The beginning of a character or of a colour that has not arrived in full.
    pending: Vec<u8>,
    is_coloured: bool,
}

/// What begins with an escape character.
enum EscapeSequence {
    /// A colour of so many bytes.
    Colour(usize),
    Other,
    Incomplete,
}

impl TerminalText {
    /// The next piece, as far as it is complete.
    fn show(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.pending);
        all.extend_from_slice(bytes);
        let mut shown = String::with_capacity(all.len());
        let mut rest = all.as_slice();
        while let Some(first) = rest.first() {
            let length = if *first == ESCAPE {
                match escape_sequence(rest) {
                    EscapeSequence::Colour(length) => {
                        self.is_coloured = true;
                        shown.push_str(&String::from_utf8_lossy(
                            rest.get(..length).unwrap_or_default(),
                        ));
                        length
                    }
                    EscapeSequence::Other => {
                        shown.push(char::REPLACEMENT_CHARACTER);
                        1
                    }
                    EscapeSequence::Incomplete => break,
                }
            } else {
                let end = rest.iter().position(|byte| *byte == ESCAPE);
                let text = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
                let text = match end {
                    Some(_) => text,
                    None => without_partial_character(text),
                };
                if text.is_empty() {
                    break;
                }
                push_text(&mut shown, text);
                text.len()
            };
            rest = rest.get(length..).unwrap_or_default();
        }
        self.pending = rest.to_vec();
        shown
    }

    /// What was held back, and the end of colours.
    fn finish(&mut self) -> String {
        let mut shown = String::new();
        push_text(&mut shown, &std::mem::take(&mut self.pending));
        if std::mem::take(&mut self.is_coloured) {
            shown.push_str(RESET);
        }
        shown
    }
}

/// Text without control characters but tabs and ends of lines. A carriage return, which would have
/// later text hide this, is left out.
fn push_text(shown: &mut String, text: &[u8]) {
    let text = String::from_utf8_lossy(text).replace('\r', "");
    shown.push_str(&output::strip_controls(&text, false));
}

fn escape_sequence(bytes: &[u8]) -> EscapeSequence {
    let Some(numbers) = bytes.strip_prefix(b"\x1b[") else {
        return match bytes.len() {
            1 => EscapeSequence::Incomplete,
            _ => EscapeSequence::Other,
        };
    };
    let is_number = |byte: &&u8| byte.is_ascii_digit() || b";:".contains(byte);
    let length = numbers.iter().take_while(is_number).count();
    match numbers.get(length) {
        _ if length > MAX_COLOUR_BYTES => EscapeSequence::Other,
        Some(b'm') => EscapeSequence::Colour(b"\x1b[".len() + length + 1),
        Some(_) => EscapeSequence::Other,
        None => EscapeSequence::Incomplete,
    }
}

/// The text up to a character of which only the beginning is there.
fn without_partial_character(text: &[u8]) -> &[u8] {
    let end = match text.utf8_chunks().last() {
        Some(chunk) if is_partial(chunk.invalid()) => text.len() - chunk.invalid().len(),
        _ => text.len(),
    };
    text.get(..end).unwrap_or(text)
}

fn is_partial(bytes: &[u8]) -> bool {
    let read = std::str::from_utf8(bytes);
    read.is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pieces: &[&[u8]]) -> String {
        let mut text = TerminalText::default();
        let mut all: String = pieces.iter().map(|piece| text.show(piece)).collect();
        all.push_str(&text.finish());
        all
    }

    #[test]
    fn text_and_colours_are_shown_and_nothing_else_reaches_the_terminal() {
        let red = "a \u{1b}[1;31mred\u{1b}[0m \u{e4}\t\u{1f600}\n";
        assert_eq!(shown(&[red.as_bytes()]), format!("{red}{RESET}"));
        for (sent, expected) in [
            ("plain\r\nlines\r", "plain\nlines"),
            (
                "\u{1b}]52;c;ZXZpbA==\u{7}",
                "\u{fffd}]52;c;ZXZpbA==\u{fffd}",
            ),
            ("\u{1b}[2J\u{1b}[H", "\u{fffd}[2J\u{fffd}[H"),
            ("\u{1b}[6n\u{1b}c\u{1b}Pq", "\u{fffd}[6n\u{fffd}c\u{fffd}Pq"),
            (
                "\u{9b}2J\u{8}\u{0}\u{7f}\u{202e}",
                "\u{fffd}2J\u{fffd}\u{fffd}\u{fffd}\u{fffd}",
            ),
            ("\u{1b}", "\u{fffd}"),
            ("\u{1b}[31", "\u{fffd}[31"),
            ("\u{1b}\u{1b}[31x", "\u{fffd}\u{fffd}[31x"),
        ] {
            assert_eq!(shown(&[sent.as_bytes()]), expected, "{sent:?}");
        }
        let long = format!("\u{1b}[{}m", "1;".repeat(1_000));
        assert!(!shown(&[long.as_bytes()]).contains('\u{1b}'));
        assert_eq!(shown(&[b"a\xffb\xc3"]), "a\u{fffd}b\u{fffd}");
    }

    #[test]
    fn an_interrupted_command_leaves_no_colour_behind() {
        let mut shown = Vec::new();
        let mut writer = CommandOutputWriter {
            to: &mut shown,
            terminal: Some(TerminalText::default()),
        };
        writer.write(b"\x1b[31mred \x1b[3").unwrap();
        drop(writer);
        let expected = format!("\u{1b}[31mred \u{fffd}[3{RESET}");
        assert_eq!(String::from_utf8(shown).unwrap(), expected);
    }

    #[test]
    fn pieces_may_end_anywhere() {
        let text = "\u{e4}\u{1f600} \u{1b}[38;5;1mx\u{1b}[0m\u{1b}]0;t\u{7}\u{9b}A\n";
        let whole = shown(&[text.as_bytes()]);
        for at in 0..=text.len() {
            let (one, other) = text.as_bytes().split_at(at);
            assert_eq!(shown(&[one, other]), whole, "{at}");
        }
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(shown(&bytes), whole);
    }
}
