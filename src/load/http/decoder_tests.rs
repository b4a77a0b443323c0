//! The decoder of answers: framings, odd answers, and the same bytes cut anywhere.

use proptest::prelude::*;

use super::*;

/// Status, body, and whether it is done and the connection may be kept; the connection is closed at the end if `close`.
fn decode<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    close: bool,
) -> Result<(Option<u16>, String, bool, bool), HttpError> {
    let (mut decoder, mut body) = (Decoder::default(), Vec::new());
    for piece in pieces {
        decoder.feed(piece, &mut |_, run| body.extend_from_slice(run))?;
    }
    let kept = decoder.may_be_kept();
    if close {
        decoder.closed()?;
    }
    let status = decoder.head().map(|h| h.status);
    Ok((status, String::from_utf8_lossy(&body).into_owned(), decoder.is_done(), kept))
}

fn whole(text: &str) -> (Option<u16>, String, bool, bool) {
    decode([text.as_bytes()], false).expect("an answer")
}

fn ok(body: &str, kept: bool) -> (Option<u16>, String, bool, bool) {
    (Some(200), body.to_owned(), true, kept)
}

#[test]
fn an_alert_of_tls_says_what_the_address_lacks() {
    // what a server answers that was asked in plain HTTP: a fatal alert, of a message that is none
    let alert = [0x15, 3, 3, 0, 2, 2, 10];
    for pieces in [1, alert.len()] {
        let told = decode(alert.chunks(pieces), true).expect_err("no answer").to_string();
        assert!(told.contains("https://"), "{told}");
    }
}

#[test]
fn bodies_end_by_length_by_chunks_or_with_the_connection() {
    assert_eq!(whole("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), ok("hello", true));
    assert_eq!(whole("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"), ok("", true));
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    assert_eq!(
        whole(&format!("{chunked}3\r\nabc\r\nA;x=\"y\"\r\n0123456789\r\n0\r\n\r\n")),
        ok("abc0123456789", true)
    );
    assert_eq!(whole(&format!("{chunked}1\r\na\r\n0;last\r\nx-trailer: 1\r\n\r\n")), ok("a", true));
    let open = "HTTP/1.1 200 OK\r\n\r\nabc";
    assert_eq!(whole(open), (Some(200), "abc".into(), false, false));
    assert_eq!(decode([open.as_bytes()], true), Ok(ok("abc", false)));
}

#[test]
fn answers_before_the_answer_are_passed_over() {
    let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    assert_eq!(whole(text), ok("x", true));
}

#[test]
fn what_a_lenient_reader_has_to_take() {
    assert_eq!(whole("HTTP/1.1 200 OK\nContent-Length: 1\n\nx"), ok("x", true), "bare line feeds");
    assert_eq!(
        whole("HTTP/1.1 200 OK\r\nx-a: 1\r\n  2\r\nContent-Length: 1\r\n\r\nx"),
        ok("x", true),
        "folded"
    );
    assert_eq!(whole("HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx"), ok("x", true), "no reason");
    let many: Vec<String> = (0..300).map(|i| format!("x-{i}: {i}\r\n")).collect();
    let many = many.concat();
    assert_eq!(whole(&format!("HTTP/1.1 200 OK\r\n{many}Content-Length: 1\r\n\r\nx")), ok("x", true));
    assert_eq!(whole("HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\nx"), ok("x", true));
    assert_eq!(whole("HTTP/1.1 204 No Content\r\n\r\n"), (Some(204), String::new(), true, true));
}

#[test]
fn connections_are_kept_only_where_nothing_is_in_doubt() {
    let length = "Content-Length: 1\r\n\r\nx";
    assert_eq!(whole(&format!("HTTP/1.1 200 OK\r\nConnection: close\r\n{length}")), ok("x", false));
    assert_eq!(whole(&format!("HTTP/1.0 200 OK\r\n{length}")), ok("x", false));
    assert_eq!(whole(&format!("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n{length}")), ok("x", true));
    assert_eq!(whole(&format!("HTTP/1.1 200 OK\r\n{length}surplus")), ok("x", false));
    let both =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 99\r\n\r\n1\r\nx\r\n0\r\n\r\n";
    assert_eq!(whole(both), ok("x", false));
}

#[test]
fn what_is_no_answer_is_told() {
    let told = |text: &str| decode([text.as_bytes()], true).expect_err("no answer").to_string();
    assert!(told("garbage\r\n\r\n").starts_with("no HTTP answer"));
    assert!(told("HTTP/1.1 101 Switching\r\n\r\n").contains("101"));
    assert!(told("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n").contains("`gzip`"));
    assert!(told("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n").contains("`gzip, chunked`"));
    assert!(told("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n").contains("`1, 2`"));
    assert!(told("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n").contains("`-1`"));
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    assert!(told(&format!("{chunked}xyz\r\n")).contains("`xyz`"));
    assert!(told(&format!("{chunked}\r\n")).contains("no size"));
    assert!(told(&format!("{chunked}fffffffffffffffff\r\n")).contains("no size"));
    assert!(told(&format!("{chunked}1\r\nab")).contains("longer than it says"));
    assert_eq!(told(""), "the connection was closed before an answer came");
    assert_eq!(told("HTTP/1.1 200"), "the connection was closed inside the answer's head");
    assert_eq!(told(&format!("{chunked}5\r\nab")), "the connection was closed before the body was complete");
    assert_eq!(told("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab"), told(&format!("{chunked}5\r\nab")));
    assert!(told(&format!("{chunked}1;{}", "x".repeat(LINE_MOST))).contains("line of more than"));
    assert!(told(&format!("HTTP/1.1 200 OK\r\nx: {}", "x".repeat(HEAD_MOST))).contains("head is longer"));
}

#[test]
fn a_reset_decoder_reads_the_next_answer() {
    let mut decoder = Decoder::default();
    for body in ["a", "bc"] {
        let mut came = Vec::new();
        let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        decoder.feed(text.as_bytes(), &mut |_, run| came.extend_from_slice(run)).expect("an answer");
        assert!(came == body.as_bytes() && decoder.may_be_kept());
        decoder.reset();
        assert!(!decoder.has_begun());
    }
}

proptest! {
    #[test]
    fn splits_do_not_matter(
        chunks in proptest::collection::vec("[a-z\r\n]{1,9}", 0..9),
        extension in "(;[a-z=]{0,9})?",
        how in 0..3,
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let body = chunks.concat();
        let mut text = match how {
            0 => format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()),
            1 => format!("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n{body}"),
            _ => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(),
        };
        if how == 2 {
            text.extend(chunks.iter().map(|c| format!("{:x}{extension}\r\n{c}\r\n", c.len())));
            text.push_str("0\r\nx: y\r\n\r\n");
        }
        let bytes = text.as_bytes();
        let places = cuts.iter().map(|cut| cut.index(bytes.len() + 1));
        let mut cuts: Vec<usize> = places.chain([0, bytes.len()]).collect();
        cuts.sort_unstable();
        let whole = decode([bytes], true);
        prop_assert_eq!(whole.as_ref().map(|w| &w.1), Ok(&body));
        prop_assert_eq!(&whole, &decode(cuts.windows(2).map(|w| &bytes[w[0]..w[1]]), true));
        prop_assert_eq!(&whole, &decode(bytes.chunks(1), true));
    }

    #[test]
    fn no_bytes_break_it(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..9)) {
        let _ = decode(pieces.iter().map(Vec::as_slice), true);
        let head: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let _ = decode([head].into_iter().chain(pieces.iter().map(Vec::as_slice)), true);
    }
}
