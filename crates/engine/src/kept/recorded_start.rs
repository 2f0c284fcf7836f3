//! What the finished steps of a resumed run say about its beginning, and about its container.
//! It reads the forms of all versions.

use std::time::Duration;

use prowess_sandbox::ContainerSetup;
use prowess_store::{Error as StoreError, JournalStep, StepKind, Timestamp};
use serde::Deserialize;

use super::step_record::{OpenedContainer, ResultsRecord, StartRecord, parse_step};

/// What was fixed before the first turn of a run that is resumed.
#[derive(Debug)]
pub(super) struct RecordedStart {
    pub(super) record: StartRecord,
    /// How long the run had been going on when this server got it.
    pub(super) earlier: Duration,
}

/// A turn, as far as it is read here.
#[derive(Debug, Deserialize)]
struct FirstTurn {
    start: Option<StartRecord>,
}

/// Finds it in the steps of a run; none if no step is finished.
pub(super) fn find_start(steps: &[JournalStep]) -> Result<Option<RecordedStart>, StoreError> {
    let Some(first) = steps.first() else {
        return Ok(None);
    };
    let record = match first.kind {
        StepKind::Start => Some(parse_step(first)?),
        StepKind::Turn => parse_step::<FirstTurn>(first)?.start,
        StepKind::ToolResult => None,
    };
    let record: StartRecord = record.ok_or_else(|| StoreError::MalformedRow {
        table: "journal_steps",
        reason: format!("step {} does not have the start of its run", first.seq),
    })?;
    let since = Timestamp::now().as_micros() - first.created_at.as_micros();
    let since = Duration::from_micros(u64::try_from(since).unwrap_or_default());
    let earlier = since.saturating_add(Duration::from_millis(record.elapsed_ms));
    Ok(Some(RecordedStart { record, earlier }))
}

/// The container of the last calls, and what it was set up with.
pub(super) type LastContainer = (Option<String>, Option<ContainerSetup>);

/// Finds it in the steps of a run; none if no calls have used one, as far as the steps tell.
pub(super) fn last_container(steps: &[JournalStep]) -> Result<Option<LastContainer>, StoreError> {
    for step in steps.iter().rev() {
        match step.kind {
            StepKind::ToolResult => {
                let record: ResultsRecord = parse_step(step)?;
                let last = (record.container, record.setup);
                return Ok(Some(last).filter(|(id, _)| id.is_some()));
            }
            // What was fixed before the first turn has both too.
            StepKind::Start => {
                let OpenedContainer {
                    container, setup, ..
                } = parse_step(step)?;
                return Ok(Some((container, setup)).filter(|(id, _)| id.is_some()));
            }
            StepKind::Turn => {}
        }
    }
    Ok(None)
}

/// The step that the ids of the next commands have, if it is not the next one: a call had begun.
pub(super) fn calls_step(steps: &[JournalStep]) -> Result<Option<i64>, StoreError> {
    match steps.last() {
        Some(step) if step.kind == StepKind::Start => {
            let opened: OpenedContainer = parse_step(step)?;
            Ok(opened.calls_step)
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was fixed before the first turn, with no more than every version has.
    const START: &str = r#"{"container": "container_1", "upstream_container": null, "pins": [],
        "native_skills": []}"#;

    fn step(kind: StepKind, body: &str) -> JournalStep {
        JournalStep {
            seq: 0,
            epoch: 1,
            kind,
            call: None,
            body: body.to_owned(),
            created_at: Timestamp::now(),
        }
    }

    #[test]
    fn the_start_of_a_run_is_found_in_the_forms_of_all_versions() {
        let first_turn = format!("{{\"start\": {START}, \"of a later version\": 1}}");
        for first in [
            step(StepKind::Start, START),
            step(StepKind::Turn, &first_turn),
        ] {
            let found = find_start(std::slice::from_ref(&first)).unwrap();
            let record = found.unwrap().record;
            assert_eq!(
                record.container.as_deref(),
                Some("container_1"),
                "{first:?}"
            );
            assert!(record.setup.is_none());
            assert_eq!(record.elapsed_ms, 0);
        }
        assert!(find_start(&[]).unwrap().is_none());
        // Without it the run cannot be continued.
        for body in ["{}", "[]", ""] {
            assert!(find_start(&[step(StepKind::Turn, body)]).is_err(), "{body}");
        }
    }

    #[test]
    fn the_last_container_is_found_in_the_forms_of_all_versions() {
        let results = step(StepKind::ToolResult, r#"{"container": "c_2", "calls": []}"#);
        let opened = step(StepKind::Start, r#"{"container": "c_3"}"#);
        let turn = step(StepKind::Turn, "{}");
        let mut steps = vec![step(StepKind::Start, START), turn.clone()];
        for (next, expected) in [
            (None, "container_1"),
            (Some(results), "c_2"),
            (Some(opened), "c_3"),
        ] {
            steps.extend(next);
            steps.push(turn.clone());
            let (container, setup) = last_container(&steps).unwrap().unwrap();
            assert_eq!(container.as_deref(), Some(expected));
            assert!(setup.is_none());
            assert_eq!(calls_step(&steps).unwrap(), None);
        }
        // A call had begun to replace its container.
        let replaced = r#"{"container": "c_4", "calls_step": 7}"#;
        steps.push(step(StepKind::Start, replaced));
        assert_eq!(calls_step(&steps).unwrap(), Some(7));
    }
}
