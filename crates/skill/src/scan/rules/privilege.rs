//! Taking more rights, or taking protections away.

use crate::scan::finding::{Confidence, FindingWeight, ScanSeverity};
use crate::scan::layout::{Lang, TextRole, TextRoles};
use crate::scan::pattern::Pattern;
use crate::scan::rule::ScanRule;
use crate::scan::weigh::{self, Hit};

pub(crate) static PRIV: ScanRule = ScanRule {
    id: "PRIV",
    title: "Raises privileges or disables protections",
    description: "Commands that gain root, give everyone access to files, or disable certificate \
                  checks, quarantine, malware protection or container isolation.",
    severity: ScanSeverity::Medium,
    help: "Use the privileges the user has, and fix the cause instead of disabling checks.",
    hostile: false,
};

const SHELLS: &[Lang] = &[
    Lang::Shell,
    Lang::Unknown,
    Lang::PowerShell,
    Lang::Python,
    Lang::JavaScript,
];

pub(crate) const PATTERNS: &[Pattern] = &[
    Pattern::new(&PRIV, "Runs a command as root", &["sudo "], r"(?:^|[\s;&|(\x22'`])sudo\s+[-\w./]+")
        .in_roles(TextRoles::CODE)
        .in_langs(SHELLS)
        .weigh_with(weigh_root)
        .example("a.sh", "sudo cp x /etc/x"),
    Pattern::new(
        &PRIV,
        "Gives everyone access to files, or makes a program run as its owner",
        &["chmod"],
        r"\bchmod\s+(?:-\w+\s+)*(?:0?777|a\+rwx|ugo\+rwx|o\+w|a\+w|u\+s|g\+s|[24]7\d\d)\b|\bos\.chmod\([^)\n]*0o777",
    )
    .in_roles(TextRoles::CODE)
    .weigh_with(weigh::code)
    .example("a.sh", "chmod -R 777 /srv"),
    Pattern::new(
        &PRIV,
        "Disables the check of certificates or host keys",
        &["verify", "rejectunauthorized", "tls_reject", "--insecure", "curl -", "no-check-certificate", "_create_unverified_context", "sslverify", "stricthostkeychecking", "cert_none"],
        r"\bverify\s*=\s*False\b|\brejectUnauthorized\s*:\s*false\b|NODE_TLS_REJECT_UNAUTHORIZED\s*[=:]\s*[\x22']?0|\bcurl\b[^\n|]{0,120}\s(?:--insecure\b|-\w*k\w*\s)|--no-check-certificate\b|\b_create_unverified_context\b|\bGIT_SSL_NO_VERIFY\b|sslVerify[= ]false|StrictHostKeyChecking[= ]no\b|\bssl\.CERT_NONE\b",
    )
    .in_roles(TextRoles::CODE)
    .weigh_with(weigh::code)
    .example("a.py", "requests.get(u, verify=False)"),
    Pattern::new(
        &PRIV,
        "Disables the system's protection against unknown programs",
        &["com.apple.quarantine", "spctl", "csrutil", "setenforce", "set-mppreference", "add-mppreference", "executionpolicy", "xattr -"],
        r"\bxattr\s+-\w*[dc]\w*\s+(?:com\.apple\.quarantine|\S*\.app|-)|\bxattr\s+-\w*r\w*[dc]?\w*\s+com\.apple\.quarantine|\bspctl\s+--(?:master|global)-disable|\bcsrutil\s+disable|\bsetenforce\s+0|\b(?:Set|Add)-MpPreference\s+-(?:Disable|Exclusion)\w+|\b(?:Set-)?ExecutionPolicy\s+(?:-\w+\s+\w+\s+)?(?:Bypass|Unrestricted)",
    )
    .weight(ScanSeverity::High, Confidence::Medium)
    .weigh_with(weigh_protection)
    .example("a.sh", "xattr -d com.apple.quarantine /Applications/X.app"),
    Pattern::new(
        &PRIV,
        "Gives a container the privileges of its host",
        &["--privileged", "docker.sock", "nsenter", "-v /:", "/etc/sudoers"],
        r"\bdocker\s+run\b[^\n]{0,200}(?:--privileged\b|-v\s+/:/|/var/run/docker\.sock)|\bnsenter\s+-|>>?\s*/etc/sudoers|\btee\s[^\n]{0,40}/etc/sudoers",
    )
    .in_roles(TextRoles::CODE)
    .weight(ScanSeverity::High, Confidence::Medium)
    .weigh_with(weigh::code)
    .example("a.sh", "docker run --privileged -it x"),
];

/// Package managers need root and everybody knows; in a document it is a hint.
fn weigh_root(hit: &Hit<'_>) -> Option<FindingWeight> {
    const MANAGERS: &[&str] = &[
        "apt",
        "yum",
        "dnf",
        "pacman",
        "apk",
        "snap",
        "zypper",
        "port",
        "installer",
    ];
    let command = hit
        .text()
        .rsplit(char::is_whitespace)
        .next()
        .unwrap_or_default();
    let packages = MANAGERS.iter().any(|manager| command.starts_with(manager));
    Some(match (hit.area.role, packages) {
        (TextRole::Script, false) => FindingWeight(ScanSeverity::Medium, Confidence::Medium),
        (TextRole::Script, true) | (_, false) => {
            FindingWeight(ScanSeverity::Low, Confidence::Medium)
        }
        (_, true) => FindingWeight(ScanSeverity::Info, Confidence::Medium),
    })
}

/// A bypass for one process is common for signed-off scripts.
fn weigh_protection(hit: &Hit<'_>) -> Option<FindingWeight> {
    if hit
        .text()
        .to_ascii_lowercase()
        .starts_with("executionpolicy")
    {
        return Some(FindingWeight(ScanSeverity::Low, Confidence::Medium));
    }
    if hit.is_quoted() && hit.area.lang != Lang::Shell {
        Some(FindingWeight(ScanSeverity::Low, Confidence::Low))
    } else {
        weigh::command(hit)
    }
}
