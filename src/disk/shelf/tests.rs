//! What is kept is found, what is damaged is not, and the oldest goes first.

use super::*;

fn shelf(most: u64) -> (tempfile::TempDir, Shelf) {
    let dir = tempfile::tempdir().unwrap();
    let shelf = Shelf { dir: dir.path().join("made later"), most };
    (dir, shelf)
}

fn records(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn read(shelf: &Shelf, key: &str) -> Option<(String, Vec<Vec<u8>>)> {
    let kept = shelf.find(key)?;
    let all = (0..kept.len()).map(|n| kept.record(n)).collect::<io::Result<_>>().ok()?;
    Some((kept.note().to_owned(), all))
}

#[test]
fn what_is_kept_is_found_under_its_key_alone() {
    let (_dir, shelf) = shelf(MOST);
    assert!(shelf.find("one").is_none());
    assert!(shelf.keep("one", "a note", None, &records(&["x", "", "yz"])));
    assert_eq!(read(&shelf, "one"), Some(("a note".to_owned(), records(&["x", "", "yz"]))));
    assert!(shelf.find("two").is_none());
    let before = shelf.find("one").unwrap();
    assert!(shelf.keep("one", "", Some((&before, 2)), &records(&["new"])));
    assert_eq!(read(&shelf, "one"), Some((String::new(), records(&["x", "", "new"]))));
    // who has it open reads on in what was there
    assert_eq!(before.record(2).unwrap(), b"yz");
    assert!(before.record(3).is_err());
    shelf.forget("one");
    assert!(shelf.find("one").is_none());
}

#[test]
fn records_are_kept_as_they_come_in_their_order_or_not_at_all() {
    let (_dir, shelf) = shelf(MOST);
    let names = || fs::read_dir(&shelf.dir).map_or(0, Iterator::count);
    let mut keeping = shelf.begin("key", "note", None, 3).unwrap();
    let mut other = shelf.begin("key", "other", None, 1).unwrap();
    for (number, text) in [(2, "c"), (0, "a"), (1, "b")] {
        keeping.add(number, text.as_bytes());
    }
    other.add(0, b"x");
    assert!(keeping.end());
    assert_eq!(read(&shelf, "key"), Some(("note".to_owned(), records(&["a", "b", "c"]))));
    // one of its own for each that is at it at one time
    assert!(other.end());
    assert_eq!(read(&shelf, "key"), Some(("other".to_owned(), records(&["x"]))));
    let mut torn = shelf.begin("key", "", None, 2).unwrap();
    torn.add(1, b"y");
    assert!(!torn.end());
    drop(shelf.begin("key", "", None, 1));
    assert_eq!((read(&shelf, "key").unwrap().1, names()), (records(&["x"]), 1));
}

#[test]
fn no_byte_can_change_unseen() {
    let (_dir, shelf) = shelf(MOST);
    let whole = records(&["some text", "more of it"]);
    assert!(shelf.keep("key", "note", None, &whole));
    let path = shelf.path("key");
    let bytes = fs::read(&path).unwrap();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        fs::write(&path, damaged).unwrap();
        assert_eq!(read(&shelf, "key"), None, "byte {at}");
        fs::write(&path, &bytes[..at]).unwrap();
        assert_eq!(read(&shelf, "key"), None, "cut at {at}");
    }
    fs::write(&path, [&bytes[..], b"x"].concat()).unwrap();
    assert_eq!(read(&shelf, "key"), None, "longer");
    fs::write(&path, &bytes).unwrap();
    assert!(read(&shelf, "key").is_some());
}

#[test]
fn a_file_under_anothers_name_is_not_taken_for_it() {
    let (_dir, shelf) = shelf(MOST);
    assert!(shelf.keep("key", "", None, &records(&["x"])));
    fs::rename(shelf.path("key"), shelf.path("kex")).unwrap();
    assert!(shelf.find("kex").is_none() && shelf.find("key").is_none());
}

#[test]
fn the_oldest_go_first_and_what_is_read_is_young() {
    let (_dir, shelf) = shelf(1200);
    let record = vec![vec![b'x'; 250]];
    let aged = |key: &str, s: u64| {
        let then = SystemTime::now() - Duration::from_secs(s);
        File::open(shelf.path(key)).unwrap().set_modified(then).unwrap();
    };
    for (key, age) in [("a", 400), ("b", 300), ("c", 200)] {
        assert!(shelf.keep(key, "", None, &record));
        aged(key, age);
    }
    assert!(shelf.find("a").is_some());
    for key in ["d", "e"] {
        assert!(shelf.keep(key, "", None, &record));
    }
    let there = ["a", "b", "c", "d", "e"].map(|key| shelf.path(key).exists());
    assert_eq!(there, [true, false, true, true, true]);
    assert!(!shelf.keep("f", "", None, &[vec![0; 301]]), "more than its part of the shelf");
}

#[test]
fn drafts_of_long_ago_are_swept() {
    let (_dir, shelf) = shelf(MOST);
    fs::create_dir_all(&shelf.dir).unwrap();
    let (old, new) = (shelf.dir.join(".x.1"), shelf.dir.join(".x.2"));
    for path in [&old, &new] {
        fs::write(path, "x").unwrap();
    }
    File::open(&old).unwrap().set_modified(SystemTime::now() - 2 * ABANDONED).unwrap();
    assert!(shelf.keep("key", "", None, &[]));
    assert_eq!((old.exists(), new.exists(), shelf.find("key").unwrap().len()), (false, true, 0));
}

#[test]
fn where_nothing_can_be_written_nothing_fails() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "x").unwrap();
    let shelf = Shelf::new(dir.path().join("file"));
    assert!(!shelf.keep("key", "", None, &records(&["x"])));
    assert!(shelf.find("key").is_none());
}
