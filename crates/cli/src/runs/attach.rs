//! `prowess runs attach ID`

use prowess_client::{Client, Error, RemoteRun};
use prowess_wire::{Dialect, StreamReader};

use super::follow_report::FollowReport;
use super::reconnect::{Reconnect, is_transient};
use super::run_id;
use crate::client::{self, RemoteArgs};
use crate::output::DIM;
use crate::{Exit, output};

const AFTER_HELP: &str = "\
The answer is printed from its beginning, as `prowess run` prints it. A broken connection is
repaired. Ctrl-C ends this command, and not the run.

Exit codes:
  0  the model completed its answer
  1  the run failed, was cancelled or cut short by a limit, or Ctrl-C was pressed
  2  wrong usage
  3  the run cannot be followed";

/// Follow a run of a server until it ends.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The run (run_…), or its response (resp_…)
    #[arg(value_name = "ID")]
    id: String,
    /// Print only JSON, one line per event
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let client = args.remote.connect()?;
    let run = run_id(&args.id);
    let mut report = FollowReport::new(args.json);
    client::block_on(async {
        let interrupted = tokio::select! {
            ended = follow(&client, &run, &mut report) => Some(ended?),
            signal = tokio::signal::ctrl_c() => {
                signal?;
                None
            }
        };
        match interrupted {
            Some(state) => report.finish(&run, &state),
            None => {
                report.end_line()?;
                output::print_remark(&format!(
                    "the run goes on; follow it again with: prowess runs attach {run} --server {}",
                    client.server()
                ));
                Ok(Exit::Problems)
            }
        }
    })
}

/// Reports the events of a run until it has ended, over as many connections as it takes, and
/// returns its last state.
async fn follow(client: &Client, run: &str, report: &mut FollowReport) -> anyhow::Result<String> {
    // An id that the server does not know is an error at once.
    let found = client.run(run).await?;
    let mut reader = reader(&found);
    let mut last = None;
    let mut reconnect = Reconnect::default();
    loop {
        let before = last;
        let connection = read_events(client, run, &mut reader, &mut last, report).await;
        if last != before {
            reconnect.reset();
        }
        let error = match connection {
            // The server closes the stream of a run that has ended, but also when it stops.
            Ok(()) => match client.run(run).await {
                Ok(found) if is_over(&found) && (report.is_ended() || last == before) => {
                    // In Gemini's API the end of the stream is the end of the response.
                    for event in reader.finish() {
                        report.on_event(event)?;
                    }
                    return Ok(found.status);
                }
                Ok(_) => None,
                Err(error) => Some(error),
            },
            Err(FollowError::Report(error)) => return Err(error),
            Err(FollowError::Client(error)) => Some(error),
        };
        if let Some(error) = error {
            if !is_transient(&error) {
                return Err(error.into());
            }
            if reconnect.is_first() {
                report.remark(&format!("{DIM}connection lost, reconnecting{DIM:#}"))?;
            }
            match reconnect.next_delay() {
                Some(delay) => tokio::time::sleep(delay).await,
                None => return Err(error.into()),
            }
        } else if let Some(delay) = reconnect.next_delay() {
            tokio::time::sleep(delay).await;
        } else {
            anyhow::bail!("the server closes the events of {run} before the run has ended");
        }
    }
}

/// Why a connection was not read to its end.
enum FollowError {
    Client(Error),
    Report(anyhow::Error),
}

/// Reports the events after number `last` until the stream ends.
async fn read_events(
    client: &Client,
    run: &str,
    reader: &mut StreamReader,
    last: &mut Option<u64>,
    report: &mut FollowReport,
) -> Result<(), FollowError> {
    let events = client.run_events(run, *last).await;
    let mut events = events.map_err(FollowError::Client)?;
    while let Some(event) = events.next().await.map_err(FollowError::Client)? {
        for event in reader.push(&event.bytes) {
            report.on_event(event).map_err(FollowError::Report)?;
        }
        *last = event.number.or(*last);
    }
    Ok(())
}

/// What reads the events of a run, in the dialect of its request.
fn reader(run: &RemoteRun) -> StreamReader {
    let dialect = match run.dialect.as_str() {
        "messages" => Dialect::Messages,
        "chat" => Dialect::Chat,
        "gemini" => Dialect::Gemini,
        _ => Dialect::Responses,
    };
    StreamReader::new(dialect, Default::default())
}

fn is_over(run: &RemoteRun) -> bool {
    !matches!(run.status.as_str(), "queued" | "running")
}
