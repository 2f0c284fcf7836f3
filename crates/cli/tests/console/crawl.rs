//! Follows every link of the console, as far as one session gets.

use std::collections::{BTreeSet, VecDeque};

use crate::stage::{Answer, Session};

/// More pages than a test's data can have.
const MAX_PAGES: usize = 400;

/// Every address below `/console` that a page links to or loads, with its response. It does not
/// sign out: that is no link.
pub(crate) async fn crawl(session: &Session<'_>, start: &[&str]) -> Vec<(String, Answer)> {
    let mut waiting: VecDeque<String> = start.iter().map(|&path| path.to_owned()).collect();
    let mut seen: BTreeSet<String> = waiting.iter().cloned().collect();
    let mut pages = Vec::new();
    while let Some(path) = waiting.pop_front() {
        let answer = session.get(&path).await;
        if answer.header("content-type").starts_with("text/html") {
            for link in links(&answer.text()) {
                if seen.len() < MAX_PAGES && seen.insert(link.clone()) {
                    waiting.push_back(link);
                }
            }
        }
        pages.push((path, answer));
    }
    assert!(seen.len() < MAX_PAGES, "the pages do not end: {seen:#?}");
    pages
}

/// Addresses of the console in the attributes of a page.
pub(crate) fn links(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for attribute in ["href=\"", "src=\""] {
        for part in page.split(attribute).skip(1) {
            let link = unescape(part.split('"').next().unwrap());
            let link = link.split('#').next().unwrap().to_owned();
            if link.starts_with("/console") && !link.starts_with("/console/assets/") {
                found.push(link);
            }
        }
    }
    found
}

/// What the buttons of a page copy.
pub(crate) fn copied(page: &str) -> Vec<String> {
    let buttons = page.split("data-copy=\"").skip(1);
    buttons
        .map(|part| unescape(part.split('"').next().unwrap()))
        .collect()
}

/// A form of a page that changes something: its address, and a value for each of its fields.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChangeForm {
    pub(crate) action: String,
    pub(crate) fields: Vec<(String, String)>,
}

/// The forms of a page that change something, except signing out.
pub(crate) fn change_forms(page: &str) -> Vec<ChangeForm> {
    let mut found = Vec::new();
    for part in page.split("<form").skip(1) {
        let form = part.split("</form").next().unwrap();
        let head = form.split('>').next().unwrap();
        let action = attribute(head, "action");
        if !head.contains("method=\"post\"") || action == "/console/sign-out" {
            continue;
        }
        let mut fields = Vec::new();
        for control in ["<input", "<textarea", "<select"] {
            for part in form.split(control).skip(1) {
                let head = part.split('>').next().unwrap();
                let value = match attribute(head, "value").as_str() {
                    "" => "x".to_owned(),
                    value => value.to_owned(),
                };
                fields.push((attribute(head, "name"), value));
            }
        }
        found.push(ChangeForm { action, fields });
    }
    found
}

fn attribute(head: &str, name: &str) -> String {
    let found = head.split(&format!(" {name}=\"")).nth(1);
    unescape(
        found
            .and_then(|rest| rest.split('"').next())
            .unwrap_or_default(),
    )
}

/// Text of an attribute.
fn unescape(text: &str) -> String {
    let named = text
        .replace("&quot;", "\"")
        .replace("&lt;", "<")
        .replace("&gt;", ">");
    let numbered = named
        .replace("&#34;", "\"")
        .replace("&#39;", "'")
        .replace("&#60;", "<")
        .replace("&#62;", ">");
    numbered.replace("&#38;", "&").replace("&amp;", "&")
}
