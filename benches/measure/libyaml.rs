//! The bare events of libyaml.

use libyaml_safer::{EventData, Parser};

/// Returns the number of events that libyaml finds; it stops at the first error.
pub(crate) fn events(content: &[u8]) -> usize {
    let mut content = content;
    let mut parser = Parser::new();
    parser.set_input_string(&mut content);
    let mut count = 0;
    while let Ok(event) = parser.parse() {
        count += 1;
        if matches!(event.data, EventData::StreamEnd) {
            break;
        }
    }
    count
}
