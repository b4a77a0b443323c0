//! The grammar page is executable: sentences made from its block are parsed, and its keywords are those of the parser.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use perflab::lang::diag::Sink;
use perflab::lang::source::FileId;
use perflab::lang::syntax::parse;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use regex::Regex;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn sentences_of_the_grammar_page_are_understood() {
    let grammar = Grammar::of_the_page();
    let mut wrong = Vec::new();
    for seed in 0..600 {
        let mut writer = Writer::new(&grammar, seed);
        writer.rule("file", 0);
        let text = writer.text;
        let mut sink = Sink::default();
        parse(FileId(0), &text, &mut sink);
        if let Some(d) = sink.into_sorted().first() {
            wrong.push(format!("{} {} at {:?} in\n{text}", d.code.id(), d.message, d.span.range()));
        }
    }
    assert!(wrong.is_empty(), "{} sentences, the first: {}", wrong.len(), wrong[0]);
}

#[test]
fn every_keyword_of_the_parser_is_on_the_grammar_page() {
    let pest = read("grammar/plab.pest");
    let keyword = Regex::new(r#"(?m)^k_\w+\s*= @\{ "(\w+)" ~ !id \}"#).expect("a pattern");
    let parsers: BTreeSet<&str> =
        keyword.captures_iter(&pest).map(|c| c.get(1).expect("a word").as_str()).collect();
    let page = block();
    let quoted = Regex::new(r#""([a-z_]+)""#).expect("a pattern");
    let pages: BTreeSet<&str> =
        quoted.captures_iter(&page).map(|c| c.get(1).expect("a word").as_str()).collect();
    assert!(parsers.len() > 50, "the grammar has keywords");
    assert_eq!(parsers, pages);
}

// ---- the page's block ----------------------------------------------------------------------------------------------

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(path)).expect("it is there")
}

fn block() -> String {
    let page = read("docs/grammar.md");
    let from = page.find("```ebnf\n").expect("a block") + "```ebnf\n".len();
    let to = from + page[from..].find("```").expect("an end");
    page[from..to].to_owned()
}

#[derive(Debug)]
enum Node {
    Literal(String),
    Rule(String),
    Sequence(Vec<Node>),
    Choice(Vec<Node>),
    /// how often at least and at most
    Repeat(Box<Node>, usize, usize),
}

struct Grammar {
    rules: BTreeMap<String, Node>,
}

impl Grammar {
    fn of_the_page() -> Self {
        let text = block();
        let token = Regex::new(r#""[^"]*"|[A-Za-z_]+|[()|?*+=]"#).expect("a pattern");
        let tokens: Vec<&str> = token.find_iter(&text).map(|m| m.as_str()).collect();
        let mut reader = Reader { tokens, at: 0 };
        let mut rules = BTreeMap::new();
        while reader.at < reader.tokens.len() {
            let name = reader.next().to_owned();
            assert_eq!(reader.next(), "=", "a rule begins with its name: {name}");
            rules.insert(name, reader.choice());
        }
        assert!(rules.contains_key("file"), "the block begins with a file");
        Self { rules }
    }
}

struct Reader<'a> {
    tokens: Vec<&'a str>,
    at: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> &'a str {
        self.at += 1;
        self.tokens[self.at - 1]
    }

    fn peek(&self, ahead: usize) -> &'a str {
        self.tokens.get(self.at + ahead).copied().unwrap_or(")")
    }

    fn choice(&mut self) -> Node {
        let mut options = vec![self.sequence()];
        while self.peek(0) == "|" {
            self.at += 1;
            options.push(self.sequence());
        }
        if options.len() == 1 { options.remove(0) } else { Node::Choice(options) }
    }

    fn sequence(&mut self) -> Node {
        let mut parts = Vec::new();
        // a name and `=` begin the next rule
        while !matches!(self.peek(0), "|" | ")") && self.peek(1) != "=" {
            parts.push(self.repeated());
        }
        Node::Sequence(parts)
    }

    fn repeated(&mut self) -> Node {
        let node = match self.next() {
            "(" => {
                let inner = self.choice();
                assert_eq!(self.next(), ")", "a group is closed");
                inner
            }
            t if t.starts_with('"') => Node::Literal(t.trim_matches('"').to_owned()),
            name => Node::Rule(name.to_owned()),
        };
        let (least, most) = match self.peek(0) {
            "?" => (0, 1),
            "*" => (0, 2),
            "+" => (1, 2),
            _ => return node,
        };
        self.at += 1;
        Node::Repeat(Box::new(node), least, most)
    }
}

