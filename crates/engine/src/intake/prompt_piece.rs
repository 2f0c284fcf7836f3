//! The part of the system prompt about skills, with whose each piece of it is. Costs are divided
//! by the pieces; the text is what a model reads.

/// Whose a piece of the prompt is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PieceOwner {
    /// Nobody's: it is about skills in general.
    NoSkill,
    /// The line of a skill in the catalogue.
    Listed(String),
    /// The instructions of a skill.
    Full(String),
    /// The line of a skill that routing offers, by its place among those.
    Routed(usize),
}

/// A piece of the prompt.
#[derive(Debug, Clone)]
pub(crate) struct PromptPiece {
    pub(crate) owner: PieceOwner,
    pub(crate) text: String,
}

/// The text, and the lengths of its pieces.
#[derive(Debug, Clone)]
pub(crate) struct SkillsPrompt {
    pub(crate) text: String,
    pub(crate) pieces: Vec<(PieceOwner, usize)>,
}

impl PromptPiece {
    pub(crate) fn new(owner: PieceOwner, text: impl Into<String>) -> Self {
        PromptPiece {
            owner,
            text: text.into(),
        }
    }

    pub(crate) fn text(text: impl Into<String>) -> Self {
        PromptPiece::new(PieceOwner::NoSkill, text)
    }

    /// Adds a separator to all but the last.
    pub(crate) fn join(mut pieces: Vec<PromptPiece>, separator: &str) -> Vec<PromptPiece> {
        let last = pieces.len().saturating_sub(1);
        for piece in pieces.iter_mut().take(last) {
            piece.text.push_str(separator);
        }
        pieces
    }
}

impl SkillsPrompt {
    /// The pieces as one text, which is then changed as a whole: that may alter a few bytes.
    pub(crate) fn new(pieces: &[PromptPiece], change: impl FnOnce(&str) -> String) -> Self {
        let text: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
        let pieces = pieces
            .iter()
            .map(|piece| (piece.owner.clone(), piece.text.len()));
        SkillsPrompt {
            text: change(&text),
            pieces: pieces.collect(),
        }
    }
}
