//! Lines of fields with tabs between them. Names are bytes; tabs, line ends and backslashes in them are
//! escaped, since class files may have any of them in a name.

/// Appends a line with these fields.
pub(crate) fn write(out: &mut Vec<u8>, fields: &[&[u8]]) {
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            out.push(b'\t');
        }
        for &byte in *field {
            match byte {
                b'\t' => out.extend(b"\\t"),
                b'\n' => out.extend(b"\\n"),
                b'\\' => out.extend(b"\\\\"),
                _ => out.push(byte),
            }
        }
    }
    out.push(b'\n');
}

/// The fields of a line without its end; nothing if an escape is not one.
pub(crate) fn read(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    line.split(|&byte| byte == b'\t').map(unescape).collect()
}

fn unescape(field: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = field.iter();
    let mut out = Vec::with_capacity(field.len());
    while let Some(&byte) = bytes.next() {
        out.push(match byte {
            b'\\' => match bytes.next()? {
                b't' => b'\t',
                b'n' => b'\n',
                b'\\' => b'\\',
                _ => return None,
            },
            _ => byte,
        });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_fields_come_back(
            fields in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..8), 1..5)
        ) {
            let slices: Vec<&[u8]> = fields.iter().map(Vec::as_slice).collect();
            let mut out = Vec::new();
            super::write(&mut out, &slices);
            let (end, line) = out.split_last().unwrap();
            prop_assert_eq!(*end, b'\n');
            prop_assert!(!line.contains(&b'\n'));
            prop_assert_eq!(super::read(line), Some(fields));
        }

        #[test]
        fn nothing_panics(line in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = super::read(&line);
        }
    }
}
