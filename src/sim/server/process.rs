//! Life of the server process: bind, load, capture, serve, and stop at once on a signal. What it logs and how it fails
//! is what a supervisor of vLLM expects.

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;
use std::time::Duration;

use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::super::args::{SimArgs, usage_message};
use super::super::config::EngineConfig;
use super::driver::Driver;
use super::log;
use super::routes::App;

/// Parses the words behind `perflab sim` and runs the server: the whole command. Usage errors end with 2, as
/// argparse's do.
pub fn command<I>(words: I) -> ExitCode
where
    I: IntoIterator,
    I::Item: Into<OsString>,
{
    match SimArgs::parse_words(words) {
        Ok(args) => main(&args),
        Err(error) if error.use_stderr() => {
            log::raw_error(usage_message(&error));
            ExitCode::from(2)
        }
        Err(help) => {
            // a reader of the help that went away is no failure
            let _ = help.print();
            ExitCode::SUCCESS
        }
    }
}

/// Runs the server until a signal, on a runtime of its own. The runtime has one thread and the engine another, which
/// leaves the other cores of a small machine to the load client.
pub fn main(args: &SimArgs) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => {
            let code = runtime.block_on(serve(args));
            // streams that are still open are cut, not waited for
            runtime.shutdown_background();
            code
        }
        Err(error) => {
            log::error(format_args!("RuntimeError: failed to start the runtime: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs the server until SIGTERM or SIGINT (exit code 0) or until its start fails (1).
pub async fn serve(args: &SimArgs) -> ExitCode {
    match run(args).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            log::error(message);
            ExitCode::FAILURE
        }
    }
}

async fn run(args: &SimArgs) -> Result<(), String> {
    log::info(format_args!("simulated engine {}: nothing is computed", env!("CARGO_PKG_VERSION")));
    log::info(format_args!("args: {args:?}"));
    let mut stop = Stop::listen().map_err(|error| format!("OSError: {error}"))?;
    let listener = bind(args).await?;
    let config = EngineConfig::resolve(args).map_err(|error| error.to_string())?;
    let driver = Driver::start(config.simulation()).map_err(|error| format!("OSError: {error}"))?;
    let address = listener.local_addr().map_err(|error| format!("OSError: {error}"))?;
    let app =
        App::new(driver, args.public_name(), config.limits.max_model_len, args.seed).asking_for(args.key());
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    let server = axum::serve(listener, app.clone().router());
    let started = async {
        start_engine(args, &config).await;
        app.set_ready();
        log::info(format_args!("Starting simulated API server on http://{address}"));
        log::plain("Application startup complete.");
        std::future::pending::<()>().await;
    };
    tokio::select! {
        outcome = server.into_future() => outcome.map_err(|error| format!("OSError: {error}")),
        () = started => Ok(()),
        () = stop.wait() => Ok(()),
    }
}

async fn bind(args: &SimArgs) -> Result<TcpListener, String> {
    let (host, port) = (args.host.as_str(), args.port);
    TcpListener::bind((host, port)).await.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => format!(
            "[Errno 98] error while attempting to bind on address ('{host}', {port}): address already in use"
        ),
        _ => format!("OSError: failed to bind on address ('{host}', {port}): {error}"),
    })
}

/// Takes the time that loading and capturing take, and logs what vLLM logs.
async fn start_engine(args: &SimArgs, config: &EngineConfig) {
    config.notes.iter().for_each(log::info);
    log::info(format_args!(
        "Starting to load model {} on {} x {} (simulated)",
        args.model, args.tensor_parallel_size, config.gpu.name
    ));
    tokio::time::sleep(config.load_time).await;
    let seconds = |time: Duration| time.as_secs_f64();
    log::info(format_args!("Loading weights took {:.2} seconds", seconds(config.load_time)));
    let gib = |bytes: f64| bytes / f64::from(1 << 30);
    log::info(format_args!(
        "Model loading took {:.4} GiB memory and {:.6} seconds",
        gib(config.memory.weights),
        seconds(config.load_time)
    ));
    log::info(format_args!("Available KV cache memory: {:.2} GiB", gib(config.memory.kv_cache)));
    log::info(format_args!(
        "GPU KV cache size: {} tokens",
        log::thousands(u64::from(config.memory.kv_tokens))
    ));
    log::info(format_args!(
        "Maximum concurrency for {} tokens per request: {:.2}x",
        log::thousands(u64::from(args.max_model_len)),
        f64::from(config.memory.kv_tokens) / f64::from(args.max_model_len)
    ));
    if !config.capture_time.is_zero() {
        log::info("Capturing CUDA graphs (decode, FULL)");
        tokio::time::sleep(config.capture_time).await;
        log::info(format_args!("Graph capturing finished in {:.2} secs", seconds(config.capture_time)));
    }
    log::info(format_args!(
        "init engine (profile, create kv cache, warmup model) took {:.2} seconds",
        seconds(config.capture_time)
    ));
}

/// The signals that end the server.
struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    fn listen() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
