//! Addresses that a trustworthy skill rarely needs.

use crate::scan::finding::{Confidence, FindingWeight, ScanSeverity};
use crate::scan::layout::TextRole;
use crate::scan::pattern::Pattern;
use crate::scan::rule::ScanRule;
use crate::scan::weigh::{self, Hit};

pub(crate) static URL_SUSP: ScanRule = ScanRule {
    id: "URL-SUSP",
    title: "Suspicious address",
    description: "Raw IP addresses, link shorteners, paste, tunnel and request-capture hosts hide \
                  who operates them, and programs from file shares or password-protected archives \
                  evade every scanner.",
    severity: ScanSeverity::High,
    help: "Link to the project's own domain over HTTPS, and to a page rather than to a program.",
    hostile: true,
};

pub(crate) const PATTERNS: &[Pattern] = &[
    Pattern::new(
        &URL_SUSP,
        "A URL with a bare IP address",
        &["http://", "https://", "ftp://"],
        r"\b(?:https?|ftp)://(?:[^\s/@]+@)?\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b[^\s)\]>,]{0,60}",
    )
    .weigh_with(weigh_raw_address)
    .example("SKILL.md", "Get it from http://198.18.7.9/a"),
    Pattern::new(
        &URL_SUSP,
        "A link shortener hides the address",
        &["bit.ly/", "tinyurl.com/", "goo.gl/", "is.gd/", "cutt.ly/", "rb.gy/", "ow.ly/", "shorturl.at/", "t.ly/", "tiny.cc/", "//t.co/"],
        r"(?:^|[\s/(<\x22'])(?:bit\.ly|tinyurl\.com|(?:^|//)goo\.gl|is\.gd|cutt\.ly|rb\.gy|ow\.ly|shorturl\.at|t\.ly|tiny\.cc|t\.co)/[\w-]{3,}",
    )
    .weight(ScanSeverity::Medium, Confidence::Medium)
    .weigh_with(weigh::command)
    .example("run.sh", "open https://bit.ly/3xYzAbC"),
    Pattern::new(
        &URL_SUSP,
        "A paste or temporary file host",
        &["pastebin.com", "paste.ee", "hastebin", "rentry.co", "ghostbin", "dpaste", "0x0.st", "transfer.sh", "gofile.io", "anonfiles", "catbox.moe", "mediafire.com", "mega.nz", "glot.io", "file.io/"],
        r"(?:https?://|\bcurl\s[^\n]{0,80}\s)(?:[\w-]+\.)*(?:pastebin\.com|paste\.ee|hastebin\.com|rentry\.co|ghostbin\.\w+|dpaste\.\w+|0x0\.st|transfer\.sh|gofile\.io|anonfiles\.com|catbox\.moe|mediafire\.com|mega\.nz|glot\.io|file\.io)\b[^\s)\]>]{0,60}",
    )
    .weigh_with(weigh_host_in_context)
    .example("run.sh", "curl https://pastebin.com/raw/abc123"),
    Pattern::new(
        &URL_SUSP,
        "A tunnel to somebody's own machine",
        &["ngrok", "trycloudflare.com", "loca.lt", "serveo.net", "localhost.run", "bore.pub", "pinggy"],
        r"https?://[\w-]+\.(?:[\w-]+\.)?(?:ngrok\.io|ngrok-free\.app|ngrok-free\.dev|ngrok\.app|trycloudflare\.com|loca\.lt|serveo\.net|localhost\.run|pinggy\.\w+)\b|\bbore\.pub:\d+",
    )
    .weigh_with(weigh_host_in_context)
    .example("run.py", "post('https://a1b2c3d4e5f6.ngrok.io/in')"),
    Pattern::new(
        &URL_SUSP,
        "A host that captures whatever is sent to it",
        &["webhook.site", "requestbin", "pipedream.net", "hookbin", "beeceptor", "requestcatcher", "interact.sh", ".oast", "burpcollaborator", "canarytokens"],
        r"\b(?:[\w-]+\.)*(?:webhook\.site/[\w-]{8,}|requestbin\.(?:com|net)|m\.pipedream\.net|hookbin\.com|beeceptor\.com|requestcatcher\.com|interact\.sh|oast\.(?:pro|live|site|online|fun|me)|burpcollaborator\.net|canarytokens\.com)\b",
    )
    .weigh_with(weigh_host_in_context)
    .example("run.py", "post('https://webhook.site/0a1b2c3d-0000')"),
    Pattern::new(
        &URL_SUSP,
        "A chat webhook, which can send data out",
        &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/", "api.telegram.org/bot"],
        r"discord(?:app)?\.com/api/webhooks/\d{6,}/[\w-]{20,}|api\.telegram\.org/bot\d{6,}:[\w-]{20,}",
    )
    .weight(ScanSeverity::High, Confidence::High)
    .example("run.py", "post('https://discord.com/api/webhooks/123456789/aaaaBBBBccccDDDDeeee1')"),
    Pattern::new(
        &URL_SUSP,
        "A direct link to a program",
        &[".exe", ".dmg", ".msi", ".pkg", ".scr", ".apk", ".bat", ".hta", ".iso"],
        r"https?://[^\s)\]>\x22'`]{4,200}\.(?:exe|dmg|msi|pkg|scr|apk|bat|hta|iso)\b",
    )
    .weight(ScanSeverity::Medium, Confidence::Medium)
    .weigh_with(weigh_program)
    .example("SKILL.md", "Install https://github.com/someone/tool/releases/download/v1/tool.exe first"),
    Pattern::new(
        &URL_SUSP,
        "An archive with a password, which no scanner can open",
        &["password", "unzip -p", "7z x", "unrar"],
        r"\bunzip\s+-P\s*\S+|\b7z\s+x\s[^\n]{0,80}-p\S+|\bunrar\s+x\s+-p\S+|\b(?:extract|unzip|unpack|archive|\.zip|\.rar|\.7z)\b[^\n]{0,80}\b(?:password|pass)\s*(?:is|:|=)\s*[`\x22']?\w{3,}|\bpassword\s*(?:is|:)\s*\S{3,30}\s+to\s+(?:extract|unzip|unpack)",
    )
    .weigh_with(weigh::command)
    .example("SKILL.md", "```\nunzip -P openclaw agent.zip\n```"),
    Pattern::new(
        &URL_SUSP,
        "A host name in punycode, which can imitate another",
        &["://xn--", ".xn--"],
        r"https?://(?:[\w-]+\.)*xn--[\w-]+\.[\w.-]+",
    )
    .weight(ScanSeverity::Medium, Confidence::Medium)
    .example("SKILL.md", "See https://xn--githb-mua.com/x"),
];

