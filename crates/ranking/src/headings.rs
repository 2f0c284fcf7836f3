//! Tells the headings of a Markdown text from the rest of it.

/// Calls `accept` with each line, and whether it is a heading.
pub(crate) fn each_line(markdown: &str, mut accept: impl FnMut(&str, bool)) {
    let mut fence: Option<&str> = None;
    for line in markdown.lines() {
        let start = line.trim_start();
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        accept(line, fence.is_none() && is_heading(start));
    }
}

/// One to six `#`, then a blank.
fn is_heading(line: &str) -> bool {
    let rest = line.trim_start_matches('#');
    (1..=6).contains(&(line.len() - rest.len())) && rest.starts_with([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_found_outside_of_code() {
        let text = "# One\ntext\n```sh\n# a comment\n~~~\n# too\n```\n   ## Two\n#tag\n####### no";
        let mut headings = Vec::new();
        each_line(text, |line, is_heading| {
            if is_heading {
                headings.push(line.trim().to_owned());
            }
        });
        assert_eq!(headings, ["# One", "## Two"]);
    }
}
