//! Unix sockets, which Windows has and Wine refuses: such a socket is one of the loopback here, bound to a free port.
//!
//! A kubelet ends where it cannot listen for device plugins. Nobody finds the port by the socket's path: there are no
//! such plugins here.

use std::ffi::CStr;
use std::fs::File;
use std::sync::{Mutex, PoisonError};

use windows_sys::Win32::Networking::WinSock::{
    self, AF_INET, AF_UNIX, IN_ADDR, IN_ADDR_0, SOCKADDR, SOCKADDR_IN, SOCKADDR_UN, SOCKET, WSAEADDRINUSE,
    WSAPROTOCOL_INFOW, WSASetLastError,
};

use crate::record::Call;

const FAILED: i32 = -1;

/// Which sockets have which path, newest last: the number of one that was closed can come again.
static BOUND: Mutex<Vec<(SOCKET, String)>> = Mutex::new(Vec::new());

pub(crate) unsafe extern "system" fn socket(
    family: i32,
    kind: i32,
    protocol: i32,
    info: *const WSAPROTOCOL_INFOW,
    group: u32,
    flags: u32,
) -> SOCKET {
    let mut family = family;
    if family == i32::from(AF_UNIX) {
        Call::new("WSASocketW", "family=AF_UNIX").answer(|| 0);
        family = i32::from(AF_INET);
    }
    // SAFETY: the caller's promises are those of the real one.
    unsafe { WinSock::WSASocketW(family, kind, protocol, info, group, flags) }
}

pub(crate) unsafe extern "system" fn bind(socket: SOCKET, address: *const SOCKADDR, length: i32) -> i32 {
    // SAFETY: the caller gives an address of its family's size, one of Unix' with a null-ended path.
    unsafe {
        if address.is_null() || (*address).sa_family != AF_UNIX {
            return WinSock::bind(socket, address, length);
        }
        let path = CStr::from_ptr((&raw const (*address.cast::<SOCKADDR_UN>()).sun_path).cast());
        bind_to_loopback(socket, &path.to_string_lossy())
    }
}

pub(crate) unsafe extern "system" fn name(socket: SOCKET, address: *mut SOCKADDR, length: *mut i32) -> i32 {
    let bound = BOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let path = bound.iter().rev().find(|(of, _)| *of == socket).map(|(_, path)| path);
    let size = size_of::<SOCKADDR_UN>();
    // SAFETY: the caller gives a place for an address and says how large it is.
    unsafe {
        match path {
            Some(path) if usize::try_from(*length).is_ok_and(|given| given >= size) => {
                address.cast::<SOCKADDR_UN>().write(unix_address(path));
                *length = i32::try_from(size).unwrap_or(0);
                0
            }
            _ => WinSock::getsockname(socket, address, length),
        }
    }
}

fn unix_address(path: &str) -> SOCKADDR_UN {
    let mut address = SOCKADDR_UN { sun_family: AF_UNIX, ..Default::default() };
    // The last one stays a null.
    let places = address.sun_path.len() - 1;
    for (to, from) in address.sun_path.iter_mut().zip(path.bytes().take(places)) {
        *to = from.cast_signed();
    }
    address
}

/// A file at the path, as Windows makes one; two sockets cannot have the same.
fn bind_to_loopback(socket: SOCKET, path: &str) -> i32 {
    let taken = Call::new("bind", &format!("path={path}"))
        .answer(|| if File::create_new(path).is_ok() { 0 } else { WSAEADDRINUSE.cast_unsigned() });
    if taken != 0 {
        // SAFETY: a number for this thread.
        unsafe { WSASetLastError(taken.cast_signed()) };
        return FAILED;
    }
    BOUND.lock().unwrap_or_else(PoisonError::into_inner).push((socket, path.to_owned()));
    let address = SOCKADDR_IN { sin_family: AF_INET, sin_port: 0, sin_addr: loopback(), sin_zero: [0; 8] };
    let length = i32::try_from(size_of_val(&address)).unwrap_or(0);
    // SAFETY: the address is as large as we say.
    unsafe { WinSock::bind(socket, (&raw const address).cast(), length) }
}

fn loopback() -> IN_ADDR {
    IN_ADDR { S_un: IN_ADDR_0 { S_addr: u32::from_ne_bytes([127, 0, 0, 1]) } }
}
