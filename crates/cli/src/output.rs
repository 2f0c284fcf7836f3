//! Writing to the terminal.
//!
//! Data goes to standard output, everything else to standard error. Colours are dropped
//! automatically when the output is not a terminal.

use std::io::{self, IsTerminal, Write};

use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};
use prowess_skill::misleading::always_misleads;
use serde::Serialize;

use super::log_writer::LogWriter;

/// Writes data to standard output.
pub(crate) fn print_text(text: &str) -> anyhow::Result<()> {
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    Ok(())
}

/// Writes data to standard output byte for byte, terminal or not.
pub(crate) fn write_data(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    Ok(())
}

/// Writes a value as indented JSON to standard output.
pub(crate) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let to_terminal = io::stdout().is_terminal();
    let mut stdout = io::BufWriter::new(io::stdout().lock());
    if to_terminal {
        let text = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
        stdout.write_all(escape_in_json(&text).as_bytes())?;
    } else {
        serde_json::to_writer_pretty(&mut stdout, value).map_err(io::Error::from)?;
    }
    stdout.write_all(b"\n")?;
    stdout.flush()?;
    Ok(())
}

/// Writes a remark to standard error. In a server it goes through the log writer, in order
/// and without blocking.
pub(crate) fn print_remark(text: &str) {
    if let Some(log) = LogWriter::started() {
        let line = match AutoStream::choice(&io::stderr()) {
            ColorChoice::Never => format!("{}\n", strip_str(text)),
            _ => format!("{text}\n"),
        };
        return log.push(line.as_bytes(), true);
    }
    // There is nowhere to report that standard error is closed.
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Writes an error to standard error. It may have texts of a server, a skill or a file.
pub(crate) fn print_error(text: &str) {
    let text = strip_controls(text, false);
    print_remark(&format!("{ERROR}error{ERROR:#}: {text}"));
}

pub(crate) const ERROR: anstyle::Style = anstyle::AnsiColor::Red.on_default().bold();
pub(crate) const WARNING: anstyle::Style = anstyle::AnsiColor::Yellow.on_default().bold();
pub(crate) const NOTE: anstyle::Style = anstyle::AnsiColor::Cyan.on_default().bold();
pub(crate) const GOOD: anstyle::Style = anstyle::AnsiColor::Green.on_default().bold();
pub(crate) const STRONG: anstyle::Style = anstyle::Style::new().bold();
pub(crate) const DIM: anstyle::Style = anstyle::Style::new().dimmed();

/// Whether a reader such as `head` closed the output, which is not an error.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// `3 skills`, `1 skill`.
pub(crate) fn format_count(number: usize, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{s}")
}

/// Replaces control characters, which could move the cursor or change colours, and characters
/// that hide or turn what is beside them.
pub(crate) fn strip_controls(text: &str, one_line: bool) -> String {
    let keep = |c: char| !always_misleads(c) || !one_line && matches!(c, '\n' | '\t');
    text.chars()
        .map(|c| if keep(c) { c } else { '\u{fffd}' })
        .collect()
}

/// JSON in which nothing can steer a terminal. The format escapes most control characters; the
/// others are within texts, where they may be escaped.
fn escape_in_json(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Control characters that JSON does not escape, and characters that hide or turn what is beside
/// them.
fn steers(c: char) -> bool {
    c >= '\u{7f}' && always_misleads(c)
}

/// Writes a text that others have written to standard output: byte for byte, but to a terminal
/// without what could steer it.
pub(crate) fn print_foreign(text: &str) -> anyhow::Result<()> {
    if io::stdout().is_terminal() {
        write_data(&strip_controls(text, false))
    } else {
        write_data(text)
    }
}

/// Writes lines of JSON that others may have written, or parts of them: byte for byte, but to a
/// terminal without what could steer it.
pub(crate) fn print_json_lines(lines: &str) -> anyhow::Result<()> {
    if io::stdout().is_terminal() {
        write_data(&strip_controls(&escape_in_json(lines), false))
    } else {
        write_data(lines)
    }
}

/// A field of a JSON object in a table, by its pointer.
pub(crate) fn json_cell(row: &serde_json::Value, pointer: &str) -> String {
    match row.pointer(pointer) {
        None | Some(serde_json::Value::Null) => "-".to_owned(),
        Some(serde_json::Value::String(text)) => strip_controls(text, true),
        Some(other) => strip_controls(&other.to_string(), true),
    }
}

/// The first line of a text, shortened for a table.
pub(crate) fn first_line(text: &str) -> String {
    const MAX_SHOWN_CHARS: usize = 72;
    let line = strip_controls(text.lines().next().unwrap_or_default(), true);
    match line.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((cut, _)) => format!("{}…", line.get(..cut).unwrap_or_default().trim_end()),
        None => line,
    }
}

/// A size in bytes: `812 B`, `1.4 kB`, `30 MB`.
pub(crate) fn format_size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["B", "kB", "MB", "GB"];
    let mut value = bytes as f64;
    let mut unit = "B";
    for next in UNITS {
        unit = next;
        if value < 1000.0 {
            break;
        }
        if next != "GB" {
            value /= 1000.0;
        }
    }
    if value < 10.0 && unit != "B" {
        format!("{value:.1} {unit}")
    } else {
        format!("{value:.0} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_cannot_steer_a_terminal() {
        assert_eq!(
            strip_controls("a\u{1b}[2J\nb\u{202e}", false),
            "a\u{fffd}[2J\nb\u{fffd}"
        );
        assert_eq!(
            strip_controls("\u{feff}a\u{200b}\u{e0041}b\u{200d}", true),
            "\u{fffd}a\u{fffd}\u{fffd}b\u{200d}"
        );
        assert_eq!(strip_controls("a\nb", true), "a\u{fffd}b");
        assert_eq!(first_line("a\u{1b}]0;b\u{7}\nc"), "a\u{fffd}]0;b\u{fffd}");
    }

    #[test]
    fn json_for_a_terminal_means_the_same_without_steering_it() {
        let value = serde_json::json!({ "\u{85}a": ["\u{9b}2J\u{7f}\u{202e}\u{1b}[2J\u{e0041}", "\u{e4}\n"] });
        let text = serde_json::to_string_pretty(&value).unwrap();
        let escaped = escape_in_json(&text);
        assert_eq!(escaped, strip_controls(&escaped, false));
        let read: serde_json::Value = serde_json::from_str(&escaped).unwrap();
        assert_eq!(read, value);
    }

    #[test]
    fn sizes_read_well() {
        let shown = [0, 812, 1_400, 65_536, 999_999, 30_000_000, 4_000_000_000].map(format_size);
        assert_eq!(
            shown,
            [
                "0 B", "812 B", "1.4 kB", "66 kB", "1000 kB", "30 MB", "4.0 GB"
            ]
        );
    }
}
