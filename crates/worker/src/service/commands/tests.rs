//! Keeping, killing, attaching and forgetting, at given times.

use super::*;
use proptest::prelude::*;

fn key(container: &str) -> CommandKey {
    CommandKey {
        owner: "someone".into(),
        container: container.into(),
        files_digest: None,
    }
}

fn stop_reason(command: &ActiveCommand) -> Option<CommandStop> {
    use futures_util::FutureExt as _;
    command.stopped().now_or_never()
}

const KEEP: Duration = Duration::from_secs(30);
const RETENTION: Duration = Duration::from_secs(600);

#[test]
fn a_command_that_no_gateway_keeps_is_abandoned_and_a_kept_one_goes_on() {
    let start = Instant::now();
    let mut commands = Commands::<()>::default();
    let lost = commands.begin("lost", key("a"), "g1", start);
    let kept = commands.begin("kept", key("b"), "g1", start);
    for second in (0..120).step_by(2) {
        let now = start + Duration::from_secs(second);
        commands.keep(&["kept".into(), "unknown".into()], now);
        commands.expire(now, KEEP, RETENTION);
        let expected = (second >= 30).then_some(CommandStop::Abandoned);
        assert_eq!(stop_reason(&lost), expected, "after {second} seconds");
    }
    assert_eq!(stop_reason(&kept), None);
    let disconnected = start + Duration::from_secs(200);
    commands.keep_all(disconnected);
    commands.expire(disconnected, KEEP, RETENTION);
    assert_eq!(stop_reason(&kept), None);
    assert_eq!(commands.active(), 2, "its task removes it");
    commands.end("lost", None, start);
    assert_eq!(commands.active(), 1);
}

#[test]
fn commands_of_an_owner_are_counted_while_they_are_active_in_other_containers() {
    let start = Instant::now();
    let mut commands = Commands::<()>::default();
    commands.begin("a", key("a"), "g1", start);
    commands.begin("b", key("b"), "g1", start);
    let of_another = CommandKey {
        owner: "another".into(),
        ..key("c")
    };
    commands.begin("c", of_another.clone(), "g1", start);
    assert!(commands.has_others(&key("d"), 2));
    assert!(!commands.has_others(&key("d"), 3));
    assert!(!commands.has_others(&key("a"), 1), "it has one there");
    assert!(!commands.has_others(&of_another, 1));
    commands.end("b", Some((Arc::new(()), 1)), start);
    assert!(commands.has_others(&key("d"), 1));
    assert!(!commands.has_others(&key("d"), 2));
}

#[test]
fn attaching_keeps_a_command_and_asks_of_its_newest_gateway() {
    let start = Instant::now();
    let mut commands = Commands::<()>::default();
    let command = commands.begin("c", key("a"), "g1", start);
    let later = start + Duration::from_secs(29);
    let known = commands.attach("c", &key("a"), "g2", later);
    assert!(matches!(known, Some(KnownCommand::Active { .. })));
    commands.expire(start + Duration::from_secs(31), KEEP, RETENTION);
    assert_eq!(stop_reason(&command), None);
    assert_eq!(command.newest_listener().as_deref(), Some("g2"));
    assert_eq!(command.listeners(), ["g1", "g2"]);
    let other = commands.attach("c", &key("b"), "g3", later);
    assert!(matches!(other, Some(KnownCommand::Conflict)));
    assert_eq!(command.listeners(), ["g1", "g2"]);
}

#[test]
fn a_result_is_kept_for_its_time_and_only_for_the_same_files() {
    let start = Instant::now();
    let mut commands = Commands::default();
    commands.begin("c", key("a"), "g1", start);
    commands.end("c", Some((Arc::new(7), 100)), start);
    let at = |seconds| start + Duration::from_secs(seconds);
    commands.expire(at(599), KEEP, RETENTION);
    let known = commands.attach("c", &key("a"), "g2", at(599));
    assert!(matches!(known, Some(KnownCommand::Ended(result)) if *result == 7));
    let other = commands.attach("c", &key("b"), "g2", at(599));
    assert!(matches!(other, Some(KnownCommand::Conflict)));
    commands.expire(at(600), KEEP, RETENTION);
    assert!(commands.attach("c", &key("a"), "g2", at(600)).is_none());
}

#[test]
fn killing_ends_an_active_command_and_discards_a_result() {
    let now = Instant::now();
    let mut commands = Commands::default();
    let command = commands.begin("c", key("a"), "g1", now);
    commands.kill("c", Some("g1"), 0);
    assert_eq!(stop_reason(&command), Some(CommandStop::Killed));
    commands.stop_all(CommandStop::Stopped);
    assert_eq!(stop_reason(&command), Some(CommandStop::Killed));
    commands.end("c", Some((Arc::new(1), 10)), now);
    commands.kill("c", Some("g1"), 0);
    assert!(commands.attach("c", &key("a"), "g1", now).is_none());
}

