//! Which worker gets a command: the one that has the container's files already, if it is not
//! busy; else the least loaded of a few. Pure: the caller provides loads and random numbers.

/// Workers that are compared. The least loaded of all would get every command of all gateways
/// until its next beat.
const COMPARED_WORKERS: usize = 3;
/// The last worker of a container gets its next command below this load, in percent of its
/// slots: fetching the files elsewhere takes longer than waiting there for a moment.
const MAX_LAST_LOAD_PERCENT: usize = 80;

/// A worker as placement sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkerCandidate {
    /// Its id.
    pub(crate) id: String,
    /// Commands that run and wait there.
    pub(crate) load: usize,
    /// Commands that it runs at once.
    pub(crate) slots: usize,
    /// How much of what the command needs is cached there: skills, and the packages.
    pub(crate) cached: usize,
}

impl WorkerCandidate {
    /// Whether this one is the better place. Equal ones differ by what they have cached.
    fn is_better_than(&self, other: &Self) -> bool {
        // load / slots, without dividing.
        let own = self.load.saturating_mul(other.slots);
        let others = other.load.saturating_mul(self.slots);
        own < others || (own == others && self.cached > other.cached)
    }

    fn has_room_for_its_own(&self) -> bool {
        self.load.saturating_mul(100) < self.slots.saturating_mul(MAX_LAST_LOAD_PERCENT)
    }
}

/// Chooses among workers that are alive and not draining. `last` is the worker that ran the
/// container's last command; `random_below` returns a number below its argument.
pub(crate) fn choose<'a>(
    workers: &'a [WorkerCandidate],
    last: Option<&str>,
    mut random_below: impl FnMut(usize) -> usize,
) -> Option<&'a WorkerCandidate> {
    let can_run = |worker: &&WorkerCandidate| worker.slots > 0;
    if let Some(last) = last {
        let mut known = workers.iter().filter(can_run);
        if let Some(worker) = known.find(|worker| worker.id == last)
            && worker.has_room_for_its_own()
        {
            return Some(worker);
        }
    }
    let mut rest: Vec<&WorkerCandidate> = workers.iter().filter(can_run).collect();
    let mut best: Option<&WorkerCandidate> = None;
    for _ in 0..COMPARED_WORKERS.min(rest.len()) {
        let next = rest.swap_remove(random_below(rest.len()).min(rest.len() - 1));
        if best.is_none_or(|best| next.is_better_than(best)) {
            best = Some(next);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn workers() -> impl Strategy<Value = Vec<WorkerCandidate>> {
        let worker = (0_usize..12, 0_usize..6, 0_usize..3);
        prop::collection::vec(worker, 0..8).prop_map(|all| {
            let named = all.into_iter().enumerate();
            named
                .map(|(number, (load, slots, cached))| WorkerCandidate {
                    id: format!("w{number}"),
                    load,
                    slots,
                    cached,
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn a_worker_is_found_exactly_if_one_can_run_commands(
            all in workers(),
            last in prop::option::of(0_usize..8),
            seed: u64,
        ) {
            let mut random = fastrand::Rng::with_seed(seed);
            let last = last.map(|number| format!("w{number}"));
            let chosen = choose(&all, last.as_deref(), |below| random.usize(..below));
            prop_assert_eq!(chosen.is_some(), all.iter().any(|worker| worker.slots > 0));
            prop_assert!(chosen.is_none_or(|worker| worker.slots > 0));
        }

        #[test]
        fn the_last_worker_is_kept_below_four_fifths_and_not_above(
            all in workers(),
            last in 0_usize..8,
            seed: u64,
        ) {
            let mut random = fastrand::Rng::with_seed(seed);
            let id = format!("w{last}");
            let chosen = choose(&all, Some(&id), |below| random.usize(..below));
            let known = all.iter().find(|worker| worker.id == id);
            if let Some(known) = known && known.slots > 0 && known.load * 5 < known.slots * 4 {
                prop_assert_eq!(chosen, Some(known));
            }
            // Of up to three, the least loaded one is found.
            let able: Vec<_> = all.iter().filter(|worker| worker.slots > 0).collect();
            if let (Some(chosen), 1..=3) = (chosen, able.len()) && chosen.id != id {
                for other in &able {
                    prop_assert!(chosen.load * other.slots <= other.load * chosen.slots);
                }
            }
        }

        #[test]
        fn a_choice_is_never_the_worst_of_what_was_compared(all in workers(), seed: u64) {
            let mut random = fastrand::Rng::with_seed(seed);
            let Some(chosen) = choose(&all, None, |below| random.usize(..below)) else {
                return Ok(());
            };
            let able = all.iter().filter(|worker| worker.slots > 0);
            let better = able.filter(|worker| worker.is_better_than(chosen)).count();
            let all_able = all.iter().filter(|worker| worker.slots > 0).count();
            prop_assert!(better + COMPARED_WORKERS.min(all_able) <= all_able);
        }

        #[test]
        fn any_number_is_accepted_as_random(all in workers(), wild: usize) {
            let _ = choose(&all, None, |_| wild);
        }
    }

    #[test]
    fn equal_loads_differ_by_what_is_cached() {
        let worker = |id: &str, load, slots, cached| WorkerCandidate {
            id: id.into(),
            load,
            slots,
            cached,
        };
        let all = [
            worker("a", 1, 4, 0),
            worker("b", 2, 8, 2),
            worker("c", 3, 12, 1),
        ];
        for seed in 0..20 {
            let mut random = fastrand::Rng::with_seed(seed);
            let chosen = choose(&all, None, |below| random.usize(..below)).unwrap();
            assert_eq!(chosen.id, "b");
        }
    }
}
