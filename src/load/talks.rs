//! Conversations under load. What arrives is a person: the first turn has its scheduled time, and each further one comes when the answer
//! before it has ended and was thought about. It holds what was said so far, the server's own answers among it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rand::RngExt;
use serde_json::Value;

use super::body::BodyForm;
use super::error::LoadError;
use super::feed::StopRule;
use super::json::read;
use super::kitchen::Rendered;
use super::seeds::think_rng;
use super::sse::SseDecoder;
use crate::data::{Conversation, Conversations};

/// Everything that is to be said.
#[derive(Debug)]
pub(super) struct Talks {
    all: Arc<[Conversation]>,
    form: BodyForm,
    think: (Duration, Duration),
    recorded: bool,
    seed: u64,
    pub rule: StopRule,
    /// Conversations of a load whose requests are counted, and the turns of the last of them.
    counted: Option<(u64, usize)>,
    /// First turns, ready to be sent.
    first: Vec<Rendered>,
    begun: AtomicU64,
    sent: AtomicU64,
}

/// One message as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    pub role: &'static str,
    pub content: String,
}

/// What was said so far, and the request that says it.
#[derive(Debug)]
pub(super) struct Spoken {
    history: Vec<Said>,
    tokens: u32,
    pub rendered: Rendered,
}

impl Talks {
    /// Gets the conversations of a load ready. Bodies are rendered here: call it where that holds nobody up.
    pub(super) fn new(
        all: Arc<[Conversation]>,
        how: &Conversations,
        form: BodyForm,
        seed: u64,
        rule: StopRule,
    ) -> Result<Self, LoadError> {
        let counted = (rule.min_time == Duration::ZERO).then(|| counted(&all, rule.min_requests));
        let mut talks = Self {
            think: (*how.think.start(), *how.think.end()),
            recorded: how.recorded,
            first: Vec::new(),
            begun: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            all,
            form,
            seed,
            rule,
            counted,
        };
        let some = counted
            .map_or(usize::MAX, |(conversations, _)| usize::try_from(conversations).unwrap_or(usize::MAX));
        let first =
            talks.all.iter().take(some).map(|talk| talks.spoken(talk, 0, Vec::new(), 0).map(|s| s.rendered));
        talks.first = first.collect::<Result<_, _>>()?;
        Ok(talks)
    }

    /// How many conversations there are, where that is known.
    pub(super) fn planned(&self) -> Option<u64> {
        self.counted.map(|(conversations, _)| conversations)
    }

    /// How many requests there are, where that is known.
    pub(super) fn requests(&self) -> Option<u64> {
        self.counted.map(|_| self.rule.min_requests)
    }

    /// The number of the next conversation that a client of a closed loop begins.
    pub(super) fn begin(&self, elapsed: Duration) -> Option<u64> {
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        let wanted = match self.counted {
            Some((conversations, _)) => number < conversations,
            None => self.rule.goes_on(self.sent.load(Ordering::Relaxed), elapsed),
        };
        wanted.then_some(number)
    }

    /// The number of the next request, if there is to be one.
    pub(super) fn send(&self, elapsed: Duration) -> Option<u64> {
        let wanted = self.counted.is_some() || self.rule.goes_on(self.sent.load(Ordering::Relaxed), elapsed);
        wanted.then(|| self.sent.fetch_add(1, Ordering::Relaxed))
    }

    /// The first turn of a conversation; from the beginning again where there are too few.
    pub(super) fn first(&self, number: u64) -> Option<Spoken> {
        let place = self.place(number);
        let turn = self.all.get(place)?.turns.first()?;
        Some(Spoken {
            history: said(&turn.messages),
            tokens: turn.tokens,
            rendered: self.first.get(place)?.clone(),
        })
    }

    /// Whether a conversation has a turn of this number, counting from 0.
    pub(super) fn has(&self, number: u64, turn: usize) -> bool {
        let cut =
            self.counted.filter(|(conversations, _)| number + 1 == *conversations).map(|(_, turns)| turns);
        let turns = self.all.get(self.place(number)).map_or(0, |talk| talk.turns.len());
        turn < turns.min(cut.unwrap_or(usize::MAX))
    }

