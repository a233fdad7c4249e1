//! Damaged and missing elements: one message each, and the rest works.

use crate::build::*;

#[test]
fn a_text_file_named_jar() {
    let folder = Folder::new();
    let text = folder.write("text.jar", b"This is no archive at all.\n");
    let good = folder.write("good.jar", &zip(&[("A.class", b"a")]));
    let path = open(&[text, good]);
    assert_eq!(
        problems(&path, &folder),
        ["text.jar, offset 0: expected a jar (zip archive), a class file or a runtime image, \
          found text: \"This is no archi\""]
    );
    assert_eq!(bytes(&path, "A"), b"a");
}