// ---- sentences -----------------------------------------------------------------------------------------------------

/// Writes one sentence: every choice is drawn, and from a certain depth on nothing is repeated.
struct Writer<'a> {
    grammar: &'a Grammar,
    draw: ChaCha8Rng,
    text: String,
    names: usize,
    /// the last token takes a `=` without a space
    glued: bool,
}

const CALM: usize = 8;
const DEEP: usize = 30;

impl<'a> Writer<'a> {
    fn new(grammar: &'a Grammar, seed: u64) -> Self {
        Self { grammar, draw: ChaCha8Rng::seed_from_u64(seed), text: String::new(), names: 0, glued: false }
    }

    fn rule(&mut self, name: &str, depth: usize) {
        let one = |draw: &mut ChaCha8Rng, of: &[&str]| of[draw.random_range(0..of.len())].to_owned();
        let draw = &mut self.draw;
        let token = match name {
            "NL" => return self.text.push('\n'),
            "NAME" => {
                self.names += 1;
                one(draw, &["chat", "seqs_", "x", "engine_", "vary"]) + &self.names.to_string()
            }
            "STRING" => {
                one(draw, &[r#""""#, r#""a title, [odd] {{x}} # no comment""#, r#""\"quoted\" \\d+""#])
            }
            "NUMBER" => one(draw, &["1", "32Ki", "0.5%", "1000/s", "2.99usd/h", "1e3", "500ms"]),
            "BOOL" => one(draw, &["true", "false"]),
            "FLAG" => one(draw, &["--max-num-seqs", "-tp", "--a.b_c", "--max_seq_len"]),
            "ENV" => one(draw, &["A", "VLLM_USE_DEEP_GEMM"]),
            "WORD" => one(draw, &["256", "fp8_e4m3", "0.90", "a/b:c", "-1"]),
            "JSON" => one(draw, &["{}", r#"{"a": [1, {"b": null}], "c": "x"}"#, "{\"a\":\n  1.5e3 }"]),
            _ => {
                let node = self.grammar.rules.get(name).unwrap_or_else(|| panic!("no rule {name}"));
                return self.node(node, depth + 1);
            }
        };
        self.token(&token, matches!(name, "FLAG" | "ENV"));
    }

    fn token(&mut self, token: &str, takes_value: bool) {
        let joined = self.glued && (token == "=" || self.text.ends_with('='));
        if !joined && !self.text.ends_with('\n') && !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(token);
        self.glued = takes_value || joined && token == "=";
    }

    fn node(&mut self, node: &'a Node, depth: usize) {
        match node {
            // the library's name is one word
            Node::Literal(t) if t == "std/" => {
                self.token("std/engines", false);
                self.text.push_str("_x");
            }
            Node::Literal(t) => self.token(t, false),
            Node::Rule(name) => self.rule(name, depth),
            Node::Sequence(parts) => {
                let library = matches!(parts.first(), Some(Node::Literal(t)) if t == "std/");
                parts.iter().take(if library { 1 } else { parts.len() }).for_each(|p| self.node(p, depth));
            }
            Node::Choice(options) => {
                // the later options of an operand end, the first one nests
                let from = usize::from(depth > DEEP && matches!(options[0], Node::Sequence(_)));
                let i = self.draw.random_range(from..options.len());
                self.node(&options[i], depth);
            }
            Node::Repeat(inner, least, most) => {
                // expressions nest: sentences of any length need a calm hand
                let few = depth > DEEP || depth > CALM && self.draw.random_bool(0.9);
                let most = if few { *least } else { *most };
                for _ in 0..self.draw.random_range(*least..=most) {
                    self.node(inner, depth);
                }
            }
        }
    }
}
