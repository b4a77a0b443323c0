//! Futures of one task that go on together: launches side by side borrow what the coordinator has, so they cannot be spawned.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// As few as there are slots: each is asked whenever one of them may go on.
pub struct Flock<'a, T>(Vec<Pin<Box<dyn Future<Output = T> + 'a>>>);

impl<'a, T> Flock<'a, T> {
    pub fn new() -> Self {
        Self(Vec::new())
    }

    pub fn add(&mut self, one: impl Future<Output = T> + 'a) {
        self.0.push(Box::pin(one));
    }

    /// The next that ends; `None` when none is left.
    pub async fn next(&mut self) -> Option<T> {
        poll_fn(|context| {
            for at in 0..self.0.len() {
                if let Poll::Ready(output) = self.0[at].as_mut().poll(context) {
                    drop(self.0.remove(at));
                    return Poll::Ready(Some(output));
                }
            }
            if self.0.is_empty() { Poll::Ready(None) } else { Poll::Pending }
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn whoever_ends_first_comes_first_and_all_come() {
        let mut flock = Flock::new();
        for ms in [30_u64, 1] {
            flock.add(async move {
                tokio::time::sleep(Duration::from_millis(ms)).await;
                ms
            });
        }
        assert_eq!(flock.next().await, Some(1));
        flock.add(async { 2 });
        assert_eq!(flock.next().await, Some(2));
        assert_eq!((flock.next().await, flock.next().await), (Some(30), None));
    }
}
