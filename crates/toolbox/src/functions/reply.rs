//! The reply of the driver, found in its output.

use prowess_sandbox::ExecutionReport;

/// Whether the call succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DriverStatus {
    Ok,
    Error,
}

/// The reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DriverReply {
    pub(super) status: DriverStatus,
    pub(super) text: String,
}

impl DriverReply {
    /// The reply with this marker: `MARKER STATUS LENGTH`, a line's end, the text.
    pub(super) fn find(report: &ExecutionReport, marker: &str) -> Option<Self> {
        parse_reply(&report.stdout.text, marker, report.stdout.cut)
    }
}

fn parse_reply(stdout: &str, marker: &str, cut: u64) -> Option<DriverReply> {
    let (_, rest) = stdout.split_once(marker)?;
    let (head, text) = rest.split_once('\n')?;
    let (status, length) = head.trim_start().split_once(' ')?;
    let status = match status {
        "ok" => DriverStatus::Ok,
        "error" => DriverStatus::Error,
        _ => return None,
    };
    let length: usize = length.parse().ok()?;
    // If the sandbox truncated the output, the text contains a note.
    let text = match text.get(..length) {
        Some(whole) if cut == 0 => whole,
        _ if cut > 0 => text,
        _ => return None,
    };
    let text = text.to_owned();
    Some(DriverReply { status, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_found_by_its_marker_and_nothing_else_is_one() {
        let ok = |text: &str| {
            let (status, text) = (DriverStatus::Ok, text.to_owned());
            Some(DriverReply { status, text })
        };
        assert_eq!(parse_reply("m1 ok 5\nhello", "m1", 0), ok("hello"));
        assert_eq!(
            parse_reply("rubbish m1 ok 5\nhello more", "m1", 0),
            ok("hello")
        );
        for none in [
            "",
            "hello",
            "m2 ok 5\nhello",
            "m1 ok 9\nhello",
            "m1 fine 1\nx",
            "m1 ok x\ny",
        ] {
            assert_eq!(parse_reply(none, "m1", 0), None, "{none}");
        }
    }

    proptest::proptest! {
        #[test]
        fn nothing_that_is_written_is_too_much_for_the_reader(text in ".{0,200}", cut in 0u64..2) {
            let _ = parse_reply(&text, "m", cut);
        }
    }
}
