//! A server that gives each connection a thread of its own until it is closed, and has few of them, as llama.cpp's: a connection that
//! rests keeps others from their answers.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::channel;

use super::*;

const THREADS: usize = 3;
/// Of the prompt of each request, as its page counts them.
const TOKENS: u64 = 8;

/// Answers on connections until they are closed; what asks for more than these waits.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (give, take) = channel::<TcpStream>();
    let (take, answered) = (Arc::new(Mutex::new(take)), Arc::new(AtomicU64::new(0)));
    for _ in 0..THREADS {
        let (take, answered) = (Arc::clone(&take), Arc::clone(&answered));
        std::thread::spawn(move || {
            loop {
                let next = take.lock().expect("no panic").recv();
                let Ok(socket) = next else { return };
                let _ = on(&socket, &answered);
            }
        });
    }
    std::thread::spawn(move || listener.incoming().flatten().for_each(|socket| drop(give.send(socket))));
    url
}

fn on(mut socket: &TcpStream, answered: &AtomicU64) -> std::io::Result<()> {
    let mut reader = BufReader::new(socket);
    loop {
        let (mut first, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if first.is_empty() {
                first.clone_from(&line);
            }
            let head = line.trim().to_lowercase();
            if let Some(told) = head.strip_prefix("content-length:") {
                length = told.trim().parse().unwrap_or(0);
            }
            if head.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let (kind, text) = if first.starts_with("POST") {
            answered.fetch_add(1, Ordering::SeqCst);
            let asked = serde_json::from_slice::<Value>(&body)?["max_tokens"].as_u64().unwrap_or(0);
            let mut steps = vec![role()];
            steps.extend((0..asked).map(|_| token()));
            steps.extend([finish(), usage(TOKENS, asked), done()]);
            let sent =
                steps.into_iter().filter_map(|s| if let Step::Send(text) = s { Some(text) } else { None });
            ("text/event-stream", sent.collect())
        } else {
            let tokens = TOKENS * answered.load(Ordering::SeqCst);
            let page = format!("llamacpp:requests_processing 0\nllamacpp:prompt_tokens_total {tokens}\n");
            ("text/plain", page)
        };
        let length = text.len();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n");
        socket.write_all((head + &text).as_bytes())?;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_rest_do_not_keep_the_page_of_metrics_from_being_read() {
    let url = serve();
    let prompts =
        Prompts { input: 8..=8, output: 4..=4, tokenizer: None, counts_template: false, shared: None };
    let spec = LoadSpec {
        arrivals: Arrivals::Closed { concurrency: THREADS },
        stop: Stop::Requests(6),
        warmup: Warmup::Requests(THREADS as u64),
        metrics: Some("/metrics".to_owned()),
        prompts,
        ..LoadSpec::new(&url, "m")
    };
    let outcome = load(&spec).await;
    assert_eq!((outcome.summary.completed, outcome.warmup.requests), (6, THREADS as u64));
    let server = outcome.server.expect("the page was read before the load");
    // what the load asked and nothing of its warm-up: it was read between both, and after the load
    assert_eq!(server.prefix_asked_tokens, Some(6.0 * TOKENS as f64), "{server:?}");
}
