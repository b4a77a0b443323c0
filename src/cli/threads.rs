//! A machine, or a user's limit on it, may have no threads left. The runtime panics where it cannot start one, so it is tried before.

use std::io;
use std::num::NonZero;
use std::sync::RwLock;
use std::thread;

/// Beside the runtime's own: files and names are looked up in threads too, and so are events written.
const MORE: usize = 4;

/// Whether a runtime can be had now that uses all processors.
///
/// # Errors
/// What the operating system says of the first thread that it does not start.
pub fn suffice() -> io::Result<()> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let gate = RwLock::new(());
    let closed = gate.write();
    thread::scope(|scope| {
        let begin = |_| thread::Builder::new().spawn_scoped(scope, || drop(gate.read())).map(drop);
        let all = (0..workers + MORE).try_for_each(begin);
        drop(closed);
        all
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_few_threads_can_be_had() {
        super::suffice().unwrap();
    }
}
