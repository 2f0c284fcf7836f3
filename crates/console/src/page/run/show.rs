//! The page of a run that has ended, or that cannot be watched.

use askama::Template;
use axum::body::Body;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{HeaderValue, Request};

use super::answer::{RunAnswer, load_log, run_path};
use super::live::live_page;
use super::status::{StatusBadge, is_in_progress};
use super::step::{MadeFile, WatchedStep};
use super::timeline::{TimeSpan, time_spans};
use crate::api::PageError;
use crate::chart::{Sparkline, Waterfall, WaterfallSpan};
use crate::format::{self, Moment};
use crate::layout::{Layout, Nav};
use crate::query::{QueryFields, segment};
use crate::render::html;
use crate::visitor::Visitor;

/// Characters of a text of the conversation on the page.
const MAX_TEXT_CHARS: usize = 20_000;
/// Files that are shown.
const MAX_FILES: usize = 50;

#[derive(Template)]
#[template(path = "run.html")]
struct RunPage {
    layout: Layout,
    run: RunAnswer,
    badge: StatusBadge,
    began: Option<Moment>,
    figures: Figures,
    /// How the conversation grew.
    growth: Option<Sparkline>,
    waterfall: Waterfall,
    spans: Vec<TimeSpan>,
    /// What was asked, if it is known.
    question: Option<String>,
    /// What the model answered, if it is known.
    response: Option<String>,
    errors: Vec<String>,
    files: Vec<MadeFile>,
    replay: Vec<(&'static str, String)>,
    is_in_progress: bool,
    export_url: String,
}

/// Sums of a run, as people read them.
struct Figures {
    time: String,
    turns: String,
    calls: String,
    input_tokens: String,
    output_tokens: String,
    cost: String,
}

pub(crate) async fn show(
    visitor: Visitor,
    Path(run): Path<String>,
    QueryFields(query): QueryFields,
) -> Result<Response, PageError> {
    let mut run = RunAnswer::load(&visitor.api, &run).await?;
    if run.is_live() || query.get("beside").is_some() {
        return live_page(&visitor, run, query.get("beside")).await;
    }
    let is_in_progress = is_in_progress(&run.status);
    let mut events = std::mem::take(&mut run.events);
    if !is_in_progress && let Some(log) = load_log(&visitor.api, &run.id).await {
        events = log;
    }
    Ok(html(&run_page(&visitor, run, events, is_in_progress)))
}

fn run_page(
    visitor: &Visitor,
    mut run: RunAnswer,
    events: Vec<WatchedStep>,
    is_in_progress: bool,
) -> RunPage {
    let path = run_path(&run.id);
    let last = events.iter().filter_map(|step| step.at_ms).max();
    let recorded = run
        .duration_ms
        .and_then(|millis| i64::try_from(millis).ok());
    let total = recorded.into_iter().chain(last).max().unwrap_or_default();
    let spans = time_spans(&events, total);
    let request = events.iter().find(|step| step.kind == "request");
    let question = request.and_then(|step| step.input.clone());
    let mut files = std::mem::take(&mut run.files);
    if files.is_empty() {
        files.extend(events.iter().filter_map(|step| step.file.clone()));
    }
    files.truncate(MAX_FILES);
    if let (true, Some(request)) = (run.skills.is_empty(), request) {
        run.skills.clone_from(&request.skills);
    }
    RunPage {
        layout: Layout::new(visitor, format!("Run {}", run.id), Nav::Runs).with_curl(&path),
        badge: StatusBadge::new(&run.status),
        began: run.created_at.as_deref().and_then(Moment::parse),
        figures: Figures::new(&run, &events, total),
        growth: input_growth(&events),
        waterfall: draw(&spans, total),
        spans,
        replay: replay_fields(&run, question.as_deref()),
        question: question.map(|text| format::shorten(&text, MAX_TEXT_CHARS)),
        response: response_text(&events),
        errors: error_texts(&run, &events),
        files,
        is_in_progress,
        export_url: format!("/console/runs/{}/export", segment(&run.id)),
        run,
    }
}

impl Figures {
    /// From the record; of a run that has none yet, from its events.
    fn new(run: &RunAnswer, events: &[WatchedStep], total: i64) -> Figures {
        let kind = |kind: &'static str| events.iter().filter(move |step| step.kind == kind);
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let turns = || number(kind("turn_ended").count());
        let calls = || number(kind("tool_ended").count());
        let input = || {
            kind("turn_ended")
                .filter_map(|step| step.input_tokens)
                .sum()
        };
        let output = || {
            kind("turn_ended")
                .filter_map(|step| step.output_tokens)
                .sum()
        };
        let millis = u64::try_from(total).unwrap_or_default();
        Figures {
            time: format::duration(run.duration_ms.unwrap_or(millis)),
            turns: format::count(run.turns.unwrap_or_else(turns)),
            calls: format::count(run.calls.unwrap_or_else(calls)),
            input_tokens: format::count(run.input_tokens.unwrap_or_else(input)),
            output_tokens: format::count(run.output_tokens.unwrap_or_else(output)),
            cost: run.cost.map_or_else(|| "–".to_owned(), format::money),
        }
    }
}

/// Input tokens by turn, if there are several.
fn input_growth(events: &[WatchedStep]) -> Option<Sparkline> {
    let turns = events.iter().filter(|step| step.kind == "turn_ended");
    let tokens: Vec<u64> = turns.filter_map(|step| step.input_tokens).collect();
    if tokens.len() < 2 {
        return None;
    }
    let (first, last) = (tokens.first()?, tokens.last()?);
    let (first, last) = (format::count(*first), format::count(*last));
    let title = format!("Input tokens by turn, from {first} to {last}");
    let values: Vec<f64> = tokens.iter().map(|tokens| *tokens as f64).collect();
    Some(Sparkline::new(title, &values))
}

fn draw(spans: &[TimeSpan], total: i64) -> Waterfall {
    let drawn = spans.iter().map(|span| {
        let (start, took) = (span.start(), span.took());
        WaterfallSpan {
            class: span.kind.class(),
            label: format!("{} · {took}", span.label),
            title: format!("{}: began after {start}, took {took}", span.label),
            start_ms: span.start_ms,
            end_ms: span.end_ms,
        }
    });
    Waterfall::new("What took the time of the run", drawn.collect(), total)
}

/// The text of the model. Steps of a log have it in pieces, those of a record by turns.
fn response_text(events: &[WatchedStep]) -> Option<String> {
    let mut text: String = events
        .iter()
        .filter(|step| step.kind == "text")
        .filter_map(|step| step.text.as_deref())
        .collect();
    if text.is_empty() {
        let turns = events.iter().filter(|step| step.kind == "turn_ended");
        let texts: Vec<&str> = turns.filter_map(|step| step.shown.as_deref()).collect();
        text = texts.join("\n\n");
    }
    let text = text.trim();
    (!text.is_empty()).then(|| format::shorten(text, MAX_TEXT_CHARS))
}

fn error_texts(run: &RunAnswer, events: &[WatchedStep]) -> Vec<String> {
    let logged = events.iter().filter_map(|step| match step.kind.as_str() {
        "error" => step.message.clone(),
        "limit_met" => {
            let limit = step.limit.as_deref().unwrap_or_default();
            Some(format!("Stopped at the limit on {limit}"))
        }
        _ => None,
    });
    let mut errors: Vec<String> = run.error.clone().into_iter().chain(logged).collect();
    errors.dedup();
    errors
}

/// What the playground is filled in with.
fn replay_fields(run: &RunAnswer, question: Option<&str>) -> Vec<(&'static str, String)> {
    let mut fields = vec![("dialect", run.dialect.clone())];
    for skill in &run.skills {
        if let Some(id) = &skill.id {
            let version = skill.version.as_deref().unwrap_or("latest");
            fields.push(("skill", format!("{id}@{version}")));
        }
    }
    if let Some(question) = question {
        fields.push(("message", question.to_owned()));
    }
    fields
}

/// The run as JSON, to be saved.
pub(crate) async fn export(
    visitor: Visitor,
    Path(run): Path<String>,
) -> Result<Response, PageError> {
    let request = Request::get(run_path(&run)).body(Body::empty());
    let request =
        request.map_err(|_| PageError::bad_request("this address does not name a run"))?;
    let response = visitor.api.send(request).await?;
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (
            CONTENT_DISPOSITION,
            HeaderValue::from_static("attachment; filename=\"run.json\""),
        ),
    ];
    Ok((headers, response.into_body()).into_response())
}
