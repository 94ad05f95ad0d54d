//! The server and its clients over real sockets, with processes that are programmed here.

mod endings;
mod forwards;
mod house;
mod limits;
mod refusals;
mod relay;
mod secured;
mod volumes;
mod words;
