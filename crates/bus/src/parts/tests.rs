//! Payloads come out as they went in, or not at all, and nothing is held for ever.

use std::sync::Arc;

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use tokio::time::Instant;

use super::assembler::{INCOMPLETE_FOR, MAX_BYTES};
use super::header::{PartHeader, PayloadId, parse_header};
use super::*;
use crate::message::BusMessage;
use crate::statistics::BusCounters;

struct Receiver {
    assembler: Assembler,
    budget: Arc<PartsBudget>,
    counters: Arc<BusCounters>,
    now: Instant,
}

impl Receiver {
    fn new() -> Self {
        let (budget, counters) = (Arc::<PartsBudget>::default(), Arc::<BusCounters>::default());
        Receiver {
            assembler: Assembler::new(Arc::clone(&budget), Arc::clone(&counters)),
            budget,
            counters,
            now: Instant::now(),
        }
    }

    fn add(&mut self, header: &str, part: &Bytes) -> Option<Bytes> {
        let message = BusMessage {
            subject: "a".to_owned(),
            reply: None,
            payload: part.clone(),
            no_responders: false,
        };
        let complete = self.assembler.add(header, message, self.now);
        assert!(self.assembler.held() <= MAX_BYTES);
        assert_eq!(self.assembler.held(), self.budget.held());
        complete.map(|message| message.payload)
    }

    fn dropped(&self) -> u64 {
        self.counters.read(0).dropped
    }
}

fn header(sender: u64, number: u64, index: u32, count: u32, total: usize) -> String {
    let id = PayloadId { sender, number };
    let header = PartHeader {
        id,
        index,
        count,
        total,
    };
    header.to_string()
}

/// What happens to a part on its way.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Arrives,
    ArrivesTwice,
    IsLost,
}

fn fates() -> impl Strategy<Value = Fate> {
    prop_oneof![
        12 => Just(Fate::Arrives),
        2 => Just(Fate::ArrivesTwice),
        1 => Just(Fate::IsLost),
    ]
}

proptest! {
    #[test]
    fn a_payload_whose_parts_all_arrive_is_delivered_once_and_no_other_is(
        payloads in vec(vec(any::<u8>(), 11..200), 1..8),
        part_bytes in 1_usize..11,
        fates in vec(fates(), 200),
        order in vec(any::<u32>(), 400),
        foreign in vec((".{0,40}", vec(any::<u8>(), 0..20)), 0..20),
    ) {
        let splitter = Splitter::new();
        let mut fates = fates.into_iter().cycle();
        let mut arriving: Vec<(String, Bytes)> = Vec::new();
        let mut expected: Vec<Bytes> = Vec::new();
        for payload in payloads {
            let payload = Bytes::from(payload);
            let mut is_whole = true;
            for (header, part) in splitter.split(&payload, part_bytes) {
                match fates.next().unwrap_or(Fate::Arrives) {
                    Fate::Arrives => arriving.push((header, part)),
                    Fate::ArrivesTwice => {
                        arriving.push((header.clone(), part.clone()));
                        arriving.push((header, part));
                    }
                    Fate::IsLost => is_whole = false,
                }
            }
            if is_whole {
                expected.push(payload);
            }
        }
        let foreign = foreign.into_iter();
        arriving.extend(foreign.map(|(header, part)| (header, part.into())));
        let mut order = order.into_iter().cycle();
        arriving.sort_by_cached_key(|_| order.next());

        let mut receiver = Receiver::new();
        let mut delivered: Vec<Bytes> = Vec::new();
        for (header, part) in &arriving {
            delivered.extend(receiver.add(header, part));
        }
        delivered.sort();
        expected.sort();
        prop_assert_eq!(delivered, expected);
        receiver.assembler.expire(receiver.now + INCOMPLETE_FOR);
        prop_assert_eq!(receiver.assembler.held(), 0);
    }

    #[test]
    fn any_text_as_a_header_is_read_or_refused(text in "[0-9a-f ]{0,60}|.{0,60}") {
        if let Some(header) = parse_header(&text) {
            prop_assert_eq!(parse_header(&header.to_string()), Some(header));
        }
    }
}

