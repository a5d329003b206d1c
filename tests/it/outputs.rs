//! Texts and files that the program writes where others may read them.

mod escapes;
mod files;
mod streams;
