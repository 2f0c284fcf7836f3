//! Texts that try to run as code, to load from another server, or to act as a part of our own
//! pages; and how to tell that a page shows them as text.

/// Each tries another way. What runs sets `canary`, which every page of these tests watches.
pub(crate) const TEXTS: [&str; 18] = [
    "<script>canary=1</script>",
    "<img src=x onerror=canary=2>",
    "\"><svg onload=canary=3>",
    "' autofocus onfocus='canary=4",
    "<a href=\"javascript:canary=5\">x</a>",
    "[x](javascript:canary=6) ![x](http://attacker.invalid/a.png)",
    "</textarea></script></style></title></template><script>canary=7</script>",
    "<iframe srcdoc='<script>parent.canary=8</script>'></iframe>",
    "<base href=//attacker.invalid/>",
    "<meta http-equiv=refresh content='0;url=//attacker.invalid/'>",
    "<div hx-post=/console/sign-out hx-trigger=load data-hx-get=/console/keys></div>",
    "<form action=//attacker.invalid/><button class=copy data-copy=x>Copy</button></form>",
    "<style>*{background:url(//attacker.invalid/)}</style>",
    "<link rel=stylesheet href=//attacker.invalid/>",
    "&lt;script&gt;canary=9&lt;/script&gt;",
    "<object data=javascript:canary=10></object><embed src=//attacker.invalid/>",
    "javascript:canary=11",
    "<img src=x onerror=canary=12 alt='",
];

/// Like them, without the tags that an upload refuses in a description.
pub(crate) const DESCRIPTION: &str =
    "Reports. <img src=x onerror=canary=20 \" onfocus=canary=21 autofocus ' & {{canary}} //";

/// A file name that is a tag.
pub(crate) const FILE_NAME: &str = "<img src=x onerror=canary=22>.txt";

/// Terminal output with colours, a link, and a title, all with code in them.
pub(crate) const ANSI: &str = "\u{1b}[31m<script>canary=30</script>\u{1b}[0m \
    \u{1b}]8;;javascript:canary=31\u{7}click\u{1b}]8;;\u{7} \u{1b}]0;<b>title\u{7} \
    \u{1b}[38;2;1;2;3\" onfocus=canary=32m red";

pub(crate) const SVG: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"top.canary=40\">\
    <script>top.canary=41</script><image href=\"http://attacker.invalid/b.png\"/></svg>";

pub(crate) const HTML: &str = "<!doctype html><script>top.canary=42;opener.canary=43</script>\
    <img src=http://attacker.invalid/c.png>";

/// All of them, one on each line.
pub(crate) fn all() -> String {
    TEXTS.join("\n\n")
}

/// As they would be if a page had not escaped them. No page of ours has any of these. Quotes
/// matter only inside of attributes, which the browser knows and a search does not.
const RAW: [&str; 15] = [
    "<script>",
    "<img src=x",
    "<svg onload",
    "<a href=\"javascript:",
    "<iframe",
    "<base",
    "<meta http-equiv",
    "<div hx-post",
    "<form action=//",
    "<style",
    "<link rel=stylesheet href=//",
    "<object",
    "<embed",
    "src=\"http:",
    "src=\"//",
];

/// What a page has that it must not have.
pub(crate) fn raw_in(page: &str) -> Vec<&'static str> {
    RAW.into_iter().filter(|raw| page.contains(raw)).collect()
}
