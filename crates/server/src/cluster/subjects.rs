//! The subjects of the gateways' messages, below the namespace of their cluster.

/// The subjects of one cluster, as one gateway uses them.
#[derive(Debug, Clone)]
pub(super) struct Subjects {
    namespace: String,
}

/// What a message is about, by its subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Topic<'a> {
    /// A gateway announces itself.
    Beat,
    /// There may be runs to claim.
    Runs,
    /// A run is to be cancelled.
    Cancel {
        /// The run.
        run: &'a str,
    },
    /// Caches are out of date.
    Caches,
    /// What a gateway's keys have used.
    Rates,
}

impl Subjects {
    pub(super) fn new(namespace: &str) -> Subjects {
        Subjects {
            namespace: namespace.to_owned(),
        }
    }

    /// Where gateways announce themselves.
    pub(super) fn beats(&self) -> String {
        self.below("hb.g")
    }

    /// Where runs are announced that no gateway has.
    pub(super) fn runs(&self) -> String {
        self.below("wake.runs")
    }

    /// Where the new events of a run are announced.
    pub(super) fn run_events(&self, run: &str) -> String {
        self.below(&format!("run.{run}.ev"))
    }

    /// Where the cancellation of a run is announced; `*` for all runs.
    pub(super) fn run_control(&self, run: &str) -> String {
        self.below(&format!("run.{run}.ctl"))
    }

    /// Where it is announced that caches are out of date.
    pub(super) fn caches(&self) -> String {
        self.below("drop")
    }

    /// Where a gateway publishes what keys have used; `*` for all gateways.
    pub(super) fn rates(&self, gateway: &str) -> String {
        self.below(&format!("rates.{gateway}"))
    }

    /// Everything that a gateway subscribes to as long as it runs.
    pub(super) fn patterns(&self) -> [String; 5] {
        [
            self.beats(),
            self.runs(),
            self.run_control("*"),
            self.caches(),
            self.rates("*"),
        ]
    }

    /// What a message with this subject is about.
    pub(super) fn topic<'a>(&self, subject: &'a str) -> Option<Topic<'a>> {
        let below = subject.strip_prefix(&self.namespace)?.strip_prefix('.')?;
        match below {
            "hb.g" => Some(Topic::Beat),
            "wake.runs" => Some(Topic::Runs),
            "drop" => Some(Topic::Caches),
            _ => match below.split_once('.')? {
                ("rates", _) => Some(Topic::Rates),
                ("run", rest) => {
                    let run = rest.strip_suffix(".ctl")?;
                    Some(Topic::Cancel { run })
                }
                _ => None,
            },
        }
    }

    fn below(&self, rest: &str) -> String {
        format!("{}.{rest}", self.namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_published_is_recognised() {
        let subjects = Subjects::new("prowess");
        let topics = [
            (subjects.beats(), Some(Topic::Beat)),
            (subjects.runs(), Some(Topic::Runs)),
            (
                subjects.run_control("run_1"),
                Some(Topic::Cancel { run: "run_1" }),
            ),
            (subjects.caches(), Some(Topic::Caches)),
            (subjects.rates("gw-1"), Some(Topic::Rates)),
            (subjects.run_events("run_1"), None),
            ("prowesshb.g".to_owned(), None),
            ("other.hb.g".to_owned(), None),
        ];
        for (subject, topic) in topics {
            assert_eq!(subjects.topic(&subject), topic, "{subject}");
        }
        for pattern in subjects.patterns() {
            prowess_bus::subject::check_pattern(&pattern).unwrap();
        }
    }
}
