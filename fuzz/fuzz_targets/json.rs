//! JSON in the shapes that errors come in, wrapped in text and in itself: escaped once more at each level.
#![no_main]

mod reading;

use backstop::domain::Failure;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (Vec<(&str, &str)>, u8, &str, u16)| {
    let (pairs, depth, prefix, cut) = input;
    let fields: Vec<String> = pairs
        .iter()
        .take(32)
        .map(|(key, value)| format!("{key:?}: {value:?}"))
        .collect();
    let mut body = format!("{{{}}}", fields.join(", "));
    for _ in 0..depth % 4 {
        body = format!("{{\"error\": {{\"code\": 400, \"message\": {body:?}}}}}");
    }
    // A body is often cut off by who logged it.
    let end = body.floor_char_boundary(usize::from(cut));
    for body in [body.as_str(), &body[..end]] {
        reading::read(&Failure {
            message: format!("{prefix} {body}"),
            ..Failure::default()
        });
    }
});
