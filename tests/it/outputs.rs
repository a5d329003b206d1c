//! What the program writes, where others may read it: texts, files and their modes.

mod escapes;
