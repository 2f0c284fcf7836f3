//! What each skill took of a run. Parts are measured, never estimated twice: with what no skill
//! took, they are the run's totals exactly.
//!
//! | module | owns |
//! |---|---|
//! | `segment` | pieces of a prompt, in order, and whose they are |
//! | `divide` | dividing a turn's tokens by these pieces, in whole tokens |
//! | `price` | the cost of the parts of a turn |
//! | `totals` | what all turns and calls so far took |
//! | `prompt_bytes` | the prompt of the next turn, as lengths |
//! | `lengths` | lengths of blocks and tools |
//! | `observe` | what the run loop reports: prompt, turns, calls, results |
//! | `summary` | the same as JSON, for the record of the run |
//!
//! # The rules
//!
//! A prompt consists of pieces, in the order in which providers cache them: tools, system prompt,
//! messages. Each piece has an owner: a part of a skill, or no skill.
//!
//! | part | pieces |
//! |---|---|
//! | offered | the skill's line in the catalogue, in notes and in results of a search |
//! | loaded | its instructions and files, the calls that read them, and its own tools |
//! | used | calls that ran something of it, and their results |
//!
//! - **Input** of a turn is divided by the bytes of the pieces. The tokens that were read from a
//!   cache are the beginning of the prompt, those written to it follow, and the rest comes last,
//!   because caches hold beginnings; so each kind is divided by the pieces in its own stretch.
//!   Where the provider places something else before our pieces, the borders are off by that.
//! - **Output** of a turn with calls is divided by the bytes of the calls: those of a skill are
//!   the skill's, all others no skill's. Output of a turn without calls is no skill's.
//! - **Time in the sandbox** belongs to the skills of the call. A command line is about the skills
//!   whose folders it names, in equal shares; any other is no skill's.
//! - Each total is divided in whole units, and what is left by rounding goes to the largest
//!   remainders. Money is rounded down, turn by turn at the prices of the turn, and what is left is
//!   no skill's; so is what a turn cost besides its tokens, such as web searches.
//! - An image or document counts as [`lengths::MEDIA_BYTES`] bytes at most: tokens of media do not
//!   follow from their bytes.
//! - A skill that another one requires is read in the result of the other, and is paid by it.
//! - A skill was *used* in a run if the run ran something of it, or read a file of it besides its
//!   instructions. It was loaded *in vain* if it was loaded by the run, has more than instructions,
//!   and was not used: reading is all the use that mere instructions have.
//!
//! Only lengths are kept, never texts. Nothing here knows how a run is stored.

mod divide;
mod lengths;
mod observe;
mod price;
mod prompt_bytes;
mod segment;
mod summary;
mod totals;

#[cfg(test)]
mod property_tests;

pub(crate) use observe::CostObserver;
