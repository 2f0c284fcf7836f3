//! Descriptions that want to be chosen. The description is in every request,
//! so it is where a skill competes with all others.

use std::collections::BTreeMap;

use crate::scan::collector::Collector;
use crate::scan::finding::{Confidence, Severity, Weight};
use crate::scan::rule::Rule;
use crate::scan::subject::Subject;

pub(crate) static TRIG_BROAD: Rule = Rule {
    id: "TRIG-BROAD",
    title: "Description fits everything",
    description: "A description that claims every task, or says next to nothing, has the skill \
                  loaded when it does not help, at the cost of tokens and of better skills.",
    severity: Severity::Low,
    help: "Say what the skill does and name the situations it is for.",
    hostile: false,
};

pub(crate) static TRIG_BAIT: Rule = Rule {
    id: "TRIG-BAIT",
    title: "Description pushes itself forward",
    description: "A description that orders the model to prefer it over other skills, or is \
                  stuffed with keywords, hijacks requests that others should serve.",
    severity: Severity::Medium,
    help: "Describe the skill in a sentence or two, without orders and keyword lists.",
    hostile: false,
};

const EVERYTHING: &[&str] = &[
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

const PUSHING: &[(&str, Severity)] = &[
    ("instead of any other skill", Severity::High),
    ("instead of other skills", Severity::High),
    ("ignore other skills", Severity::High),
    ("do not use other skills", Severity::High),
    ("do not use any other skill", Severity::High),
    ("over all other skills", Severity::High),
    ("overrides all other", Severity::High),
    ("takes priority over", Severity::Medium),
    ("take precedence over all", Severity::Medium),
    ("before any other skill", Severity::Medium),
    ("before any other tool", Severity::Medium),
    ("before all other skills", Severity::Medium),
    ("must always be used", Severity::Medium),
    ("must be loaded first", Severity::Medium),
];

/// Comma-separated terms beyond which a description is a keyword list.
const MANY_TERMS: usize = 40;
/// Repetitions of one word beyond which it is there for matching only.
const MANY_TIMES: usize = 9;

/// Looks at the description.
pub(crate) fn check(subject: &Subject<'_>, log: &mut Collector<'_>) {
    let Some(description) = subject.description else {
        return;
    };
    let lower = description.to_lowercase();
    broad(subject, &lower, log);
    for (phrase, severity) in PUSHING {
        if lower.contains(phrase) {
            let weight = Weight(*severity, Confidence::Medium);
            let message = "The description puts itself before other skills";
            log.whole(&TRIG_BAIT, subject.skill_file, weight, phrase, message);
        }
    }
    stuffed(subject, &lower, log);
}

fn broad(subject: &Subject<'_>, lower: &str, log: &mut Collector<'_>) {
    if let Some(phrase) = EVERYTHING.iter().find(|phrase| lower.contains(**phrase)) {
        let weight = Weight(Severity::Low, Confidence::Medium);
        log.whole(
            &TRIG_BROAD,
            subject.skill_file,
            weight,
            phrase,
            "The description claims every task",
        );
    } else if lower.split_whitespace().count() < 3 && lower.is_ascii() {
        let weight = Weight(Severity::Info, Confidence::Medium);
        let message = "The description says too little to choose by";
        log.whole(&TRIG_BROAD, subject.skill_file, weight, lower, message);
    }
}

fn stuffed(subject: &Subject<'_>, lower: &str, log: &mut Collector<'_>) {
    let terms = lower.split([',', ';', '|', '、', '，']).count();
    if terms > MANY_TERMS {
        let weight = Weight(Severity::Medium, Confidence::Medium);
        let evidence = format!("{terms} terms");
        log.whole(
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
        let weight = Weight(Severity::Low, Confidence::Medium);
        let evidence = format!("`{word}` {count} times");
        log.whole(
            &TRIG_BAIT,
            subject.skill_file,
            weight,
            &evidence,
            "The description repeats one word",
        );
    }
}
