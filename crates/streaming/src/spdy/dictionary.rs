//! The text that both ends of a header stream start from, as the protocol's third draft lists it.

use std::sync::OnceLock;

/// Words that come with their length, four bytes before each.
const WORDS: &str = "options head post put delete trace accept accept-charset accept-encoding accept-language \
    accept-ranges age allow authorization cache-control connection content-base content-encoding content-language \
    content-length content-location content-md5 content-range content-type date etag expect expires from host if-match \
    if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma \
    proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade \
    user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie \
    keep-alive origin";

/// Text that follows them without lengths.
const TAIL: &str = "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505\
    203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized\
    403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable\
    Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT\
    chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,\
    text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.";

/// What a zlib stream names the dictionary by: its Adler-32.
pub const ID: u32 = 0xe3c6_a7c2;

pub fn bytes() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(build)
}

fn build() -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in WORDS.split_ascii_whitespace() {
        let word = word.replace('_', " ");
        let length = u32::try_from(word.len()).unwrap_or_default();
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(word.as_bytes());
    }
    bytes.extend_from_slice(TAIL.as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adler32(bytes: &[u8]) -> u32 {
        let step = |(a, b): (u32, u32), byte: &u8| {
            let a = (a + u32::from(*byte)) % 65521;
            (a, (b + a) % 65521)
        };
        let (a, b) = bytes.iter().fold((1, 0), step);
        b << 16 | a
    }

    #[test]
    fn it_is_the_dictionary_that_everybody_has() {
        assert_eq!(bytes().len(), 1423);
        assert_eq!(adler32(bytes()), ID);
    }
}
