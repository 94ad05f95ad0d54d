//! Logons: judged by the users in files, answered with a copy of the program's own token.
//!
//! Wine has one account, so whoever is logged on here is still that one; which account a process was started for is
//! what `calls` says. All but SYSTEM lose the group of administrators, which Wine's server then judges by.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

use windows_sys::Win32::Foundation::{ERROR_LOGON_FAILURE, HANDLE, SetLastError};
use windows_sys::Win32::Security::{
    CreateRestrictedToken, CreateWellKnownSid, DuplicateTokenEx, SECURITY_ATTRIBUTES, SECURITY_MAX_SID_SIZE,
    SID_AND_ATTRIBUTES, SecurityImpersonation, TOKEN_ALL_ACCESS, TokenPrimary, WinBuiltinAdministratorsSid,
};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, OpenProcessToken, PROCESS_INFORMATION, STARTUPINFOW,
};
use windows_sys::core::{BOOL, PCWSTR, PWSTR};

use crate::import_table::redirect;
use crate::net::{self, User};
use crate::record::Call;
use crate::text::read;

type CreateProcess = unsafe extern "system" fn(
    HANDLE,
    PCWSTR,
    PWSTR,
    *const SECURITY_ATTRIBUTES,
    *const SECURITY_ATTRIBUTES,
    BOOL,
    u32,
    *const c_void,
    PCWSTR,
    *const STARTUPINFOW,
    *mut PROCESS_INFORMATION,
) -> BOOL;
type CreateBlock = unsafe extern "system" fn(*mut *mut c_void, HANDLE, BOOL) -> BOOL;

const SERVICE: u32 = 5;
const MANAGED: &str = "_SA_{262E99C9-6160-4871-ACEC-4E61736B6F21}";
const SERVICES: [&str; 3] = ["system", "localservice", "networkservice"];

static CREATE_PROCESS: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static CREATE_BLOCK: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
/// Tokens given out, newest last: a number that was closed can come again.
static TOKENS: Mutex<Vec<(usize, String)>> = Mutex::new(Vec::new());

/// # Safety
/// For the time when the loader holds its lock.
pub(crate) unsafe fn take_over() {
    // SAFETY: all have the signature of what they replace.
    unsafe {
        redirect(c"LogonUserW", (log_on as *const ()).cast());
        if let Some(before) = redirect(c"CreateProcessAsUserW", (create_process as *const ()).cast()) {
            CREATE_PROCESS.store(before.cast_mut(), Ordering::Relaxed);
        }
        if let Some(before) = redirect(c"CreateEnvironmentBlock", (create_block as *const ()).cast()) {
            CREATE_BLOCK.store(before.cast_mut(), Ordering::Relaxed);
        }
    }
}

unsafe extern "system" fn log_on(
    user: PCWSTR,
    domain: PCWSTR,
    password: PCWSTR,
    kind: u32,
    provider: u32,
    token: *mut HANDLE,
) -> BOOL {
    // SAFETY: the caller gives null-ended texts or null.
    let (user, domain, password) = unsafe { (read(user).unwrap_or_default(), read(domain), read(password)) };
    let given = match password.as_deref() {
        None => "none",
        Some(MANAGED) => "managed",
        Some(_) => "given",
    };
    let place = domain.as_deref().unwrap_or("-");
    let arguments = format!("user={user} domain={place} password={given} kind={kind} provider={provider}");
    let known = is_known(&user, domain.as_deref(), password.as_deref(), kind);
    let answer = Call::new("LogonUserW", &arguments).answer(|| if known { 0 } else { ERROR_LOGON_FAILURE });
    if answer != 0 {
        // SAFETY: a plain number.
        unsafe { SetLastError(answer) };
        return 0;
    }
    // SAFETY: the caller gives a place for the token.
    unsafe { token.write(token_for(&user, place)) };
    // SAFETY: just written.
    let number = unsafe { token.read() }.addr();
    TOKENS.lock().unwrap_or_else(PoisonError::into_inner).push((number, format!("{place}\\{user}")));
    1
}

