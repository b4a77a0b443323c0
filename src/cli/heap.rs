//! What the heap is like: for commands that read, answer and end, it grows in large steps and gives nothing back before the process
//! ends; for those that hold a long journal, large lists lie apart from it.
//!
//! Reading a study of 10,000 lines touches tens of megabytes once. By 4 KiB pages, grown and trimmed in steps of
//! 128 KiB, a fifth of the time goes to page faults; huge pages take most of that away (`benches/check_vs_yaml.py`).

/// How much is asked for at once: as much as the largest studies need, and untouched pages cost nothing.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const STEP: usize = 64 << 20;

/// Lets this process's heap grow in large steps, on huge pages where the kernel gives them. Only for commands that end at
/// once: memory is not given back. Does nothing with allocators other than glibc's.
pub fn grow_in_large_steps() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    glibc::grow(STEP);
}

/// Lets lists of this process lie outside of the heap from 256 KiB on, so that what they give back when they grow or end is the system's
/// again. Else the first large one that ends has glibc keep all later ones in the heap, where they leave holes: 2 of 62 MiB with a journal
/// of 10,000 launches (`benches/journal_memory.py`).
pub fn keep_large_lists_apart() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    glibc::map_from(256 << 10);
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc {
    use nix::libc;

    pub fn map_from(bytes: libc::c_int) {
        // SAFETY: mallopt only sets parameters of the allocator, and no other thread runs yet
        unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, bytes) };
    }

    /// Huge pages are aligned to their size; x86-64's and most of AArch64's.
    const HUGE: usize = 2 << 20;

    pub fn grow(step: usize) {
        let wanted = libc::c_int::try_from(step).unwrap_or(libc::c_int::MAX);
        // SAFETY: mallopt only sets parameters of the allocator, and no other thread runs yet
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, wanted);
            libc::mallopt(libc::M_TRIM_THRESHOLD, libc::c_int::MAX);
            libc::mallopt(libc::M_TOP_PAD, wanted);
        }
        let start = brk();
        // the break moves by the padding with the first request that does not fit any more
        drop(::std::hint::black_box(Vec::<u8>::with_capacity(step / 2)));
        let (first, end) = (start.next_multiple_of(HUGE), brk() / HUGE * HUGE);
        if first < end {
            // SAFETY: the range lies between the old and the new end of the heap; the advice changes no content.
            // Kernels without huge pages refuse, and nothing is lost by it
            unsafe { libc::madvise(first as *mut libc::c_void, end - first, libc::MADV_HUGEPAGE) };
        }
    }

    /// Where the heap ends, as an address.
    fn brk() -> usize {
        // SAFETY: an increment of 0 asks and changes nothing
        unsafe { libc::sbrk(0) as usize }
    }
}
