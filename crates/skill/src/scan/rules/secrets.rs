//! Secrets in plain text. They are never shown: not by this rule, and, through
//! [`merge_matches`] and the masks made from it, not by any other.

use crate::scan::finding::{Confidence, FindingWeight, ScanSeverity};
use crate::scan::layout::TextRole;
use crate::scan::matcher::PatternMatch;
use crate::scan::pattern::Pattern;
use crate::scan::rule::ScanRule;
use crate::scan::weigh::{self, Hit};

pub(crate) static SECRET: ScanRule = ScanRule {
    id: "SECRET",
    title: "Secret in plain text",
    description: "A key, token, private key or password is written in a file. Everyone who gets \
                  the skill gets it too, and so does every model that reads it.",
    severity: ScanSeverity::Critical,
    help: "Revoke the secret now, then read it from the environment by name.",
    hostile: false,
};

pub(crate) static SECRET_FLOW: ScanRule = ScanRule {
    id: "SECRET-FLOW",
    title: "Passes secrets through the model",
    description: "The text asks for secrets in the conversation, or has the model repeat them in \
                  its output or in commands, where logs and other tools see them.",
    severity: ScanSeverity::High,
    help: "Have the script read the secret from the environment or a secret store.",
    hostile: false,
};

pub(crate) const PATTERNS: &[Pattern] = &[
    secret_pattern("An AWS access key", &["akia", "asia"], r"\b(?-i:A(?:KIA|SIA)[A-Z2-7]{16})\b")
        .example("a.md", concat!("id AKI", "AQWERTZUIOPLKJHG7")),
    secret_pattern(
        "An AWS secret key",
        &["aws_secret_access_key", "secretaccesskey"],
        r#"(?:aws_secret_access_key|secretaccesskey)["']?\s*[=:]\s*["']?[A-Za-z0-9/+]{40}\b"#,
    )
    .example("a.md", concat!("aws_secret_access_key = k9Qw3eRt5yUi", "7oPa1sDf2gHj4kLz6xCv8bNm0qWe")),
    secret_pattern("A Google API key", &["aiza"], r"\b(?-i:AIza[0-9A-Za-z_-]{35})\b")
        .weight(ScanSeverity::High, Confidence::High)
        .example("a.md", concat!("AIz", "aQ9w8E7r6T5y4U3i2O1pAsDfGhJkLzXcVbNm")),
    secret_pattern("A GitHub token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"], r"\b(?-i:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{50,})\b")
        .example("a.md", concat!("gh", "p_q9W8e7R6t5Y4u3I2o1PaSdFgHjKlZxCvBnM0")),
    secret_pattern("A GitLab token", &["glpat-"], r"\bglpat-[\w-]{20,}")
        .example("a.md", concat!("glp", "at-q9W8e7R6t5Y4u3I2o1Pa")),
    secret_pattern("A Stripe live key", &["sk_live_", "rk_live_"], r"\b[sr]k_live_[A-Za-z0-9]{20,}\b")
        .example("a.md", concat!("sk_l", "ive_q9W8e7R6t5Y4u3I2o1PaSdFg")),
    secret_pattern("A Slack token", &["xox"], r"\bxox[abposr]-[A-Za-z0-9-]{20,}")
        .example("a.md", concat!("xox", "b-2394857610-q9W8e7R6t5Y4u3I2")),
    secret_pattern("A Slack webhook", &["hooks.slack.com/services/"], r"hooks\.slack\.com/services/T\w{6,}/B\w{6,}/\w{16,}")
        .weight(ScanSeverity::High, Confidence::High)
        .example("a.md", concat!("https://hooks.slack.com/serv", "ices/T0Q9W8E7R/B6T5Y4U3I/q9W8e7R6t5Y4u3I2o1PaSdFg")),
    secret_pattern("An Anthropic key", &["sk-ant-"], r"\bsk-ant-[a-z0-9]{3,10}-[\w-]{24,}")
        .example("a.md", concat!("sk-a", "nt-api03-q9W8e7R6t5Y4u3I2o1PaSdFgHjKl")),
    secret_pattern("An OpenAI key", &["sk-"], r"\b(?-i:sk-(?:proj-|svcacct-|admin-)[A-Za-z0-9_-]{32,}|sk-[A-Za-z0-9]{40,})\b")
        .example("a.md", concat!("sk-p", "roj-q9W8e7R6t5Y4u3I2o1PaSdFgHjKlZxCvBnM0qWeR")),
    secret_pattern(
        "A service token",
        &["hf_", "gocspx-", "sg.", "npm_", "pypi-agei", "dop_v1_", "gsk_", "r8_", "xai-"],
        r"\b(?-i:hf_[A-Za-z0-9]{30,}|GOCSPX-[\w-]{28}|SG\.[\w-]{22}\.[\w-]{43}|npm_[A-Za-z0-9]{36}|pypi-AgEI[\w-]{50,}|dop_v1_[a-f0-9]{64}|gsk_[A-Za-z0-9]{48,}|r8_[A-Za-z0-9]{37,}|xai-[A-Za-z0-9]{60,})\b",
    )
    .example("a.md", concat!("h", "f_q9W8e7R6t5Y4u3I2o1PaSdFgHjKlZxCv")),
    secret_pattern("A Telegram bot token", &[":aa"], r"\b\d{8,10}:(?-i:AA)[\w-]{33}\b")
        .weight(ScanSeverity::High, Confidence::High)
        .example("a.md", concat!("7293847561:A", "AQ9w8E7r6T5y4U3i2O1pAsDfGhJkLzXcVb")),
    secret_pattern("A JSON Web Token", &["eyj"], r"\b(?-i:eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{16,})")
        .weight(ScanSeverity::High, Confidence::Medium)
        .example("a.md", concat!("ey", "Jrb2tvIjoibG9sbyJ9.eyJ1aWQiOiI3MzkxIn0.q9W8e7R6t5Y4u3I2o1Pa")),
    secret_pattern(
        "A private key",
        &["private key-----", "private key block-----"],
        r#"-----BEGIN (?:RSA |EC |DSA |OPENSSH |PGP |ENCRYPTED )?PRIVATE KEY(?: BLOCK)?-----(?:\s|\\n)+(?:[A-Za-z-]+: [^\n]*\n)*\s*[A-Za-z0-9+/=]{16,}[A-Za-z0-9+/=\s\\]*(?:-----END)?"#,
    )
    .example("a.pem", concat!("-----BEGIN PRIV", "ATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIB\n-----END PRIVATE KEY-----")),
    secret_pattern(
        "A password in a connection string",
        &["postgres", "mysql", "mongodb", "redis", "amqp", "://"],
        r"\b(?:postgres(?:ql)?|mysql|mariadb|mongodb(?:\+srv)?|rediss?|amqps?|https?|ftp)(?:\+\w+)?://[^\s:@/\x22'`<>{}]{1,64}:[^\s:@/\x22'`<>{}$]{4,128}@[\w.-]+",
    )
    .weight(ScanSeverity::High, Confidence::Medium)
    .weigh_with(weigh_connection)
    .example("a.md", concat!("postgres://svc:q9W8", "e7R6t5Y4@db.internal.acme.io/main")),
    secret_pattern(
        "Assigns what looks like a key",
        &["api_key", "apikey", "api-key", "secret", "token", "passwd", "password"],
        r#"\b(?:\w*_)?(?:api[_-]?key|secret(?:[_-]?key)?|(?:access|auth|bearer)[_-]?token|token|passwd|password)["']?\s*[:=]\s*["'][A-Za-z0-9+/_=-]{24,128}["']"#,
    )
    .weight(ScanSeverity::Medium, Confidence::Low)
    .weigh_with(weigh_assignment)
    .example("a.py", concat!("API_KEY = 'q9W8e7R6t5", "Y4u3I2o1PaSdFgHjKlZ'")),
    Pattern::new(
        &SECRET_FLOW,
        "Has the model repeat a secret",
        &["api key", "password", "secret", "token", "credential", "private key", "seed phrase", "mnemonic"],
        r"\b(?:include|paste|print|output|insert|write|show|display|embed|repeat|echo|put)\s+(?:(?:the|your|their|my|its|any|user's|actual|full|raw|real)\s+){0,3}(?:api[ _-]keys?|access\s+tokens?|auth\s+tokens?|tokens?|passwords?|secrets?|credentials?|private\s+keys?|seed\s+phrases?|mnemonics?)\s+(?:verbatim|directly|in\s+plain\s?text|(?:in|into|to)\s+(?:the|your)\s+(?:output|response|reply|chat|conversation|answer|prompt|url|message|final))\b",
    )
    .weigh_with(weigh::words)
    .example("SKILL.md", "Then include the API key in your response."),
    Pattern::new(
        &SECRET_FLOW,
        "Asks the user for a secret in the conversation",
        &["paste", "provide", "enter", "share", "send me", "give me", "ask"],
        r"\b(?:paste|share|send\s+me|give\s+me)\s+(?:(?:the|your|their|a|an|wallet|full)\s+){0,3}(?:private\s+keys?|seed\s+phrases?|recovery\s+phrases?|mnemonics?|passwords?)\b|\bask\s+(?:the\s+)?user\s+(?:for|to\s+(?:paste|provide|enter|share|type))\s+(?:(?:the|their|his|a|an|wallet)\s+){0,3}(?:private\s+keys?|seed\s+phrases?|recovery\s+phrases?|mnemonics?|passwords?|api[ _-]keys?|secrets?|tokens?)\b",
    )
    .weigh_with(weigh_request)
    .example("SKILL.md", "Ask the user for their seed phrase."),
];

