//! Questions, for people at a terminal.

use std::io::{BufRead, IsTerminal, Write};

use crate::visible::visible;

/// Returns true if there is a user to ask.
pub(super) fn is_possible() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Asks for one of several answers, the first by default, and returns the index of the chosen one.
pub(super) fn choose(question: &str, answers: &[&str], out: &mut dyn Write) -> std::io::Result<usize> {
    writeln!(out, "{question}")?;
    for (number, answer) in answers.iter().enumerate() {
        writeln!(out, "  {}  {}", number + 1, visible(answer))?;
    }
    loop {
        let line = line("number [1]: ", out)?;
        match line.parse::<usize>() {
            _ if line.is_empty() => return Ok(0),
            Ok(number) if (1..=answers.len()).contains(&number) => return Ok(number - 1),
            _ => writeln!(out, "enter a number from 1 to {}", answers.len())?,
        }
    }
}

/// Asks for a text, which may be empty.
pub(super) fn line(question: &str, out: &mut dyn Write) -> std::io::Result<String> {
    write!(out, "{question}")?;
    out.flush()?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(line.trim().to_owned())
}

/// Asks a yes-or-no question. The default is no.
pub(super) fn confirm(question: &str, out: &mut dyn Write) -> std::io::Result<bool> {
    let answer = line(&format!("{question} [y/N] "), out)?;
    Ok(matches!(answer.to_lowercase().as_str(), "y" | "yes"))
}
