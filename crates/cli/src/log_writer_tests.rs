//! The log's writer before targets that block, fail and refuse.

use std::collections::VecDeque;

use serde_json::Value;

use super::*;

/// What a target does with the next bytes; when nothing is left it takes them.
enum Reaction {
    /// Takes as many.
    Take(usize),
    Fail(io::ErrorKind),
}

/// A target that blocks until it is opened, and then reacts as configured.
#[derive(Clone, Default)]
struct TestTarget(Arc<(Mutex<Inner>, Condvar)>);

#[derive(Default)]
struct Inner {
    closed: bool,
    reactions: VecDeque<Reaction>,
    text: Vec<u8>,
}

impl TestTarget {
    fn new(closed: bool, reactions: impl Into<VecDeque<Reaction>>) -> TestTarget {
        let target = TestTarget::default();
        let mut inner = target.0.0.lock().unwrap();
        inner.closed = closed;
        inner.reactions = reactions.into();
        drop(inner);
        target
    }

    fn open(&self) {
        self.0.0.lock().unwrap().closed = false;
        self.0.1.notify_all();
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.0.lock().unwrap().text.clone()).unwrap()
    }

    /// Flushes until this is in the text.
    fn wait_for(&self, log: &LogWriter, part: &str) -> String {
        let until = Instant::now() + Duration::from_secs(60);
        while !self.text().contains(part) && Instant::now() < until {
            log.flush();
        }
        let text = self.text();
        assert!(text.contains(part), "no {part}");
        text
    }
}

impl Write for TestTarget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (inner, opened) = &*self.0;
        let mut inner = inner.lock().unwrap();
        while inner.closed {
            inner = opened.wait(inner).unwrap();
        }
        let taken = match inner.reactions.pop_front() {
            Some(Reaction::Fail(kind)) => return Err(kind.into()),
            Some(Reaction::Take(count)) => count.min(bytes.len()),
            None => bytes.len(),
        };
        inner.text.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn line(number: usize) -> String {
    format!("{{\"n\":{number},\"pad\":\"{}\"}}\n", "x".repeat(1_000))
}

/// The numbers of the lines, in order, and how many are said to be missing.
fn parse_lines(text: &str) -> (Vec<u64>, u64) {
    let (mut numbers, mut missing) = (Vec::new(), 0);
    for line in text.lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        match value["count"].as_u64() {
            Some(count) => {
                assert_eq!(value["message"], "log lines dropped");
                assert_eq!(value["level"], "WARN");
                missing += count;
            }
            None => numbers.push(value["n"].as_u64().unwrap()),
        }
    }
    (numbers, missing)
}

#[test]
fn a_reader_that_stands_still_stops_nobody_and_what_it_misses_is_counted() {
    const LINES: usize = 4_000;
    let target = TestTarget::new(true, []);
    let log = LogWriter::start(Some(target.clone()));
    // Four times what may wait, and nobody reads: this ends all the same.
    for number in 0..LINES {
        log.push(line(number).as_bytes(), number % 100 == 0);
    }
    target.open();
    log.push(line(LINES).as_bytes(), false);
    // The last line is written or counted by a later batch than those before it.
    let until = Instant::now() + Duration::from_secs(60);
    let (numbers, missing) = loop {
        let (numbers, missing) = parse_lines(&target.wait_for(&log, "log lines dropped"));
        if numbers.len() as u64 + missing > LINES as u64 || Instant::now() > until {
            break (numbers, missing);
        }
        log.flush();
    };
    assert!(numbers.is_sorted(), "lines keep their order");
    assert!(numbers.len() <= 2 * MAX_WAITING_BYTES / line(0).len() + 1);
    assert_eq!(numbers.len() as u64 + missing, LINES as u64 + 1);
}

#[test]
fn a_target_that_fails_costs_lines_that_are_counted_once_it_works_again() {
    // A disk that is full in the middle of a line, and then for two batches.
    let full = || Reaction::Fail(io::ErrorKind::StorageFull);
    let target = TestTarget::new(false, [Reaction::Take(10), full(), full(), full()]);
    let log = LogWriter::start(Some(target.clone()));
    for number in 0..3 {
        log.push(line(number).as_bytes(), true);
        log.flush();
    }
    log.push(line(3).as_bytes(), true);
    let text = target.wait_for(&log, "\"n\":3,");
    let (torn, rest) = text.split_once('\n').unwrap();
    assert_eq!(Some(torn), line(0).get(..10));
    assert_eq!(parse_lines(rest), (vec![3], 3));
    assert!(rest.starts_with("{\"timestamp\""), "the count comes first");
}

#[test]
fn a_target_that_is_gone_for_good_stops_nobody() {
    let log = LogWriter::start(None::<TestTarget>);
    for number in 0..4_000 {
        log.push(line(number).as_bytes(), false);
    }
    log.flush();
}

#[test]
fn a_target_that_takes_nothing_right_now_is_tried_again() {
    let wait = || Reaction::Fail(io::ErrorKind::WouldBlock);
    let stop = Reaction::Fail(io::ErrorKind::Interrupted);
    let target = TestTarget::new(false, [wait(), stop, Reaction::Take(3), wait()]);
    let log = LogWriter::start(Some(target.clone()));
    for number in 0..3 {
        log.push(line(number).as_bytes(), false);
    }
    let text = target.wait_for(&log, "\"n\":2,");
    assert_eq!(parse_lines(&text), (vec![0, 1, 2], 0));
}

#[test]
fn a_flush_writes_everything_that_came_before_it() {
    let target = TestTarget::new(false, []);
    let log = LogWriter::start(Some(target.clone()));
    for number in 0..500 {
        log.push(line(number).as_bytes(), false);
    }
    let text = target.wait_for(&log, "\"n\":499,");
    assert_eq!(parse_lines(&text), ((0..500).collect(), 0));
}
