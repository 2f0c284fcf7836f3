//! `GET /console/runs/{run}/events`: events of a run as HTML, as they come. A browser that was
//! cut off sends the number of the last event it has, and the API continues after it.

use std::collections::VecDeque;
use std::convert::Infallible;

use askama::Template as _;
use axum::body::{Body, BodyDataStream};
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, Request};

use super::answer::run_path;
use super::event_lines::{EventLines, ReadEvent};
use super::fragment::{EventFragment, stream_event};
use crate::api::PageError;
use crate::visitor::Visitor;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

pub(crate) async fn watch(
    visitor: Visitor,
    Path(run): Path<String>,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let path = format!("{}/events?format=steps", run_path(&run));
    let mut request = Request::get(path);
    if let Some(last) = headers.get(LAST_EVENT_ID) {
        request = request.header(LAST_EVENT_ID, last);
    }
    let request = request.body(Body::empty());
    let request =
        request.map_err(|_| PageError::bad_request("this address does not name a run"))?;
    let response = visitor.api.send(request).await?;
    let watched = WatchedRun {
        body: response.into_body().into_data_stream(),
        lines: EventLines::default(),
        waiting: VecDeque::new(),
    };
    let headers = [
        (CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok((headers, Body::from_stream(watched.into_stream())).into_response())
}

struct WatchedRun {
    body: BodyDataStream,
    lines: EventLines,
    waiting: VecDeque<String>,
}

impl WatchedRun {
    fn into_stream(self) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
        stream::unfold(self, |mut watched| async move {
            let event = watched.next_event().await?;
            Some((Ok(Bytes::from(event)), watched))
        })
    }

    /// The next event for the browser; none when the run is over, or its events cannot be read.
    async fn next_event(&mut self) -> Option<String> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            let chunk = self.body.next().await?.ok()?;
            let events = self.lines.push(&chunk)?;
            self.waiting
                .extend(events.into_iter().filter_map(write_event));
        }
    }
}

/// An event for the browser. The last one has a name, by which the page knows that it is the
/// last.
fn write_event(event: ReadEvent) -> Option<String> {
    match event {
        ReadEvent::Ping => Some(": ping\n\n".to_owned()),
        ReadEvent::Step(number, step) => {
            let html = EventFragment::new(&step).render().ok()?;
            let mut text = match html.trim().is_empty() {
                true => String::new(),
                false => stream_event(number, &html),
            };
            if let ("ended", Some(status)) = (step.kind.as_str(), &step.status) {
                let status: String = status.chars().filter(|one| !one.is_control()).collect();
                text.push_str(&format!("event: ended\ndata: {status}\n\n"));
            }
            (!text.is_empty()).then_some(text)
        }
    }
}
