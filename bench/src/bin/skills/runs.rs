//! Whole runs with one call of a tool, beside the sandbox by itself.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures_util::StreamExt as _;
use prowess_bench::{median, millis};
use prowess_bench_report::{Column, Table};
use prowess_engine::{RunEvent, RunStep};
use prowess_sandbox::{Command, CommandOutcome, ContainerSpec, Execution, Policy, SkillFiles};
use prowess_skill::Skill;
use prowess_wire::neutral::StreamEvent;

use crate::cpu;
use crate::engine_bench::EngineBench;

/// What a run took: time that passed, and processor time of this process alone, which
/// is not where the command runs.
#[derive(Default)]
struct Times {
    wall: Vec<Duration>,
    cpu: Vec<Duration>,
}

/// The runs with their tool, and the sandbox doing the same without us.
pub(crate) async fn table(stage: &EngineBench, skills: &[Skill], rounds: usize) -> Result<Table> {
    let mut times: [Times; 5] = Default::default();
    let (_, kept) = run(stage, "run", None).await?;
    let kept = kept.context("a run that ran code has no container")?;
    // The first round warms up, and is not counted.
    for round in 0..=rounds {
        let (load, _) = run(stage, "load", None).await?;
        let (first, made) = run(stage, "run", None).await?;
        let (again, _) = run(stage, "run", Some(&kept)).await?;
        if let Some(made) = made {
            stage.sandbox.destroy(stage.owner(), &made).await?;
        }
        let alone_first = alone_in_a_new_container(stage, skills).await?;
        let alone_again = measure(exec(stage, &kept)).await?.0;
        let taken = [load, first, alone_first, again, alone_again];
        for (times, (wall, cpu)) in times.iter_mut().zip(taken) {
            if round > 0 {
                times.wall.push(wall);
                times.cpu.push(cpu);
            }
        }
    }
    stage.engine.flush_records().await;
    let [load, first, alone_first, again, alone_again] = times;
    let columns = [
        "run, wall",
        "run, CPU",
        "sandbox, wall",
        "sandbox, CPU",
        "beyond it, wall",
        "beyond it, CPU",
    ];
    let columns = columns.map(|name| Column::number(name, "ms", 2));
    let mut table = Table::new("runs", columns)
        .with_caption("Whole runs with one tool call, and the sandbox alone:");
    let none = Times::default();
    push(&mut table, "`load_skill`", &load, &none);
    push(&mut table, "bash, new container", &first, &alone_first);
    push(&mut table, "bash, existing container", &again, &alone_again);
    Ok(table)
}

fn push(table: &mut Table, what: &str, run: &Times, alone: &Times) {
    let middle = |times: &[Duration]| millis(median(times).unwrap_or_default());
    let (wall, cpu) = (middle(&run.wall), middle(&run.cpu));
    let (alone_wall, alone_cpu) = (middle(&alone.wall), middle(&alone.cpu));
    let beyond = [wall - alone_wall, cpu - alone_cpu];
    let numbers = [wall, cpu, alone_wall, alone_cpu].into_iter().chain(beyond);
    table.push(what, numbers.map(|number| Some(number.into())));
}

/// Measures the wall-clock and CPU time of an operation.
async fn measure<T>(work: impl Future<Output = Result<T>>) -> Result<((Duration, Duration), T)> {
    let (start, before) = (Instant::now(), cpu());
    let done = work.await?;
    Ok(((start.elapsed(), cpu() - before), done))
}

/// A whole run, and its container.
async fn run(
    stage: &EngineBench,
    prompt: &str,
    container: Option<&str>,
) -> Result<((Duration, Duration), Option<String>)> {
    let run_request = stage.run_request(stage.request(prompt, container)?)?;
    let (taken, (calls, container)) = measure(async {
        let mut run = stage.engine.start(run_request).await?;
        let (mut calls, mut container) = (0, None);
        while let Some(event) = run.next().await {
            match event {
                RunEvent::Failed(error) => return Err(error.into()),
                RunEvent::Step(RunStep::ToolEnded { is_error, .. }) => {
                    ensure!(!is_error, "the tool failed");
                    calls += 1;
                }
                RunEvent::Response(StreamEvent::MessageDelta {
                    container: announced,
                    ..
                }) => container = announced,
                _ => {}
            }
        }
        Ok((calls, container))
    })
    .await?;
    ensure!(calls == 1, "{calls} tools were called");
    let id = container.and_then(|announced| announced.get("id")?.as_str().map(str::to_owned));
    Ok((taken, id))
}

/// The sandbox's part of a run by itself: a container with the skills, a command.
async fn alone_in_a_new_container(
    stage: &EngineBench,
    skills: &[Skill],
) -> Result<(Duration, Duration)> {
    let new = ContainerSpec {
        policy: Policy::default(),
        skills: skills
            .iter()
            .map(|skill| SkillFiles::from_skill(skill, skill.name.as_str()))
            .collect(),
        layer: None,
    };
    let (taken, container) = measure(async {
        let container = stage.sandbox.create(stage.owner(), new).await?;
        exec(stage, &container).await?;
        Ok(container)
    })
    .await?;
    stage.sandbox.destroy(stage.owner(), &container).await?;
    Ok(taken)
}

async fn exec(stage: &EngineBench, container: &str) -> Result<()> {
    let execution = Execution {
        command: Command::Bash("true".to_owned()),
        ..Execution::default()
    };
    let report = stage
        .sandbox
        .exec(stage.owner(), container, execution)
        .await?;
    ensure!(
        report.outcome == CommandOutcome::Exit(0),
        "the command failed"
    );
    Ok(())
}
