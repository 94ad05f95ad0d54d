//! Pulls from a real registry into a real store: what arrives, what moves, what is left when it goes wrong.

mod faults;
mod flight;
mod form;
mod hostile;
mod overlap;
mod patience;
mod platforms;
mod support;
