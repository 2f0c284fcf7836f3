//! Ids of the commands that a call runs, so that a call that is repeated after an interruption
//! finds the results of its commands where they still are. Must not know who has them.
//!
//! As in `command_log`, the call is known to the task that polls it.

use std::cell::Cell;

use prowess_sandbox::{CommandId, Execution};
use prowess_skill::Digest;

tokio::task_local! {
    static CALL: IdentifiedCall;
}

/// The call that a command belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallIdentity {
    /// The run.
    pub run: String,
    /// The number of the run's next step, if the run is kept: then its commands have ids.
    pub step: Option<i64>,
    /// The id of the call.
    pub call: String,
}

struct IdentifiedCall {
    identity: CallIdentity,
    /// Commands that the call has run.
    count: Cell<u32>,
}

/// Waits for a call whose commands are identified by it.
pub async fn identify_commands<F: Future>(identity: CallIdentity, call: F) -> F::Output {
    let identified = IdentifiedCall {
        identity,
        count: Cell::new(0),
    };
    CALL.scope(identified, call).await
}

/// Sets run and id of a command. The id also depends on what is run: whatever makes a repeated
/// call run its commands in another order, none gets the result of another.
pub(crate) fn set_command_id(execution: &mut Execution) {
    // Most commands belong to no run.
    let _ = CALL.try_with(|call| {
        let CallIdentity { run, step, .. } = &call.identity;
        execution.run = Some(run.clone());
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
        let CallIdentity { run, step, call } = &self.identity;
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
            call: "call 1".to_owned(),
        };
        let call = async {
            let mut ids = Vec::new();
            for line in lines {
                tokio::task::yield_now().await;
                let mut execution = bash(line);
                set_command_id(&mut execution);
                assert_eq!(execution.run.as_deref(), Some("run_1"));
                ids.push(execution.id.map(|id| id.to_string()));
            }
            ids
        };
        identify_commands(identity, call).await
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
    async fn commands_of_other_runs_have_no_ids() {
        assert_eq!(ids(None, &["a"]).await, [None]);
        let mut execution = bash("a");
        set_command_id(&mut execution);
        assert_eq!((execution.id, execution.run), (None, None));
        assert_eq!(repeatable_word(), None);
    }
}