#[test]
fn a_gateway_that_another_one_has_replaced_ends_nothing() {
    let now = Instant::now();
    let mut commands = Commands::default();
    let command = commands.begin("c", key("a"), "g1", now);
    commands.attach("c", &key("a"), "g2", now);
    commands.kill("c", Some("g1"), 0);
    assert_eq!(stop_reason(&command), None);
    commands.end("c", Some((Arc::new(1), 10)), now);
    commands.kill("c", Some("g1"), 0);
    commands.attach("c", &key("a"), "g3", now);
    commands.kill("c", Some("g2"), 0);
    let known = commands.attach("c", &key("a"), "g3", now);
    assert!(matches!(known, Some(KnownCommand::Ended(_))));
    // An earlier release does not say who it is.
    commands.kill("c", None, 0);
    assert!(commands.attach("c", &key("a"), "g3", now).is_none());
}

fn listener(subject: &str, epoch: i64) -> CommandListener {
    CommandListener {
        epoch,
        ..CommandListener::from(subject)
    }
}

#[test]
fn a_gateway_that_has_lost_the_run_does_not_get_the_command_back() {
    let now = Instant::now();
    let mut commands = Commands::default();
    let command = commands.begin("c", key("a"), listener("g1", 1), now);
    let known = commands.attach("c", &key("a"), listener("g2", 2), now);
    let Some(KnownCommand::Active { outdated }) = known else {
        panic!("{known:?}");
    };
    assert_eq!(outdated, ["g1"]);
    // It was still for a while, and attaches again; for other files too.
    for key in [key("a"), key("b")] {
        let known = commands.attach("c", &key, listener("g1 again", 1), now);
        assert!(matches!(known, Some(KnownCommand::RunLost)), "{known:?}");
    }
    assert_eq!(command.listeners(), ["g2"]);
    for subject in ["g1", "g1 again", "g2"] {
        commands.kill("c", Some(subject), 1);
    }
    assert_eq!(stop_reason(&command), None);
    // The same holds for its result.
    commands.end("c", Some((Arc::new(1), 10)), now);
    let known = commands.attach("c", &key("a"), listener("g1", 1), now);
    assert!(matches!(known, Some(KnownCommand::RunLost)), "{known:?}");
    commands.kill("c", Some("g2"), 1);
    let known = commands.attach("c", &key("a"), listener("g3", 3), now);
    assert!(matches!(known, Some(KnownCommand::Ended(_))), "{known:?}");
    let known = commands.attach("c", &key("a"), listener("g2", 2), now);
    assert!(matches!(known, Some(KnownCommand::RunLost)), "{known:?}");
    // Whoever has the run decides, also if its request was lost.
    commands.kill("c", Some("g4"), 4);
    assert!(
        commands
            .attach("c", &key("a"), listener("g4", 4), now)
            .is_none()
    );
}

#[test]
fn among_gateways_of_an_earlier_release_the_last_one_counts() {
    let now = Instant::now();
    let mut commands = Commands::<()>::default();
    let command = commands.begin("c", key("a"), listener("new", 1), now);
    let known = commands.attach("c", &key("a"), "old", now);
    let Some(KnownCommand::Active { outdated }) = known else {
        panic!("{known:?}");
    };
    assert!(outdated.is_empty());
    assert_eq!(command.newest_listener().as_deref(), Some("old"));
    commands.kill("c", Some("new"), 1);
    assert_eq!(stop_reason(&command), None);
    let known = commands.attach("c", &key("a"), listener("newer", 2), now);
    assert!(
        matches!(known, Some(KnownCommand::Active { .. })),
        "{known:?}"
    );
    assert_eq!(command.listeners(), ["old", "newer"]);
    commands.kill("c", Some("newer"), 2);
    assert_eq!(stop_reason(&command), Some(CommandStop::Killed));
}

proptest! {
    /// However commands come and go, the results' bytes and number stay within their limits and
    /// are what the entries have.
    #[test]
    fn kept_results_stay_within_their_limits(
        sizes in proptest::collection::vec((0_u8..40, 0_usize..(80 << 20)), 1..200),
    ) {
        let now = Instant::now();
        let mut commands = Commands::default();
        for (name, bytes) in sizes {
            let id = name.to_string();
            commands.begin(&id, key("a"), "g", now);
            prop_assert_eq!(commands.active(), 1);
            commands.end(&id, Some((Arc::new(bytes), bytes)), now);
            prop_assert_eq!(commands.active(), 0);
            let kept: usize = commands
                .entries
                .values()
                .map(|entry| match entry {
                    CommandEntry::Ended { bytes, .. } => *bytes,
                    CommandEntry::Active { .. } => 0,
                })
                .sum();
            prop_assert_eq!(kept, commands.bytes);
            prop_assert!(kept <= MAX_RESULT_BYTES);
            prop_assert_eq!(commands.order.len(), commands.entries.len());
        }
    }
}
