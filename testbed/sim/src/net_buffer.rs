//! Answers as the network-management calls give them: structures, and behind them the texts that they point to.

use std::ptr::null_mut;

use windows_sys::Win32::Foundation::{HLOCAL, LocalFree};
use windows_sys::Win32::NetworkManagement::NetManagement::{
    LOCALGROUP_INFO_1, USER_INFO_0, USER_INFO_1, USER_INFO_23, USER_PRIV_USER,
};
use windows_sys::Win32::System::Memory::{LMEM_ZEROINIT, LocalAlloc};

use crate::net::User;
use crate::text::wide;

/// Memory for one answer, filled from the front. Whoever asked frees it.
pub(crate) struct Answer {
    start: *mut u8,
    used: usize,
}

/// More than any answer of a test.
const ROOM: usize = 1 << 20;

// === impl Answer ===

impl Answer {
    fn new() -> Self {
        // SAFETY: plain numbers.
        let start = unsafe { LocalAlloc(LMEM_ZEROINIT, ROOM) }.cast();
        Self { start, used: 0 }
    }

    fn put<T: Copy>(&mut self, values: &[T]) -> *mut T {
        let at = self.used.next_multiple_of(16);
        self.used = at + size_of_val(values);
        assert!(self.used <= ROOM && !self.start.is_null(), "too long an answer");
        // SAFETY: there is room, as just seen, and it is aligned for any structure.
        unsafe {
            let place = self.start.add(at).cast::<T>();
            std::ptr::copy_nonoverlapping(values.as_ptr(), place, values.len());
            place
        }
    }

    fn text(&mut self, text: &str) -> *mut u16 {
        self.put(&wide(text))
    }
}

pub(crate) fn text(text: &str) -> *mut u16 {
    Answer::new().text(text)
}

/// Level 0.
pub(crate) fn names(users: &[User]) -> *mut u8 {
    let mut answer = Answer::new();
    let place = answer.put(&vec![USER_INFO_0::default(); users.len()]);
    for (at, user) in users.iter().enumerate() {
        let info = USER_INFO_0 { usri0_name: answer.text(&user.name) };
        // SAFETY: so many were put there above.
        unsafe { place.add(at).write(info) };
    }
    answer.start
}

/// Level 1, without the password, as everybody may see it.
pub(crate) fn user(user: &User) -> *mut u8 {
    let mut answer = Answer::new();
    let place = answer.put(&[USER_INFO_1::default()]);
    let info = USER_INFO_1 {
        usri1_name: answer.text(&user.name),
        usri1_password: null_mut(),
        usri1_password_age: 0,
        usri1_priv: USER_PRIV_USER,
        usri1_home_dir: null_mut(),
        usri1_comment: answer.text(&user.comment),
        usri1_flags: user.flags,
        usri1_script_path: null_mut(),
    };
    // SAFETY: put there above.
    unsafe { place.write(info) };
    answer.start
}

/// Level 23.
pub(crate) fn user_with_sid(user: &User) -> *mut u8 {
    let mut answer = Answer::new();
    let place = answer.put(&[USER_INFO_23::default()]);
    let sid = answer.put(&user.sid());
    let info = USER_INFO_23 {
        usri23_name: answer.text(&user.name),
        usri23_full_name: null_mut(),
        usri23_comment: answer.text(&user.comment),
        usri23_flags: user.flags,
        usri23_user_sid: sid.cast(),
    };
    // SAFETY: put there above.
    unsafe { place.write(info) };
    answer.start
}

/// Level 1.
pub(crate) fn group(name: &str) -> *mut u8 {
    let mut answer = Answer::new();
    let place = answer.put(&[LOCALGROUP_INFO_1::default()]);
    let info = LOCALGROUP_INFO_1 { lgrpi1_name: answer.text(name), lgrpi1_comment: answer.text("") };
    // SAFETY: put there above.
    unsafe { place.write(info) };
    answer.start
}

pub(crate) fn free(answer: HLOCAL) {
    // SAFETY: made here, or null.
    unsafe { LocalFree(answer) };
}