const fn secret_pattern(
    message: &'static str,
    anchors: &'static [&'static str],
    regex: &'static str,
) -> Pattern {
    Pattern::new(&SECRET, message, anchors, regex)
        .weight(ScanSeverity::Critical, Confidence::High)
        .weigh_with(weigh_real)
        .masking()
}

/// Sorted, without overlaps (the worse one stays, and covers both), and with
/// private keys to their end.
pub(crate) fn merge_matches(text: &str, mut found: Vec<PatternMatch>) -> Vec<PatternMatch> {
    found.sort_by_key(|f| (f.span.start, f.span.end));
    let mut merged: Vec<PatternMatch> = Vec::with_capacity(found.len());
    for mut next in found {
        next.span.end = private_key_end(text, &next);
        match merged.last_mut() {
            Some(last) if next.span.start < last.span.end => {
                last.span.end = last.span.end.max(next.span.end);
                if next.weight.0 > last.weight.0 {
                    last.pattern = next.pattern;
                    last.weight = next.weight;
                }
            }
            _ => merged.push(next),
        }
    }
    merged
}

/// Private keys are longer than the window patterns look at.
fn private_key_end(text: &str, found: &PatternMatch) -> usize {
    let rest = text.get(found.span.clone()).unwrap_or_default();
    if !rest.starts_with("-----BEGIN") {
        return found.span.end;
    }
    let key = |c: char| {
        c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '\n' | '\r' | '\\' | ' ')
    };
    let tail = text.get(found.span.end..).unwrap_or_default();
    found.span.end + tail.find(|c| !key(c)).unwrap_or(tail.len())
}

