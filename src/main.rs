//! The `hierad` command.

fn main() -> std::process::ExitCode {
    hierad::cli::main()
}
