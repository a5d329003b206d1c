//! `hierad serve`: the page of a clone, for a browser on this machine.

use std::net::SocketAddr;

use clap::Args;

use super::{bind, program};
use crate::app::serve;
use crate::app::settings::listen_address;
use crate::cli::output::log;
use crate::cli::{Global, Result, Status};

/// Arguments of `serve`.
#[derive(Debug, Args)]
pub(in crate::cli) struct Arguments {
    /// The address and port to answer at, on this machine only; port 0 takes any free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8427", value_parser = listen_address)]
    listen: SocketAddr,
}

pub(in crate::cli) fn run(global: &Global, arguments: &Arguments) -> Result {
    serve_at(global, arguments.listen)
}

/// Serves the page until it is stopped.
pub(in crate::cli) fn serve_at(global: &Global, listen: SocketAddr) -> Result {
    let workspace = global.open()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let announce = |address: SocketAddr| log::print(&format_args!("hierad: the page is at http://{address}/"));
    let program = program();
    let program = program.as_deref().inspect(|program| bind(program)).map(|program| program.path.as_path());
    runtime.block_on(serve(workspace, listen, (&global.overrides(), program), announce))?;
    Ok(Status::Done)
}
