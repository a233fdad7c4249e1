//! Attributes as bytes, copied until they are changed.

use crate::ConstantIndex;
use crate::edit::{PoolEditor, PoolError, put_u16, put_u32};
use crate::read::{Attributes, Cursor};

/// The attributes of a class or member as bytes: those of the file until one is changed.
#[derive(Clone, Debug)]
pub struct AttributeList<'a> {
    state: State<'a>,
}

#[derive(Clone, Debug)]
enum State<'a> {
    Original(Attributes<'a>),
    Changed(Vec<Entry<'a>>),
}

#[derive(Clone, Debug)]
struct Entry<'a> {
    name: ConstantIndex,
    body: Body<'a>,
}

#[derive(Clone, Debug)]
enum Body<'a> {
    Original(Cursor<'a>),
    New(Vec<u8>),
}

impl<'a> AttributeList<'a> {
    pub(crate) fn original(attributes: Attributes<'a>) -> Self {
        Self { state: State::Original(attributes) }
    }

    pub(crate) fn empty() -> Self {
        Self { state: State::Changed(Vec::new()) }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match &self.state {
            State::Original(attributes) => attributes.len(),
            State::Changed(entries) => entries.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The content of the first attribute with this name.
    pub fn get(&self, pool: &PoolEditor<'a>, name: &[u8]) -> Option<Cursor<'_>> {
        match &self.state {
            State::Original(attributes) => attributes
                .iter()
                .find(|attribute| pool.utf8(attribute.name) == Some(name))
                .map(|attribute| attribute.body),
            State::Changed(entries) => entries
                .iter()
                .find(|entry| pool.utf8(entry.name) == Some(name))
                .map(|entry| entry.body.cursor()),
        }
    }

    /// Replaces the content of the first attribute with this name, or adds one at the end.
    pub fn set(
        &mut self,
        pool: &mut PoolEditor<'a>,
        name: &[u8],
        content: Vec<u8>,
    ) -> Result<(), PoolError> {
        match self.position(pool, name) {
            Some(index) => self.entries()[index].body = Body::New(content),
            None => {
                let name = pool.add_utf8(name)?;
                self.entries().push(Entry { name, body: Body::New(content) });
            }
        }
        Ok(())
    }

    /// Removes the first attribute with this name; says whether there was one.
    pub fn remove(&mut self, pool: &PoolEditor<'a>, name: &[u8]) -> bool {
        let position = self.position(pool, name);
        if let Some(index) = position {
            self.entries().remove(index);
        }
        position.is_some()
    }

    fn position(&self, pool: &PoolEditor<'a>, name: &[u8]) -> Option<usize> {
        let named = |index| pool.utf8(index) == Some(name);
        match &self.state {
            State::Original(attributes) => attributes.iter().position(|entry| named(entry.name)),
            State::Changed(entries) => entries.iter().position(|entry| named(entry.name)),
        }
    }

    fn entries(&mut self) -> &mut Vec<Entry<'a>> {
        if let State::Original(attributes) = &self.state {
            let entries = attributes.iter().map(|attribute| Entry {
                name: attribute.name,
                body: Body::Original(attribute.body),
            });
            self.state = State::Changed(entries.collect());
        }
        match &mut self.state {
            State::Changed(entries) => entries,
            State::Original(_) => unreachable!("replaced above"),
        }
    }

    /// Appends the list; the caller has checked that there are at most 65535.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        put_u16(out, self.len() as u16);
        match &self.state {
            State::Original(attributes) => out.extend_from_slice(attributes.bytes()),
            State::Changed(entries) => {
                for entry in entries {
                    let content = entry.body.cursor().rest();
                    put_u16(out, entry.name.0);
                    put_u32(out, content.len() as u32);
                    out.extend_from_slice(content);
                }
            }
        }
    }
}

impl Body<'_> {
    fn cursor(&self) -> Cursor<'_> {
        match self {
            Self::Original(cursor) => *cursor,
            Self::New(bytes) => Cursor::new(bytes),
        }
    }
}