    /// The turn after `before`, to which the server answered `body` of so many tokens.
    pub(super) fn next(
        &self,
        number: u64,
        turn: usize,
        before: Spoken,
        body: &[u8],
        tokens: u32,
    ) -> Result<Spoken, LoadError> {
        let nothing = || LoadError::Spec("the conversation has ended".to_owned());
        let talk = self.all.get(self.place(number)).ok_or_else(nothing)?;
        let asked = talk.turns.get(turn - 1).ok_or_else(nothing)?;
        let (content, counted) = match &asked.answer {
            Some(answer) if self.recorded => (answer.clone(), asked.answer_tokens),
            _ => (text_of(body), tokens),
        };
        let Spoken { mut history, tokens, .. } = before;
        history.push(Said { role: "assistant", content });
        self.spoken(talk, turn, history, tokens.saturating_add(counted))
    }

    /// How long is thought before this turn: the same whenever it is asked.
    pub(super) fn think(&self, number: u64, turn: usize) -> Duration {
        let (from, to) = self.think;
        if from == to {
            return from;
        }
        let mut rng = think_rng(self.seed, number);
        let share = (0..turn).map(|_| rng.random::<f64>()).last().unwrap_or(0.0);
        from + to.saturating_sub(from).mul_f64(share)
    }

    fn place(&self, number: u64) -> usize {
        usize::try_from(number % self.all.len().max(1) as u64).unwrap_or(0)
    }

    fn spoken(
        &self,
        talk: &Conversation,
        turn: usize,
        mut history: Vec<Said>,
        tokens: u32,
    ) -> Result<Spoken, LoadError> {
        let Some(asks) = talk.turns.get(turn) else {
            return Err(LoadError::Spec("the conversation has ended".to_owned()));
        };
        history.extend(said(&asks.messages));
        let tokens = tokens.saturating_add(asks.tokens);
        let body = self.form.talk(&history, asks.output);
        let body = body.map_err(|e| LoadError::Spec(format!("a body that is no json: {e}")))?;
        let output_tokens = self.form.asked(asks.output);
        let rendered = Rendered { body: body.into(), input_tokens: tokens, output_tokens };
        Ok(Spoken { history, tokens, rendered })
    }
}

fn said(messages: &[crate::data::Message]) -> Vec<Said> {
    messages.iter().map(|m| Said { role: m.role, content: m.content.clone() }).collect()
}

/// How many conversations have so many turns in all, and how many of the last are taken.
fn counted(all: &[Conversation], requests: u64) -> (u64, usize) {
    let in_all: u64 = all.iter().map(|talk| talk.turns.len() as u64).sum();
    let rounds = requests.checked_div(in_all).unwrap_or(0);
    let (mut conversations, mut left) = (rounds * all.len() as u64, requests - rounds * in_all);
    let mut of_last = usize::MAX;
    for talk in all {
        if left == 0 || in_all == 0 {
            break;
        }
        of_last = usize::try_from(left).unwrap_or(usize::MAX).min(talk.turns.len());
        left -= of_last as u64;
        conversations += 1;
    }
    (conversations, of_last)
}

/// What an assistant said: the content of an answer, streamed or not. What it thought aloud is not said again, as chat templates leave it
/// out too.
fn text_of(body: &[u8]) -> String {
    let mut text = String::new();
    let mut add = |data: &[u8]| {
        let Ok(event) = read::<Value>(data) else { return };
        let choice = &event["choices"][0];
        let content = ["delta", "message"].iter().find_map(|at| choice[*at]["content"].as_str());
        text.push_str(content.unwrap_or_default());
    };
    if body.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{') {
        add(body);
        return text;
    }
    let mut decoder = SseDecoder::default();
    // what broke the stream has failed the request already
    let _ = decoder.feed(body, &mut |event| add(event.data));
    text
}

#[cfg(test)]
mod tests {
    use super::super::spec::LoadSpec;
    use super::*;
    use crate::data::{Message, Turn};

