//! Ids of the commands that a call runs, so that a call that is repeated after an interruption
//! finds the results of its commands where they still are. Must not know who has them.
//!
//! As in `command_log`, the call is known to the task that polls it.

use std::cell::Cell;

use prowess_sandbox::{CommandId, Execution, RunOwnership};
use prowess_skill::Digest;

use crate::container_announcer::ContainerAnnouncer;

tokio::task_local! {
    static CALL: IdentifiedCall;
}

/// The call that a command belongs to.
#[derive(Debug, Clone)]
pub struct CallIdentity {
    /// The run.
    pub run: String,
    /// The step that the ids of its commands have, if the run is kept; others have no ids.
    pub step: Option<i64>,
    /// The epoch of the lease of a kept run, which is no part of the ids; 0 of others.
    pub epoch: i64,
    /// Whether this server still has the run.
    pub ownership: RunOwnership,
    /// The id of the call.
    pub call: String,
    /// Whether it may have been made before and must not have effects again: it gets the results
    /// of its commands where they still are, and begins none.
    pub attach_only: bool,
}

struct IdentifiedCall {
    identity: CallIdentity,
    announcer: Option<ContainerAnnouncer>,
    /// Commands that the call has run.
    count: Cell<u32>,
    /// Whether it has the result of a command.
    has_result: Cell<bool>,
    /// Whether it got no result of its first command.
    lacks_result: Cell<bool>,
}

/// Waits for a call whose commands are identified by it, and whose containers are announced.
/// `None` if it only attaches to commands, and the first of them has no result: then nothing was
/// done.
pub async fn identify_commands<F: Future>(
    identity: CallIdentity,
    announcer: Option<ContainerAnnouncer>,
    call: F,
) -> Option<F::Output> {
    let attach_only = identity.attach_only;
    let identified = IdentifiedCall {
        identity,
        announcer,
        count: Cell::new(0),
        has_result: Cell::new(false),
        lacks_result: Cell::new(false),
    };
    let checked = async {
        let output = call.await;
        let lacks_result = CALL.with(|call| call.lacks_result.get());
        (!attach_only || !lacks_result).then_some(output)
    };
    CALL.scope(identified, checked).await
}

/// Announces the container that a command of the call is about to run in, if that is wanted.
pub(crate) async fn announce_container(id: &str) {
    let announcer = CALL.try_with(|call| {
        let announcer = call.announcer.as_ref();
        announcer.filter(|announcer| announcer.needs(id)).cloned()
    });
    if let Ok(Some(announcer)) = announcer {
        announcer.announce(id).await;
    }
}

/// A command of a call has ended, or has no result.
pub(crate) fn note_result(has_result: bool) {
    let _ = CALL.try_with(|call| match has_result {
        true => call.has_result.set(true),
        false if !call.has_result.get() => call.lacks_result.set(true),
        false => {}
    });
}

/// Sets run and id of a command. The id also depends on what is run: whatever makes a repeated
/// call run its commands in another order, none gets the result of another.
pub(crate) fn set_command_id(execution: &mut Execution) {
    // Most commands belong to no run.
    let _ = CALL.try_with(|call| {
        let CallIdentity { run, step, .. } = &call.identity;
        execution.run = Some(run.clone());
        execution.epoch = call.identity.epoch;
        execution.ownership = call.identity.ownership.clone();
        execution.attach_only = call.identity.attach_only;
        if step.is_some() {
            let number = call.count.get();
            call.count.set(number.wrapping_add(1));
            let (number, content) = (number.to_string(), content_digest(execution));
            let parts = call.parts();
            let parts = parts.iter().map(String::as_str);
            execution.id = Some(CommandId::from_parts(parts.chain([&*number, &*content])));
        }
    });
}

/// An unguessable word that is the same when a call is repeated; `None` if it never is.
pub(crate) fn repeatable_word() -> Option<String> {
    let word = |call: &IdentifiedCall| {
        call.identity.step.is_some().then(|| {
            let text = format!("prowess-word\0{}", call.parts().join("\0"));
            short_hex(text.as_bytes())
        })
    };
    CALL.try_with(word).ok().flatten()
}