#[test]
fn the_parts_are_slices_of_the_payload() {
    let payload = Bytes::from(vec![7; 2 * MIN_PART_BYTES + 1]);
    let parts = Splitter::new().split(&payload, MIN_PART_BYTES);
    let sizes: Vec<usize> = parts.map(|(_, part)| part.len()).collect();
    assert_eq!(sizes, [MIN_PART_BYTES, MIN_PART_BYTES, 1]);
}

#[test]
fn a_header_that_claims_the_impossible_is_refused() {
    let good = header(1, 2, 0, 2, 10);
    assert_eq!(good, "1 1 2 0 2 10");
    parse_header(&good).unwrap();
    for claim in [
        "",
        "2 1 2 0 2 10",
        "1 1 2 2 2 10",
        "1 1 2 0 1 10",
        "1 1 2 0 1025 2000",
        "1 1 2 0 2 1",
        "1 1 2 0 2 16777217",
        "1 1 2 0 2 10 x",
        "1 1 2 -1 2 10",
        "1 z 2 0 2 10",
        "1 1 2 0 2",
    ] {
        assert_eq!(parse_header(claim), None, "{claim}");
    }
}

#[test]
fn parts_that_contradict_each_other_drop_their_payload() {
    let part = Bytes::from_static(b"abcd");
    let contradictions = [
        header(1, 1, 1, 3, 8),
        header(1, 1, 1, 2, 9),
        // More bytes than the payload has.
        header(1, 1, 1, 2, 5),
    ];
    for contradiction in contradictions {
        let mut receiver = Receiver::new();
        assert_eq!(receiver.add(&header(1, 1, 0, 2, 8), &part), None);
        assert_eq!(receiver.add(&contradiction, &part), None);
        assert_eq!(receiver.assembler.held(), 0, "{contradiction}");
        assert_eq!(receiver.dropped(), 1);
    }
    let mut receiver = Receiver::new();
    receiver.add(&header(1, 1, 0, 2, 9), &part);
    assert_eq!(receiver.add(&header(1, 1, 1, 2, 9), &part), None);
    assert_eq!((receiver.assembler.held(), receiver.dropped()), (0, 1));
}

#[test]
fn what_stays_incomplete_is_dropped_after_a_time() {
    let mut receiver = Receiver::new();
    receiver.add(&header(1, 1, 0, 2, 8), &Bytes::from_static(b"abcd"));
    let expiry = receiver.assembler.next_expiry().unwrap();
    assert_eq!(expiry, receiver.now + INCOMPLETE_FOR);
    receiver.assembler.expire(receiver.now);
    assert_eq!(receiver.dropped(), 0);
    receiver.assembler.expire(expiry);
    assert_eq!((receiver.assembler.held(), receiver.dropped()), (0, 1));
    assert_eq!(receiver.assembler.next_expiry(), None);
}

#[test]
fn a_sender_that_completes_nothing_does_not_stop_another() {
    let mut receiver = Receiver::new();
    let part = Bytes::from(vec![1; 512 << 10]);
    let total = 16 << 20;
    // One sender at its limits, under many names.
    for number in 0..2_000 {
        assert_eq!(
            receiver.add(&header(number % 50, number, 0, 32, total), &part),
            None
        );
    }
    let payload = Bytes::from(vec![2; total]);
    let parts = Splitter::new().split(&payload, 512 << 10);
    let mut complete = None;
    for (header, part) in parts {
        complete = complete.or(receiver.add(&header, &part));
        // The others go on meanwhile.
        receiver.add("1 5 ffffff 0 32 16777216", &part);
    }
    assert_eq!(complete.as_ref(), Some(&payload));
    drop(receiver.assembler);
    assert_eq!(receiver.budget.held(), 0);
}
