//! The `perflab` binary: arguments in, exit status out; everything else is the library's.

use std::process::ExitCode;

fn main() -> ExitCode {
    perflab::cli::main()
}