impl IdentifiedCall {
    fn parts(&self) -> [String; 3] {
        let CallIdentity {
            run, step, call, ..
        } = &self.identity;
        let step = step.unwrap_or_default().to_string();
        [run.clone(), step, call.clone()]
    }
}

/// The digest of what a command runs.
fn content_digest(execution: &Execution) -> String {
    let content = (&execution.command, &execution.env);
    // Such values always have a form in JSON.
    let mut bytes = serde_json::to_vec(&content).unwrap_or_default();
    bytes.push(0);
    bytes.extend_from_slice(&execution.stdin);
    short_hex(&bytes)
}

/// The first 128 bits of a digest.
fn short_hex(bytes: &[u8]) -> String {
    let mut hex = Digest::from_content(bytes).hex();
    hex.truncate(32);
    hex
}

#[cfg(test)]
mod tests {
    use super::*;
    use prowess_sandbox::Command;

    fn bash(line: &str) -> Execution {
        Execution {
            command: Command::Bash(line.to_owned()),
            ..Execution::default()
        }
    }

    async fn ids(step: Option<i64>, lines: &[&str]) -> Vec<Option<String>> {
        let identity = CallIdentity {
            run: "run_1".to_owned(),
            step,
            epoch: 1,
            ownership: RunOwnership::default(),
            call: "call 1".to_owned(),
            attach_only: false,
        };
        let call = async {
            let mut ids = Vec::new();
            for line in lines {
                tokio::task::yield_now().await;
                let mut execution = bash(line);
                set_command_id(&mut execution);
                assert_eq!(execution.run.as_deref(), Some("run_1"));
                assert_eq!((execution.epoch, execution.attach_only), (1, false));
                ids.push(execution.id.map(|id| id.to_string()));
            }
            ids
        };
        identify_commands(identity, None, call).await.unwrap()
    }

    #[tokio::test]
    async fn a_repeated_call_has_the_same_ids_and_no_other_has_them() {
        let first = ids(Some(2), &["a", "b", "b"]).await;
        assert_eq!(ids(Some(2), &["a", "b", "b"]).await, first);
        let mut distinct: Vec<_> = first.into_iter().flatten().collect();
        distinct.extend(ids(Some(3), &["a"]).await.into_iter().flatten());
        // Another command at the same place is another command.
        distinct.extend(ids(Some(2), &["b"]).await.into_iter().flatten());
        assert!(distinct.iter().all(|id| id.starts_with("run_1:")));
        let count = distinct.len();
        distinct.sort();
        distinct.dedup();
        assert_eq!((count, distinct.len()), (5, 5));
    }

    #[tokio::test]
    async fn a_call_that_attaches_begins_no_command_and_is_void_without_its_first_result() {
        let attached = async |results: &[bool]| {
            let identity = CallIdentity {
                run: "run_1".to_owned(),
                step: Some(2),
                epoch: 2,
                ownership: RunOwnership::default(),
                call: "call 1".to_owned(),
                attach_only: true,
            };
            let call = async {
                for has_result in results {
                    let mut execution = bash("a");
                    set_command_id(&mut execution);
                    assert_eq!((execution.epoch, execution.attach_only), (2, true));
                    note_result(*has_result);
                }
            };
            identify_commands(identity, None, call).await
        };
        assert_eq!(attached(&[]).await, Some(()));
        assert_eq!(attached(&[true, true]).await, Some(()));
        // What the first command did has happened.
        assert_eq!(attached(&[true, false]).await, Some(()));
        assert_eq!(attached(&[false]).await, None);
        assert_eq!(attached(&[false, true]).await, None);
    }

    #[tokio::test]
    async fn commands_of_other_runs_have_no_ids() {
        assert_eq!(ids(None, &["a"]).await, [None]);
        let mut execution = bash("a");
        set_command_id(&mut execution);
        assert_eq!((execution.id, execution.run), (None, None));
        assert_eq!(repeatable_word(), None);
    }
}
