//! Work that is shared out among all cores: each takes the next piece when it has done its last, so that one that is held up by something
//! else holds up nobody.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// What is made for each number below `count`, in their order. An error ends it; `panicked` says what is wrong with a thread that ended
/// otherwise.
///
/// # Errors
/// One of those of `make`.
pub fn on_all_cores<R: Send, E: Send>(
    count: usize,
    make: impl Fn(usize) -> Result<R, E> + Sync,
    panicked: impl Fn() -> E,
) -> Result<Vec<R>, E> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut own = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return Ok(own);
            }
            match make(number) {
                Ok(one) => own.push((number, one)),
                Err(error) => {
                    next.store(count, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
    };
    let mut all = Vec::with_capacity(count);
    thread::scope(|scope| {
        let begin = |_| thread::Builder::new().spawn_scoped(scope, work);
        let wanted = cores.min(count);
        let workers: Vec<_> = (0..wanted).filter_map(|n| begin(n).ok()).collect();
        // a machine may be out of threads
        if workers.len() < wanted {
            all.extend(work()?);
        }
        for worker in workers {
            all.extend(worker.join().map_err(|_| panicked())??);
        }
        Ok::<(), E>(())
    })?;
    all.sort_unstable_by_key(|(number, _)| *number);
    Ok(all.into_iter().map(|(_, one)| one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_made_once_and_in_its_order() {
        for count in [0, 1, 7, 1000] {
            let all = on_all_cores(count, Ok::<usize, String>, String::new);
            assert_eq!(all, Ok((0..count).collect()));
        }
    }

    #[test]
    fn an_error_is_told() {
        let odd = |n| if n == 700 { Err("no") } else { Ok(n) };
        assert_eq!(on_all_cores(1000, odd, || "panicked"), Err("no"));
    }
}
