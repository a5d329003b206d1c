//! The watch on real repositories: each commit once, in order, however the branches move.

mod bursts;
mod moves;
mod trouble;
