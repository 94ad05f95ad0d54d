//! The entries of a tar file, one after the other, in bounded memory.
//!
//! The fields are read by the tar crate; its iterator is not used because it takes extension headers of any size into
//! memory and knows nothing of newer sparse files. Where readers of tar files differ, this one sees what Go's sees,
//! because scanners and other runtimes see that: links and directories have no body, whatever size they claim.

use std::io::{self, BufRead, BufReader, Read, Seek};

use os::tree::{Attributes, Node};
use tar::{EntryType, Header};

use super::attributes;
use super::error::{UnpackError, shown};
use super::pax::Records;
use super::sparse::{self, Segment};
use super::{Limits, unwrapped};

pub(super) const BLOCK: usize = 512;

/// What an entry is to become.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: Vec<u8>,
    pub(super) kind: Kind,
    pub(super) attributes: Attributes,
    /// It has attributes of Windows that are not among them.
    pub(super) windows_extended: bool,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// With the whole size and, if it has holes, where the data goes.
    File {
        size: u64,
        segments: Option<Vec<Segment>>,
    },
    Directory,
    /// With its text, and whether it says to lead to a directory.
    Symlink {
        to: Vec<u8>,
        directory: bool,
    },
    HardLink {
        to: Vec<u8>,
    },
    Node(Node),
}

/// Reads members; the body of the last one is read in between, or passed over.
pub(super) struct Reader<R> {
    from: R,
    limits: Limits,
    /// Of the body that is being read, and what fills its last block.
    left: u64,
    padding: u64,
    entries: u64,
    last: String,
}

/// What stood before the header that it is about.
#[derive(Default)]
struct Extension {
    name: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    records: Records,
}

// === impl Reader ===

impl<R: BufRead> Reader<R> {
    pub(super) fn new(from: R, limits: Limits) -> Reader<R> {
        Reader { from, limits, left: 0, padding: 0, entries: 0, last: "the start".to_owned() }
    }

    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    /// The next member, or `None` at the end of the archive.
    pub(super) fn next(&mut self) -> Result<Option<Member>, UnpackError> {
        let mut extension = Extension::default();
        loop {
            self.pass()?;
            let Some(block) = self.header()? else { return Ok(None) };
            let header = Header::from_byte_slice(&block);
            self.entries += 1;
            if self.entries > self.limits.entries {
                return Err(UnpackError::Entries { limit: self.limits.entries });
            }
            let size = header.entry_size().map_err(|_| self.bad("its size is not a number"))?;
            match header.entry_type() {
                EntryType::XHeader => {
                    let body = self.extension(size)?;
                    extension.records =
                        Records::parse(&body).ok_or_else(|| self.bad("a PAX record is not whole"))?;
                }
                EntryType::GNULongName => extension.name = Some(text(self.extension(size)?)),
                EntryType::GNULongLink => extension.link = Some(text(self.extension(size)?)),
                // About the archive, not about an entry.
                EntryType::XGlobalHeader => self.begin(size)?,
                _ => return self.member(header, size, extension).map(Some),
            }
        }
    }

    fn member(&mut self, header: &Header, size: u64, extension: Extension) -> Result<Member, UnpackError> {
        let records = extension.records;
        let name = records.sparse_name().or_else(|| records.bytes("path")).map(<[u8]>::to_vec);
        let name = name.or(extension.name).unwrap_or_else(|| header.path_bytes().into_owned());
        let link = records.bytes("linkpath").map(<[u8]>::to_vec).or(extension.link);
        let link =
            link.or_else(|| header.link_name_bytes().map(|link| link.into_owned())).unwrap_or_default();
        self.last = shown(&name);
        for text in [&name, &link] {
            if text.len() > self.limits.path {
                return Err(UnpackError::Long { name: shown(text), limit: self.limits.path });
            }
        }
        let size = match records.text("size") {
            Some(text) => text.parse().map_err(|_| self.bad("its PAX size is not a number"))?,
            None => size,
        };
        let attributes = attributes::of(header, &records);
        let kind = self.kind(header, &name, link, size, &records)?;
        let windows_extended = attributes::has_windows_extended(&records);
        Ok(Member { name, kind, attributes, windows_extended })
    }

