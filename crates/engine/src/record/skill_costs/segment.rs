//! Pieces of a prompt, in order, and whose they are.

/// A part of what a skill takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CostPart {
    Offered,
    Loaded,
    Used,
}

/// A part of a skill, by its number in the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SkillPart {
    pub(super) skill: usize,
    pub(super) part: CostPart,
}

/// Whose a piece is; none for no skill.
pub(super) type SegmentOwner = Option<SkillPart>;

/// A piece of a prompt, or a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) owner: SegmentOwner,
    /// So small that no sum or product of them overflows.
    pub(super) bytes: u32,
}

impl Segment {
    pub(super) fn new(owner: SegmentOwner, bytes: usize) -> Self {
        Segment {
            owner,
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
        }
    }

    /// A piece that several parts own, in equal shares; no skill's if there are none.
    pub(super) fn shared(owners: &[SkillPart], bytes: usize) -> Vec<Segment> {
        let Some(each) = bytes.checked_div(owners.len()) else {
            return vec![Segment::new(None, bytes)];
        };
        let rest = bytes - each * owners.len();
        let owners = owners.iter().enumerate();
        let shares = owners.map(|(at, owner)| {
            let more = usize::from(at < rest);
            Segment::new(Some(*owner), each + more)
        });
        shares.collect()
    }
}
