//! What a host supports: the checks of a probe, the script that reports them from inside a
//! sandbox, and the grade they lead to. Each backend runs the script itself.

use serde::{Deserialize, Serialize};

/// The isolation of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "level")]
pub enum Grade {
    /// Every layer is in force.
    Strict,
    /// Some are not, and the operator has accepted that.
    Reduced {
        /// Which.
        missing: Vec<String>,
    },
    /// Too few layers to run anything.
    Refused {
        /// Why.
        reason: String,
    },
}

/// One check of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeCheck {
    /// What.
    pub name: String,
    /// Whether it is in force.
    pub ok: bool,
    /// The finding.
    pub detail: String,
    /// What to install or set, if that helps.
    pub advice: Option<String>,
}

/// The result of probing a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// The verdict.
    #[serde(flatten)]
    pub grade: Grade,
    /// The checks it is based on.
    pub checks: Vec<ProbeCheck>,
}

/// Prints `name value` for each restriction, using only the shell. Runs in the data folder.
pub(crate) const PROBE_SCRIPT: &str = r#"
while read -r key value rest; do
  case $key in
    Uid:) echo "uid $value";;
    CapEff:|CapBnd:|CapPrm:) echo "$key $value";;
    NoNewPrivs:|Seccomp:) echo "$key $value";;
  esac
done < /proc/self/status
for knob in /proc/sys /proc/kcore /proc/keys /sys /.state/sessions; do [ -e "$knob" ] && echo "seen $knob"; done
( : > /usr/probe ) 2>/dev/null && echo "written /usr"
( : > /etc/probe ) 2>/dev/null && echo "written /etc"
( : > /probe ) 2>/dev/null && echo "written /"
( : > probe ) 2>/dev/null && echo "data ok"
[ -e before ] && echo "lower ok"
interfaces=0
while read -r line; do case $line in *:*) interfaces=$((interfaces+1));; esac; done < /proc/self/net/dev
echo "interfaces $interfaces"
for program in python3 node bash; do command -v $program >/dev/null && echo "has $program"; done
exit 0
"#;

/// Compares the output of a probe with the expected lines; no line may begin with one of
/// `leaks`.
pub(crate) fn evaluate_checks(
    seen: &str,
    expected: &[(&str, &str)],
    leaks: &[&str],
) -> Vec<ProbeCheck> {
    let mut checks: Vec<ProbeCheck> = expected
        .iter()
        .map(|(name, line)| {
            if seen.lines().any(|seen| seen == *line) {
                passed_check(name, (*line).into())
            } else {
                missing_check(name, format!("expected {line:?}"), "report this as a bug")
            }
        })
        .collect();
    let leaks: Vec<&str> = seen
        .lines()
        .filter(|line| leaks.iter().any(|leak| line.starts_with(leak)))
        .collect();
    checks.push(if leaks.is_empty() {
        passed_check("host hidden", "no kernel knobs, nothing writable".into())
    } else {
        missing_check("host hidden", leaks.join(", "), "report this as a bug")
    });
    let has: Vec<&str> = seen
        .lines()
        .filter_map(|line| line.strip_prefix("has "))
        .collect();
    checks.push(passed_check("interpreters", has.join(", ")));
    checks
}

/// Layers that the operator may accept as missing; without any other, the host is refused.
const OPTIONAL: [&str; 4] = [
    "control groups",
    "landlock",
    "hidden kernel tables",
    "hard quota over container files",
];

pub(crate) fn grade(checks: &[ProbeCheck]) -> Grade {
    let failed: Vec<&ProbeCheck> = checks.iter().filter(|check| !check.ok).collect();
    if let Some(check) = failed
        .iter()
        .find(|check| !OPTIONAL.contains(&check.name.as_str()))
    {
        return Grade::Refused {
            reason: format!("{}: {}", check.name, check.detail),
        };
    }
    if failed.is_empty() {
        return Grade::Strict;
    }
    Grade::Reduced {
        missing: failed.iter().map(|check| check.name.clone()).collect(),
    }
}

pub(crate) fn passed_check(name: &str, detail: String) -> ProbeCheck {
    ProbeCheck {
        name: name.into(),
        ok: true,
        detail,
        advice: None,
    }
}

pub(crate) fn missing_check(name: &str, detail: String, advice: &str) -> ProbeCheck {
    ProbeCheck {
        name: name.into(),
        ok: false,
        detail,
        advice: Some(advice.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_optional_layer_reduces_and_any_other_refuses() {
        let good = passed_check("seccomp", String::new());
        let cgroups = missing_check("control groups", String::new(), "");
        let caps = missing_check("no capabilities", "x".into(), "");
        assert_eq!(grade(std::slice::from_ref(&good)), Grade::Strict);
        let reduced = Grade::Reduced {
            missing: vec!["control groups".into()],
        };
        assert_eq!(grade(&[good.clone(), cgroups.clone()]), reduced);
        assert!(matches!(
            grade(&[good, cgroups, caps]),
            Grade::Refused { .. }
        ));
    }
}