    fn kind(
        &mut self,
        header: &Header,
        name: &[u8],
        link: Vec<u8>,
        size: u64,
        records: &Records,
    ) -> Result<Kind, UnpackError> {
        Ok(match header.entry_type() {
            // Before there was a type for directories, the slash said it; where there is one, it says nothing. Whoever
            // read the next body as headers would see other files than those who scan images.
            EntryType::Regular if header.as_old().linkflag == [0] && name.ends_with(b"/") => Kind::Directory,
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                self.begin(size)?;
                self.file(header, name, size, records)?
            }
            EntryType::Directory => Kind::Directory,
            EntryType::Symlink => {
                let directory = attributes::says_directory(records);
                Kind::Symlink { to: link, directory }
            }
            EntryType::Link => Kind::HardLink { to: link },
            EntryType::Fifo => Kind::Node(Node::Fifo),
            EntryType::Char => self.device(header, Node::Character)?,
            EntryType::Block => self.device(header, Node::Block)?,
            other => {
                let kind = format!("an entry of type {:?}", char::from(other.as_byte()));
                return Err(UnpackError::Kind { name: shown(name), kind });
            }
        })
    }

    fn file(
        &mut self,
        header: &Header,
        name: &[u8],
        size: u64,
        records: &Records,
    ) -> Result<Kind, UnpackError> {
        let bad = || UnpackError::Sparse { name: shown(name) };
        let (whole, segments) = if header.entry_type() == EntryType::GNUSparse {
            let whole = header.as_gnu().and_then(|gnu| gnu.real_size().ok()).ok_or_else(bad)?;
            (whole, sparse::of_header(header, || self.block()).map_err(|e| self.broken(e))?.ok_or_else(bad)?)
        } else if records.is_sparse() {
            let whole = records.sparse_size().ok_or_else(bad)?;
            let limit = self.limits.header;
            (
                whole,
                sparse::of_records(records, &mut self.body(), limit)
                    .map_err(|e| self.broken(e))?
                    .ok_or_else(bad)?,
            )
        } else {
            return Ok(Kind::File { size, segments: None });
        };
        if whole > self.limits.bytes {
            return Err(UnpackError::Bytes { limit: self.limits.bytes });
        }
        if sparse::fit(&segments, whole, self.left) {
            Ok(Kind::File { size: whole, segments: Some(segments) })
        } else {
            Err(bad())
        }
    }

    fn device(&self, header: &Header, node: fn(u32, u32) -> Node) -> Result<Kind, UnpackError> {
        let number = |found: io::Result<Option<u32>>| found.ok().flatten();
        match (number(header.device_major()), number(header.device_minor())) {
            (Some(major), Some(minor)) => Ok(Kind::Node(node(major, minor))),
            _ => Err(self.bad("its device number is not a number")),
        }
    }

    /// The body of an extension header, which is in memory as a whole.
    fn extension(&mut self, size: u64) -> Result<Vec<u8>, UnpackError> {
        if size > self.limits.header as u64 {
            return Err(UnpackError::Long {
                name: format!("a header after {}", self.last),
                limit: self.limits.header,
            });
        }
        self.begin(size)?;
        let mut body = Vec::new();
        self.body().read_to_end(&mut body).map_err(|e| self.broken(e))?;
        Ok(body)
    }

    fn begin(&mut self, size: u64) -> Result<(), UnpackError> {
        if size > self.limits.bytes {
            return Err(UnpackError::Bytes { limit: self.limits.bytes });
        }
        (self.left, self.padding) = (size, size.next_multiple_of(BLOCK as u64) - size);
        Ok(())
    }

    /// Passes over what is left of the last body.
    fn pass(&mut self) -> Result<(), UnpackError> {
        io::copy(&mut self.body(), &mut io::sink()).map_err(|e| self.broken(e))?;
        self.left = std::mem::take(&mut self.padding);
        io::copy(&mut self.body(), &mut io::sink()).map_err(|e| self.broken(e))?;
        Ok(())
    }

    /// A header, or `None` at the end: two blocks of zeros, or nothing more where a header could begin.
    fn header(&mut self) -> Result<Option<[u8; BLOCK]>, UnpackError> {
        if self.at_end()? {
            return Ok(None);
        }
        let block = self.block().map_err(|e| self.broken(e))?;
        if block != [0; BLOCK] {
            return if sums_up(&block) { Ok(Some(block)) } else { Err(self.bad("its checksum is wrong")) };
        }
        if self.at_end()? || self.block().map_err(|e| self.broken(e))? == [0; BLOCK] {
            return Ok(None);
        }
        Err(self.bad("a single block of zeros"))
    }

    fn at_end(&mut self) -> Result<bool, UnpackError> {
        let ended = self.from.fill_buf().map(<[u8]>::is_empty);
        ended.map_err(|e| self.broken(e))
    }

    fn block(&mut self) -> io::Result<[u8; BLOCK]> {
        let mut block = [0; BLOCK];
        self.from.read_exact(&mut block)?;
        Ok(block)
    }

    pub(super) fn body(&mut self) -> Body<'_, R> {
        Body(self)
    }

    fn bad(&self, what: &'static str) -> UnpackError {
        UnpackError::Header { after: self.last.clone(), what }
    }

    pub(super) fn broken(&self, error: io::Error) -> UnpackError {
        unwrapped(error, |source| UnpackError::Read { after: self.last.clone(), source })
    }
}