fn is_known(user: &str, domain: Option<&str>, password: Option<&str>, kind: u32) -> bool {
    match (domain, password) {
        (Some("NT AUTHORITY"), None) => {
            kind == SERVICE && SERVICES.contains(&user.to_ascii_lowercase().as_str())
        }
        (_, Some(MANAGED)) => {
            kind == SERVICE
                && net::domain().is_some_and(|(_, accounts)| {
                    accounts.iter().any(|account| account.eq_ignore_ascii_case(user))
                })
        }
        (Some("."), Some(password)) => User::find(user).is_some_and(|known| known.password == password),
        _ => false,
    }
}

fn token_for(user: &str, place: &str) -> HANDLE {
    let copy = copy_of_ours();
    let system = place == "NT AUTHORITY" && user.eq_ignore_ascii_case("system");
    if system { copy } else { without_administrators(copy).unwrap_or(copy) }
}

/// As the token of somebody who is no administrator.
fn without_administrators(token: HANDLE) -> Option<HANDLE> {
    let mut group = [0u8; SECURITY_MAX_SID_SIZE as usize];
    let (mut size, mut less) = (SECURITY_MAX_SID_SIZE, null_mut());
    // SAFETY: the buffer is as long as we say and lives as long as it is pointed to; the token goes to a local.
    let made = unsafe {
        let sid = group.as_mut_ptr().cast();
        CreateWellKnownSid(WinBuiltinAdministratorsSid, null_mut(), sid, &raw mut size) != 0 && {
            let off = SID_AND_ATTRIBUTES { Sid: sid, Attributes: 0 };
            CreateRestrictedToken(token, 0, 1, &raw const off, 0, null(), 0, null(), &raw mut less) != 0
        }
    };
    made.then_some(less)
}

fn copy_of_ours() -> HANDLE {
    let (mut ours, mut copy) = (null_mut(), null_mut());
    // SAFETY: the pseudo handle is always good; both tokens go to locals.
    unsafe {
        OpenProcessToken(GetCurrentProcess(), TOKEN_ALL_ACCESS, &raw mut ours);
        DuplicateTokenEx(ours, TOKEN_ALL_ACCESS, null(), SecurityImpersonation, TokenPrimary, &raw mut copy);
        windows_sys::Win32::Foundation::CloseHandle(ours);
    }
    copy
}

fn account_of(token: HANDLE) -> String {
    let tokens = TOKENS.lock().unwrap_or_else(PoisonError::into_inner);
    let found = tokens.iter().rev().find(|(number, _)| *number == token.addr());
    found.map_or_else(|| "somebody else".to_owned(), |(_, account)| account.clone())
}

unsafe extern "system" fn create_process(
    token: HANDLE,
    program: PCWSTR,
    line: PWSTR,
    process_attributes: *const SECURITY_ATTRIBUTES,
    thread_attributes: *const SECURITY_ATTRIBUTES,
    inherit: BOOL,
    flags: u32,
    env: *const c_void,
    directory: PCWSTR,
    startup: *const STARTUPINFOW,
    born: *mut PROCESS_INFORMATION,
) -> BOOL {
    // SAFETY: the caller gives a null-ended text or null.
    let path = unsafe { read(program) }.unwrap_or_default();
    let arguments = format!("account={} flags={flags:#x} program={path}", account_of(token));
    let answer = Call::new("CreateProcessAsUserW", &arguments).answer(|| 0);
    // SAFETY: everything is passed on as it came, to what stood in the import table.
    unsafe {
        if answer != 0 {
            SetLastError(answer);
            return 0;
        }
        let real = std::mem::transmute::<*mut c_void, CreateProcess>(CREATE_PROCESS.load(Ordering::Relaxed));
        real(
            token,
            program,
            line,
            process_attributes,
            thread_attributes,
            inherit,
            flags,
            env,
            directory,
            startup,
            born,
        )
    }
}

unsafe extern "system" fn create_block(block: *mut *mut c_void, token: HANDLE, inherit: BOOL) -> BOOL {
    let arguments = format!("account={} inherit={inherit}", account_of(token));
    Call::new("CreateEnvironmentBlock", &arguments).answer(|| 0);
    // SAFETY: everything is passed on as it came, to what stood in the import table.
    unsafe {
        std::mem::transmute::<*mut c_void, CreateBlock>(CREATE_BLOCK.load(Ordering::Relaxed))(
            block, token, inherit,
        )
    }
}
