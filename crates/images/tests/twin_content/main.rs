//! The content store under many real processes, and what is left when they die. Built for Windows, the same tests run
//! under Wine.

mod processes;
mod scene;

mod crash;
mod sharing;
