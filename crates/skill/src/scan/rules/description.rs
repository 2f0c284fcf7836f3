//! Descriptions that try to be selected for every task. The description is in every request,
//! so it is where a skill competes with all others.

use std::collections::BTreeMap;

use crate::scan::collector::FindingCollector;
use crate::scan::finding::{Confidence, FindingWeight, ScanSeverity};
use crate::scan::rule::ScanRule;
use crate::scan::subject::Subject;

pub(crate) static TRIG_BROAD: ScanRule = ScanRule {
    id: "TRIG-BROAD",
    title: "Description is too broad",
    description: "A description that claims every task, or says almost nothing, causes the skill \
                  to be loaded when it does not help, at the cost of tokens and of better skills.",
    severity: ScanSeverity::Low,
    help: "Say what the skill does and name the situations it is for.",
    hostile: false,
};

pub(crate) static TRIG_BAIT: ScanRule = ScanRule {
    id: "TRIG-BAIT",
    title: "Description promotes itself",
    description: "A description that orders the model to prefer it over other skills, or is \
                  stuffed with keywords, hijacks requests that others should serve.",
    severity: ScanSeverity::Medium,
    help: "Describe the skill in a sentence or two, without instructions to the model or lists of \
           keywords.",
    hostile: false,
};

const BROAD_PHRASES: &[&str] = &[
    "any task",
    "any request",
    "any question",
    "all tasks",
    "all requests",
    "every task",
    "every request",
    "every conversation",
    "every message",
    "every prompt",
    "every session",
    "for everything",
    "anything the user",
    "whatever the user",
    "always use this skill",
    "always load this skill",
    "always active",
    "use for all",
];

const PUSHING_PHRASES: &[(&str, ScanSeverity)] = &[
    ("instead of any other skill", ScanSeverity::High),
    ("instead of other skills", ScanSeverity::High),
    ("ignore other skills", ScanSeverity::High),
    ("do not use other skills", ScanSeverity::High),
    ("do not use any other skill", ScanSeverity::High),
    ("over all other skills", ScanSeverity::High),
    ("overrides all other", ScanSeverity::High),
    ("takes priority over", ScanSeverity::Medium),
    ("take precedence over all", ScanSeverity::Medium),
    ("before any other skill", ScanSeverity::Medium),
    ("before any other tool", ScanSeverity::Medium),
    ("before all other skills", ScanSeverity::Medium),
    ("must always be used", ScanSeverity::Medium),
    ("must be loaded first", ScanSeverity::Medium),
];

/// Comma-separated terms beyond which a description is a keyword list.
const MANY_TERMS: usize = 40;
/// Repetitions of one word beyond which it is there for matching only.
const MANY_TIMES: usize = 9;

/// Looks at the description.
pub(crate) fn check(subject: &Subject<'_>, log: &mut FindingCollector<'_>) {
    let Some(description) = subject.description else {
        return;
    };
    let lower = description.to_lowercase();
    check_broad(subject, &lower, log);
    for (phrase, severity) in PUSHING_PHRASES {
        if lower.contains(phrase) {
            let weight = FindingWeight(*severity, Confidence::Medium);
            let message = "The description puts itself before other skills";
            log.report_file(&TRIG_BAIT, subject.skill_file, weight, phrase, message);
        }
    }
    check_stuffed(subject, &lower, log);
}

fn check_broad(subject: &Subject<'_>, lower: &str, log: &mut FindingCollector<'_>) {
    if let Some(phrase) = BROAD_PHRASES.iter().find(|phrase| lower.contains(**phrase)) {
        let weight = FindingWeight(ScanSeverity::Low, Confidence::Medium);
        log.report_file(
            &TRIG_BROAD,
            subject.skill_file,
            weight,
            phrase,
            "The description claims every task",
        );
    } else if lower.split_whitespace().count() < 3 && lower.is_ascii() {
        let weight = FindingWeight(ScanSeverity::Info, Confidence::Medium);
        let message = "The description has too little information for a choice";
        log.report_file(&TRIG_BROAD, subject.skill_file, weight, lower, message);
    }
}

fn check_stuffed(subject: &Subject<'_>, lower: &str, log: &mut FindingCollector<'_>) {
    let terms = lower.split([',', ';', '|', '、', '，']).count();
    if terms > MANY_TERMS {
        let weight = FindingWeight(ScanSeverity::Medium, Confidence::Medium);
        let evidence = format!("{terms} terms");
        log.report_file(
            &TRIG_BAIT,
            subject.skill_file,
            weight,
            &evidence,
            "The description is a list of keywords",
        );
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for word in lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() > 3)
    {
        *counts.entry(word).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    if let Some((word, count)) =
        most.filter(|(word, count)| *count >= MANY_TIMES && *word != "with")
    {
        let weight = FindingWeight(ScanSeverity::Low, Confidence::Medium);
        let evidence = format!("`{word}` {count} times");
        log.report_file(
            &TRIG_BAIT,
            subject.skill_file,
            weight,
            &evidence,
            "The description repeats one word",
        );
    }
}