impl<F: Read + Seek> Reader<BufReader<F>> {
    /// Passes over the body of the present member without reading it; says where that began.
    pub(super) fn leap(&mut self) -> Result<u64, UnpackError> {
        let length = self.left + std::mem::take(&mut self.padding);
        self.left = 0;
        let start = self.from.stream_position();
        let leap = |start| self.from.seek_relative(length.cast_signed()).map(|()| start);
        start.and_then(leap).map_err(|e| self.broken(e))
    }
}

/// The body of the present member. It is an error if the archive ends before it does.
pub(super) struct Body<'r, R>(&'r mut Reader<R>);

// === impl Body ===

impl<R: BufRead> BufRead for Body<'_, R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let left = usize::try_from(self.0.left).unwrap_or(usize::MAX);
        if left == 0 {
            return Ok(&[]);
        }
        let filled = self.0.from.fill_buf()?;
        if filled.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the layer ends in the middle of a file",
            ));
        }
        Ok(&filled[..filled.len().min(left)])
    }

    fn consume(&mut self, amount: usize) {
        self.0.left -= amount as u64;
        self.0.from.consume(amount);
    }
}

impl<R: BufRead> Read for Body<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        super::stream::read_filled(self, buffer)
    }
}

/// Long names end with a null in some archives.
fn text(mut bytes: Vec<u8>) -> Vec<u8> {
    if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
        bytes.truncate(end);
    }
    bytes
}

/// Whether the checksum is right, which old programs built from signed bytes.
fn sums_up(block: &[u8; BLOCK]) -> bool {
    let Ok(wanted) = Header::from_byte_slice(block).cksum() else { return false };
    let bytes = || block[..148].iter().chain(&block[156..]);
    let unsigned: u32 = bytes().map(|byte| u32::from(*byte)).sum::<u32>() + 8 * u32::from(b' ');
    let signed: i32 = bytes().map(|byte| i32::from(byte.cast_signed())).sum::<i32>() + 8 * i32::from(b' ');
    wanted == unsigned || i64::from(wanted) == i64::from(signed)
}
