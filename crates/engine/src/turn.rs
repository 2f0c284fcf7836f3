//! One turn of the model: its answer passed on as it comes, and kept as it was.
//!
//! What the client sees differs in three things: indexes go on where the last turn
//! ended, calls of our tools are told as a server's, and the calls of Chat and Gemini
//! clients get ids that lead back to what does not come back otherwise.

use prowess_provider::Answer;
use prowess_toolbox::Toolbox;
use prowess_wire::neutral::{
    ApiError, Block, Collector, Content, Delta, Response, StreamEvent, replay,
};
use prowess_wire::{Client, Dialect};
use serde_json::Value;

use crate::hidden;
use crate::ids;
use crate::native::Notes;
use crate::offer::Names;
use crate::restore::Call;
use crate::tell::Teller;

/// What came of a turn.
#[derive(Debug)]
pub(crate) struct Spoken {
    /// The model's answer, our ids in it.
    pub(crate) response: Response,
    /// Calls of our tools, in order.
    pub(crate) ours: Vec<Call>,
    /// The ids of the calls of the client's tools.
    pub(crate) theirs: Vec<String>,
}

/// Listens to a turn to its end, and tells the client of it.
pub(crate) async fn listen(
    answer: Answer,
    toolbox: &Toolbox,
    names: &Names,
    notes: &Notes<'_>,
    teller: &mut Teller,
) -> Result<Spoken, ApiError> {
    let mut listener = Listener {
        toolbox,
        names,
        notes,
        separate: teller.spoke && matches!(teller.client, Client::Chat | Client::Gemini),
        teller,
        collector: Collector::new(Dialect::Messages),
        blocks: 0,
        renamed: Vec::new(),
        open: Open::Nothing,
        ours: Vec::new(),
        theirs: Vec::new(),
    };
    match answer {
        Answer::Whole(response) => {
            for event in replay(*response) {
                listener.hear(event).await?;
            }
        }
        Answer::Stream(mut events) => {
            while let Some(event) = events.next().await {
                listener.hear(event).await?;
            }
        }
    }
    listener.finish()
}

struct Listener<'a> {
    toolbox: &'a Toolbox,
    names: &'a Names,
    notes: &'a Notes<'a>,
    teller: &'a mut Teller,
    collector: Collector,
    blocks: usize,
    /// Ids the model gave, and where ours stand instead.
    renamed: Vec<(usize, String)>,
    open: Open,
    ours: Vec<Call>,
    theirs: Vec<String>,
    /// Whether the next text is to begin on a line of its own: on Chat the texts of all
    /// turns are one, and Gemini's SDKs make one of them.
    separate: bool,
}

/// The block being told.
enum Open {
    Nothing,
    /// Told to the client as it comes, at this place.
    Told(usize),
    /// A call of ours, told when it is whole.
    Ours {
        call: Call,
        json: String,
    },
}

impl Listener<'_> {
    async fn hear(&mut self, event: StreamEvent) -> Result<(), ApiError> {
        self.collector.push(event.clone())?;
        match event {
            StreamEvent::MessageStart {
                id,
                model,
                usage,
                rest,
            } => self.teller.begin(id, model, usage, rest).await,
            StreamEvent::BlockStart { block, .. } => self.start(block).await,
            StreamEvent::BlockDelta { delta, .. } => self.grow(delta).await,
            StreamEvent::BlockStop { .. } => self.stop().await,
            StreamEvent::Ping | StreamEvent::Other { .. } => self.teller.tell(event).await,
            // One end is told, after the last turn.
            StreamEvent::MessageDelta { .. } | StreamEvent::MessageStop | StreamEvent::Error(_) => {
            }
        }
        Ok(())
    }

    async fn start(&mut self, mut block: Block) {
        let place = self.blocks;
        self.blocks += 1;
        if let Content::ToolUse { id, name, input } = &mut block.content {
            if self.toolbox.owns(name) {
                let call = Call {
                    id: ids::server_call(),
                    name: name.clone(),
                    input: input.clone(),
                    told: false,
                };
                self.renamed.push((place, call.id.clone()));
                let json = String::new();
                self.open = Open::Ours { call, json };
                return;
            }
            if hidden::is_kept(self.teller.client) {
                *id = ids::chat_call();
                self.renamed.push((place, id.clone()));
            }
            self.theirs.push(id.clone());
        }
        self.notes.note(&block.content).await;
        self.open = Open::Told(self.teller.start(block).await);
    }

    async fn grow(&mut self, delta: Delta) {
        match (&mut self.open, delta) {
            (Open::Ours { json, .. }, Delta::InputJson(more)) => json.push_str(&more),
            (Open::Told(index), delta) => {
                let index = *index;
                if let Delta::Text(text) = &delta
                    && !text.is_empty()
                {
                    self.teller.spoke = true;
                    if std::mem::take(&mut self.separate) {
                        let delta = Delta::Text("\n\n".to_owned());
                        self.teller
                            .tell(StreamEvent::BlockDelta { index, delta })
                            .await;
                    }
                }
                self.teller
                    .tell(StreamEvent::BlockDelta { index, delta })
                    .await;
            }
            _ => {}
        }
    }

    async fn stop(&mut self) {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Told(index) => self.teller.tell(StreamEvent::BlockStop { index }).await,
            Open::Ours { mut call, json } => {
                if !json.is_empty() {
                    call.input = serde_json::from_str(&json).unwrap_or(Value::String(json));
                }
                if let Some((tool, input)) = self.names.told(&call) {
                    self.teller.call(&call.id, tool, &input).await;
                    call.told = true;
                }
                self.ours.push(call);
            }
            Open::Nothing => {}
        }
    }

    fn finish(self) -> Result<Spoken, ApiError> {
        let mut response = self.collector.finish()?;
        for (place, new) in self.renamed {
            if let Some(Block {
                content: Content::ToolUse { id, .. },
                ..
            }) = response.content.get_mut(place)
            {
                *id = new;
            }
        }
        Ok(Spoken {
            response,
            ours: self.ours,
            theirs: self.theirs,
        })
    }
}