    fn conversation(turns: usize) -> Conversation {
        let message = |n: usize| Message { role: "user", content: format!("q{n}") };
        let turn = |n| Turn {
            messages: vec![message(n)],
            tokens: 10,
            answer: Some(format!("a{n}")),
            answer_tokens: 3,
            output: 5,
        };
        Conversation { turns: (0..turns).map(turn).collect(), beginning: None }
    }

    fn talks(turns: &[usize], requests: u64, recorded: bool, think: [u64; 2]) -> Talks {
        let all: Arc<[Conversation]> = turns.iter().map(|n| conversation(*n)).collect();
        let [from, to] = think.map(Duration::from_millis);
        let how = Conversations {
            file: "f".into(),
            seed: 1,
            count: None,
            output: None,
            think: from..=to,
            recorded,
        };
        let rule = StopRule { min_requests: requests, min_time: Duration::ZERO, max_time: Duration::MAX };
        let form = BodyForm::of(&LoadSpec::new("http://h", "m"));
        Talks::new(all, &how, form, 4, rule).expect("sound")
    }

    #[test]
    fn counted_requests_are_whole_conversations_and_a_part_of_the_last() {
        let all: Vec<Conversation> = [2, 3, 1].map(conversation).to_vec();
        let of = |requests| counted(&all, requests);
        assert_eq!((of(1), of(2), of(4), of(6)), ((1, 1), (1, 2), (2, 2), (3, usize::MAX)));
        assert_eq!((of(7), of(12), of(15)), ((4, 1), (6, usize::MAX), (8, 1)));
        let talks = talks(&[2, 3, 1], 4, false, [0, 0]);
        let has = |number| (0..5).take_while(|turn| talks.has(number, *turn)).count();
        assert_eq!((has(0), has(1)), (2, 2));
        assert_eq!((talks.begin(Duration::ZERO), talks.begin(Duration::ZERO)), (Some(0), Some(1)));
        assert_eq!(talks.begin(Duration::ZERO), None);
    }

    const STREAM: &str = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n\
        data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n\
        data: {\"choices\":[{\"delta\":{\"content\":\"x \\\"y\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\" z\"}}]}\n\n\
        data: {\"choices\":[],\"usage\":{\"completion_tokens\":9}}\n\ndata: [DONE]\n\n";

    #[test]
    fn the_next_turn_says_all_that_was_said() {
        for (recorded, answer, tokens) in [(false, "x \\\"y z", 29), (true, "a0", 23)] {
            let talks = talks(&[2], 2, recorded, [0, 0]);
            let first = talks.first(0).expect("a turn");
            let body = |s: &Spoken| String::from_utf8(s.rendered.body.to_vec()).expect("text");
            assert!(body(&first).contains(r#""messages":[{"role":"user","content":"q0"}],"max_tokens":5"#));
            assert_eq!(first.rendered.input_tokens, 10);
            let next = talks.next(0, 1, first, STREAM.as_bytes(), 9).expect("a turn");
            let wanted = format!(
                r#""messages":[{{"role":"user","content":"q0"}},{{"role":"assistant","content":"{answer}"}},{{"role":"user","content":"q1"}}]"#
            );
            assert!(body(&next).contains(&wanted), "{}", body(&next));
            assert_eq!(next.rendered.input_tokens, tokens);
        }
        let whole = br#" {"choices":[{"message":{"role":"assistant","content":"all"}}]}"#;
        assert_eq!(text_of(whole), "all");
    }

    #[test]
    fn thoughts_are_drawn_once_and_lie_in_their_range() {
        let one = talks(&[9], 9, false, [20, 40]);
        let two = talks(&[9], 9, false, [20, 40]);
        let ms = |talks: &Talks, number| -> Vec<Duration> {
            (1..9).map(|turn| talks.think(number, turn)).collect()
        };
        assert_eq!(ms(&one, 0), ms(&two, 0));
        assert_ne!(ms(&one, 0), ms(&one, 1));
        let range = Duration::from_millis(20)..=Duration::from_millis(40);
        assert!(ms(&one, 0).iter().all(|t| range.contains(t)));
        assert!(ms(&one, 0).windows(2).any(|pair| pair[0] != pair[1]));
        assert_eq!(talks(&[2], 2, false, [7, 7]).think(0, 1), Duration::from_millis(7));
    }
}
