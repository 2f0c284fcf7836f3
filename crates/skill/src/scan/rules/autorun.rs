//! Files that tools run by themselves because of their name.

use serde_json::Value;

use super::declared::EXEC_DECL;
use super::manifest;
use crate::scan::collector::FindingCollector;
use crate::scan::finding::{Confidence, FindingWeight, ScanSeverity};
use crate::scan::subject::Subject;
use crate::scan::view::FileView;

/// Looks at a file's name, and into the manifests that hold commands.
pub(crate) fn check(view: &FileView<'_>, subject: &Subject<'_>, log: &mut FindingCollector<'_>) {
    if let Some((weight, message)) = weigh_name(view) {
        log.report_file(&EXEC_DECL, view.path, weight, view.path, message);
    }
    match view.name() {
        "package.json" => check_install_scripts(view, log),
        "tasks.json" if view.text.contains("folderOpen") => {
            let weight = FindingWeight(ScanSeverity::High, Confidence::High);
            let message = "A task that an editor runs when the folder is opened";
            log.report_file(&EXEC_DECL, view.path, weight, "folderOpen", message);
        }
        "settings.json" | "settings.local.json" if view.path.contains(".claude/") => {
            check_settings_hooks(view, log);
        }
        name if name.ends_with(".pyc") || name.ends_with(".pyo") => {
            check_bytecode(view, subject, log)
        }
        _ => {}
    }
}

fn weigh_name(view: &FileView<'_>) -> Option<(FindingWeight, &'static str)> {
    let high = FindingWeight(ScanSeverity::High, Confidence::Medium);
    let medium = FindingWeight(ScanSeverity::Medium, Confidence::Medium);
    let low = FindingWeight(ScanSeverity::Low, Confidence::Medium);
    let hook = [".git/hooks/", ".githooks/", ".husky/"]
        .iter()
        .any(|dir| view.path.starts_with(dir) || view.path.contains(&format!("/{dir}")));
    if hook {
        return Some((high, "A hook that git runs automatically"));
    }
    Some(match view.name() {
        ".envrc" => (high, "direnv runs this when the folder is entered"),
        "sitecustomize.py" | "usercustomize.py" => (high, "Python runs this at every start"),
        "conftest.py" => (medium, "pytest runs this before any test"),
        "setup.py" => (medium, "pip runs this when the folder is installed"),
        "binding.gyp" => (medium, "npm builds and runs this at installation"),
        "build.rs" => (low, "cargo runs this at every build"),
        ".mcp.json" => (medium, "Some hosts start the servers that this declares"),
        name if name.ends_with(".pth") => (high, "Python runs import lines of this at every start"),
        _ => return None,
    })
}

fn check_install_scripts(view: &FileView<'_>, log: &mut FindingCollector<'_>) {
    let Some(manifest) = manifest::read(view, log) else {
        return;
    };
    let Some(scripts) = manifest.get("scripts").and_then(Value::as_object) else {
        return;
    };
    for name in scripts.keys() {
        let severity = match name.as_str() {
            "preinstall" | "install" | "postinstall" => ScanSeverity::High,
            "prepare" | "prepublish" => ScanSeverity::Low,
            _ => continue,
        };
        let span = manifest::key_span(view, name);
        let message = format!("npm runs the `{name}` script automatically");
        log.report_at(
            &EXEC_DECL,
            view,
            span,
            FindingWeight(severity, Confidence::High),
            message,
        );
    }
}

fn check_settings_hooks(view: &FileView<'_>, log: &mut FindingCollector<'_>) {
    if let Some(at) = view.text.find("\"hooks\"") {
        let weight = FindingWeight(ScanSeverity::High, Confidence::High);
        let message = "Settings that make a host run commands automatically";
        log.report_at(&EXEC_DECL, view, at..at + 7, weight, message);
    }
}

/// Bytecode runs in place of its source; without one nobody can read it.
fn check_bytecode(view: &FileView<'_>, subject: &Subject<'_>, log: &mut FindingCollector<'_>) {
    let stem = view.name().split('.').next().unwrap_or_default();
    let folder = view.path.strip_suffix(view.name()).unwrap_or_default();
    let folder = folder.strip_suffix("__pycache__/").unwrap_or(folder);
    let source = format!("{folder}{stem}.py");
    let (severity, message) = match subject.files.iter().any(|file| file.path == source) {
        true => (
            ScanSeverity::Low,
            "Compiled Python, which may differ from the source next to it",
        ),
        false => (ScanSeverity::High, "Compiled Python without its source"),
    };
    log.report_file(
        &EXEC_DECL,
        view.path,
        FindingWeight(severity, Confidence::High),
        view.path,
        message,
    );
}
