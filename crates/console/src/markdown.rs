//! Markdown as HTML, for texts that anybody may have written. HTML in it is shown as text,
//! links lead to the web or stay in place, and images are links: nothing is loaded.

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

/// Bytes of Markdown that are rendered; pages stay small.
pub(crate) const MAX_MARKDOWN_BYTES: usize = 96 << 10;

/// HTML of our own making: everything foreign in it is escaped.
pub(crate) fn to_html(markdown: &str) -> String {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut image_depth = 0_usize;
    let events = Parser::new_ext(markdown, options).map(move |event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::HtmlBlock) => own("<p>".to_owned()),
        Event::End(TagEnd::HtmlBlock) => own("</p>".to_owned()),
        Event::Start(Tag::Link { dest_url, .. }) => own(open_link(&dest_url)),
        Event::End(TagEnd::Link) => own("</a>".to_owned()),
        Event::Start(Tag::Image { dest_url, .. }) => {
            image_depth += 1;
            own(format!("{}image: ", open_link(&dest_url)))
        }
        Event::End(TagEnd::Image) if image_depth > 0 => {
            image_depth -= 1;
            own("</a>".to_owned())
        }
        // A page has one heading of the first level, and it is not the document's.
        Event::Start(Tag::Heading { level, .. }) => own(format!("<h{}>", lower(level))),
        Event::End(TagEnd::Heading(level)) => own(format!("</h{}>", lower(level))),
        Event::Start(Tag::CodeBlock(_)) => own("<pre tabindex=\"0\"><code>".to_owned()),
        Event::End(TagEnd::CodeBlock) => own("</code></pre>".to_owned()),
        // A box to tick has no label; a mark says the same.
        Event::TaskListMarker(done) => own(if done { "☑ " } else { "☐ " }.to_owned()),
        other => other,
    });
    let mut out = String::new();
    html::push_html(&mut out, events);
    out
}

/// The next lower level.
fn lower(level: HeadingLevel) -> usize {
    (level as usize + 1).min(6)
}

fn own(html: String) -> Event<'static> {
    Event::Html(CowStr::from(html))
}

/// A link, if it leads to the web or to another part of the text.
fn open_link(target: &str) -> String {
    if !is_harmless(target) {
        return "<a>".to_owned();
    }
    let target = escaped(target);
    format!("<a href=\"{target}\" rel=\"noopener noreferrer nofollow\">")
}

/// Whether it is `http:`, `https:` or relative. Relative links of a skill name its files, and
/// lead nowhere else than where the page is.
fn is_harmless(target: &str) -> bool {
    // Browsers skip these characters within a scheme.
    if target.chars().any(|c| c.is_control() || c == '\\') || target.starts_with("//") {
        return false;
    }
    match target.trim_start().split_once(':') {
        None => true,
        Some((scheme, _)) => {
            let scheme = scheme.to_ascii_lowercase();
            matches!(scheme.as_str(), "http" | "https") || scheme.contains(['/', '?', '#'])
        }
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_markdown_is_rendered() {
        let html =
            to_html("# A\n\nSee [docs](https://example.com) and `x`.\n\n| a |\n|---|\n| 1 |\n");
        assert!(html.contains("<h2>A</h2>"), "{html}");
        assert!(html.contains("<code>x</code>"), "{html}");
        assert!(html.contains("<td>1</td>"), "{html}");
        assert!(
            html.contains("rel=\"noopener noreferrer nofollow\">docs</a>"),
            "{html}"
        );
    }

    #[test]
    fn nothing_in_it_runs_or_is_loaded() {
        let hostile = "<script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\n\
            a <b onclick=alert(1)>b</b> <!-- x --> \n\n\
            [a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](data:text/html,x)\n\
            [d](//evil.example) [e](vbscript:x) [f](\\\\evil.example) <javascript:alert(1)>\n\
            ![i](https://evil.example/pixel.png) ![j](javascript:alert(1) \"\\\" onload=alert(1)\")\n\
            [k](https://example.com/\"onmouseover=\"alert(1))\n\n\
            ```\"><script>\nalert(1)\n```\n\n\
            # <svg onload=alert(1)> {#id}\n";
        let html = to_html(hostile);
        let lower = html.to_ascii_lowercase();
        for bad in [
            "<script",
            "<img",
            "<svg",
            "<b ",
            "<!--",
            "href=\"javascript",
            "href=\"data",
            "href=\"//",
            "href=\"vbscript",
            "href=\"\\",
            "src=",
        ] {
            let text = lower.replace("&lt;", "").replace("src=x", "");
            assert!(!text.contains(bad), "{bad}: {html}");
        }
        assert!(!html.contains("\"onmouseover"), "{html}");
        assert!(html.contains("image: i"), "{html}");
    }

    #[test]
    fn schemes_that_only_look_like_paths_are_refused() {
        for good in [
            "a/b.md",
            "#part",
            "?x=1:2",
            "./a:b/c",
            "HTTPS://x.example",
            "x/y:z",
        ] {
            assert!(is_harmless(good), "{good}");
        }
        for bad in [
            "java\tscript:x",
            " javascript:x",
            "file:///etc/passwd",
            "\u{1}javascript:x",
            "mailto:a@b",
            "//x.example",
        ] {
            assert!(!is_harmless(bad), "{bad}");
        }
    }
}
