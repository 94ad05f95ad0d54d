//! The holder on Linux: the real program and the server in it, with real processes, over its real socket.

mod attach;
mod crash;
mod exec;
mod exec_end;
mod life;
mod limits;
mod logs;
mod soak;
mod support;
mod terminal;
mod versions;