/// Whether a text holds a URL with a public IPv4 address for a host.
pub(crate) fn has_raw_address(text: &str) -> bool {
    text.split("://")
        .skip(1)
        .filter_map(parse_host_address)
        .any(is_public)
}

fn parse_host_address(rest: &str) -> Option<[u8; 4]> {
    let host: String = rest
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == '.')
        .collect();
    let parsed: std::net::Ipv4Addr = host.trim_end_matches('.').parse().ok()?;
    Some(parsed.octets())
}

/// Loopback, private, documentation and well-known resolver addresses are not
/// somebody's anonymous server.
fn is_public(octets: [u8; 4]) -> bool {
    let address = std::net::Ipv4Addr::from(octets);
    let known = matches!(
        octets,
        [8, 8, 8 | 4, 8 | 4] | [1, 1 | 0, 1 | 0, 1] | [1, 2, 3, 4] | [0, ..] | [100, 64..=127, ..]
    );
    !(address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_multicast()
        || known)
}

fn weigh_raw_address(hit: &Hit<'_>) -> Option<FindingWeight> {
    if !has_raw_address(hit.text()) {
        return None;
    }
    let documentation = ["://192.0.2.", "://198.51.100.", "://203.0.113."];
    if documentation.iter().any(|range| hit.text().contains(range))
        && hit.area.role != TextRole::Script
    {
        return Some(FindingWeight(ScanSeverity::Low, Confidence::Low));
    }
    Some(match hit.area.role {
        TextRole::Script => FindingWeight(ScanSeverity::High, Confidence::High),
        _ => FindingWeight(ScanSeverity::Medium, Confidence::Medium),
    })
}

/// In a script such a host is for use; in prose it may be for reading.
fn weigh_host_in_context(hit: &Hit<'_>) -> Option<FindingWeight> {
    const STAND_INS: &[&str] = &[
        "your",
        "xxx",
        "example",
        "abc123",
        "abcd",
        "<",
        "subdomain",
        "my-",
    ];
    let text = hit.text().to_ascii_lowercase();
    if STAND_INS.iter().any(|word| text.contains(word)) {
        return Some(FindingWeight(ScanSeverity::Low, Confidence::Low));
    }
    if weigh::is_mentioned(hit) {
        return Some(FindingWeight(ScanSeverity::Low, Confidence::Low));
    }
    Some(match hit.area.role {
        TextRole::Script => FindingWeight(ScanSeverity::High, Confidence::Medium),
        TextRole::Block => FindingWeight(ScanSeverity::Medium, Confidence::Medium),
        _ => FindingWeight(ScanSeverity::Medium, Confidence::Low),
    })
}

/// Vendors' own download hosts are where programs should come from.
fn weigh_program(hit: &Hit<'_>) -> Option<FindingWeight> {
    const VENDORS: &[&str] = &[
        "microsoft.com",
        "apple.com",
        "google.com",
        "python.org",
        "nodejs.org",
        "git-scm.com",
        "docker.com",
        "jetbrains.com",
        "mozilla.org",
        "amazonaws.com/awscli",
        "awscli.amazonaws.com",
        "brew.sh",
        "adobe.com",
        "windows.net",
        "aka.ms",
        "visualstudio.com",
        "example.com",
        "localhost",
    ];
    let text = hit.text().to_ascii_lowercase();
    let host = text.split('/').nth(2).unwrap_or_default();
    if VENDORS.iter().any(|vendor| {
        text.contains(vendor)
            && (host.ends_with(vendor) || vendor.contains('/') || host.contains(vendor))
    }) {
        return None;
    }
    weigh::command(hit)
}