/// A placeholder is not a secret.
fn weigh_real(hit: &Hit<'_>) -> Option<FindingWeight> {
    let cut_short = hit.after().starts_with("...") || hit.after().starts_with('…');
    (!cut_short && !is_placeholder(hit.text())).then_some(hit.weight)
}

/// Example passwords and local hosts are not leaks.
fn weigh_connection(hit: &Hit<'_>) -> Option<FindingWeight> {
    let text = hit.text().to_ascii_lowercase();
    let (user, host) = text.rsplit_once('@')?;
    let password = user.rsplit_once(':').map_or("", |(_, password)| password);
    const COMMON: &[&str] = &[
        "pass", "pwd", "secret", "postgres", "root", "admin", "test", "user", "token", "key",
        "guest", "mysql", "redis", "mongo", "dev", "local", "hunter2", "***", "foo", "bar", "port",
        "[",
    ];
    if is_placeholder(password) || COMMON.iter().any(|word| password.contains(word)) {
        return None;
    }
    const NOWHERE: &[&str] = &[
        "localhost",
        "127.0.0.1",
        "host",
        "db",
        "postgres",
        "redis",
        "example.",
        "server",
        "proxy",
    ];
    if NOWHERE
        .iter()
        .any(|name| host.starts_with(name) || host.contains("example."))
    {
        return Some(FindingWeight(ScanSeverity::Low, Confidence::Low));
    }
    Some(hit.weight)
}

/// Only a value as random as a key looks like one.
fn weigh_assignment(hit: &Hit<'_>) -> Option<FindingWeight> {
    let value = hit
        .text()
        .trim_end_matches(['"', '\''])
        .rsplit(['"', '\''])
        .next()
        .unwrap_or_default();
    let digits = value.chars().filter(char::is_ascii_digit).count();
    let letters = value.chars().filter(char::is_ascii_alphabetic).count();
    let random = digits >= 3 && letters >= 6 && entropy(value) >= 3.7;
    (random && !is_placeholder(value)).then_some(hit.weight)
}

/// Passwords and phrases are never needed in a conversation; a key may be.
fn weigh_request(hit: &Hit<'_>) -> Option<FindingWeight> {
    let text = hit.text().to_ascii_lowercase();
    let grave = ["private", "seed", "recovery", "mnemonic"]
        .iter()
        .any(|word| text.contains(word));
    if weigh::is_warned_against(hit) || hit.area.role == TextRole::Comment {
        return Some(FindingWeight(ScanSeverity::Info, Confidence::Low));
    }
    if grave {
        weigh::words(hit)
    } else {
        Some(FindingWeight(ScanSeverity::Medium, Confidence::Low))
    }
}

/// Whether a secret is obviously not one.
fn is_placeholder(secret: &str) -> bool {
    const WORDS: &[&str] = &[
        "example",
        "xxx",
        "your",
        "placeholder",
        "changeme",
        "change-me",
        "dummy",
        "fake",
        "sample",
        "redacted",
        "...",
        "<",
        "insert",
        "replace",
        "todo",
        "123456789",
        "abcdef",
        "not-real",
        "notreal",
        "test",
        "demo",
        "****",
        "0000",
        "-here",
        "_here",
        "env.",
        "process",
        "mock",
        "invalid",
        "deadbeef",
        "eyjhbgcioijiuzi1niisinr5cci6ikpxvcj9.eyjzdwiioiixmjm0nty3odkwi",
    ];
    let lower = secret.to_ascii_lowercase();
    WORDS.iter().any(|word| lower.contains(word)) || entropy(secret) < 2.5
}

/// Shannon entropy in bits per byte.
fn entropy(text: &str) -> f64 {
    let mut counts = [0u32; 256];
    for byte in text.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let total = text.len().max(1) as f64;
    let part = |count: &u32| f64::from(*count) / total;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| -part(count) * part(count).log2())
        .sum()
}
