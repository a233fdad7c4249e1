//! A runtime image of two classes, made by hand.

use std::io::Write;

use unsnarl_classpath::{ClassPath, JdkChoice, Options};

/// Opens a JDK alone.
pub(crate) fn open(jdk: JdkChoice) -> ClassPath {
    ClassPath::open(&Options { inputs: vec![], class_path: vec![], jdk, release: None })
}

/// `java/lang/Object` with the contents `object object`, and `module-info`, both of `java.base`.
pub(crate) fn small(compressed: bool) -> Vec<u8> {
    let strings = b"\0java.base\0java/lang\0Object\0class\0module-info\0zip\0";
    let string = |text: &str| {
        let text = [b"\0", text.as_bytes(), b"\0"].concat();
        strings.windows(text.len()).position(|window| window == text).expect("a string") + 1
    };
    let mut contents = Vec::new();
    let mut locations = vec![0];
    let mut offsets = Vec::new();
    for (parent, base, bytes) in
        [("java/lang", "Object", &b"object object"[..]), ("", "module-info", b"module")]
    {
        let packed = if compressed { pack(bytes, string("zip")) } else { bytes.to_vec() };
        offsets.push(locations.len());
        let parent = if parent.is_empty() { 0 } else { string(parent) };
        let packed_size = if compressed { packed.len() } else { 0 };
        let attributes = [
            string("java.base"),
            parent,
            string(base),
            string("class"),
            contents.len(),
            packed_size,
            bytes.len(),
        ];
        for (kind, value) in (1u8..).zip(attributes) {
            locations.extend([kind << 3, u8::try_from(value).expect("small")]);
        }
        locations.push(0);
        contents.extend(packed);
    }

    let mut image = Vec::new();
    let mut number = |value: usize| image.extend((value as u32).to_le_bytes());
    number(0xcafe_dada);
    number(1 << 16);
    number(0);
    number(offsets.len());
    number(offsets.len());
    number(locations.len());
    number(strings.len());
    // The hash table, which is not looked at.
    offsets.iter().for_each(|_| number(0));
    offsets.iter().for_each(|&offset| number(offset));
    image.extend(locations);
    image.extend(strings);
    image.extend(contents);
    image
}

fn pack(bytes: &[u8], method: usize) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).expect("memory");
    let body = encoder.finish().expect("memory");
    let mut packed = 0xcafe_fafa_u32.to_le_bytes().to_vec();
    packed.extend((body.len() as u64).to_le_bytes());
    packed.extend((bytes.len() as u64).to_le_bytes());
    packed.extend((method as u32).to_le_bytes());
    packed.extend(0u32.to_le_bytes());
    packed.push(1);
    packed.extend(body);
    packed
}
