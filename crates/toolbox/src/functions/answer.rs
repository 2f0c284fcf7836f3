//! The answer of the driver, found among whatever else was written.

use prowess_sandbox::Report;

/// How it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Ok,
    Error,
}

/// What was answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: Status,
    pub(super) text: String,
}

impl Answer {
    /// The answer under this marker: `MARKER STATUS LENGTH`, a line's end, the text.
    pub(super) fn find(report: &Report, marker: &str) -> Option<Self> {
        read(&report.stdout.text, marker, report.stdout.cut)
    }
}

fn read(stdout: &str, marker: &str, cut: u64) -> Option<Answer> {
    let (_, rest) = stdout.split_once(marker)?;
    let (head, text) = rest.split_once('\n')?;
    let (status, length) = head.trim_start().split_once(' ')?;
    let status = match status {
        "ok" => Status::Ok,
        "error" => Status::Error,
        _ => return None,
    };
    let length: usize = length.parse().ok()?;
    // When the sandbox kept less than was written, the cut is named in the text.
    let text = match text.get(..length) {
        Some(whole) if cut == 0 => whole,
        _ if cut > 0 => text,
        _ => return None,
    };
    let text = text.to_owned();
    Some(Answer { status, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_found_by_its_marker_and_nothing_else_is_one() {
        let ok = |text: &str| {
            let (status, text) = (Status::Ok, text.to_owned());
            Some(Answer { status, text })
        };
        assert_eq!(read("m1 ok 5\nhello", "m1", 0), ok("hello"));
        assert_eq!(read("rubbish m1 ok 5\nhello more", "m1", 0), ok("hello"));
        for none in [
            "",
            "hello",
            "m2 ok 5\nhello",
            "m1 ok 9\nhello",
            "m1 fine 1\nx",
            "m1 ok x\ny",
        ] {
            assert_eq!(read(none, "m1", 0), None, "{none}");
        }
    }

    proptest::proptest! {
        #[test]
        fn nothing_that_is_written_is_too_much_for_the_reader(text in ".{0,200}", cut in 0u64..2) {
            let _ = read(&text, "m", cut);
        }
    }
}
