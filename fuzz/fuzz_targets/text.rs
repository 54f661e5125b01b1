//! Any bytes as a message, and as the short fields beside it.
#![no_main]

mod reading;

use backstop::domain::Failure;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&[u8], &[u8], Option<u16>, Option<i32>)| {
    let (message, name, status, exit_code) = input;
    let name = String::from_utf8_lossy(name);
    reading::read(&Failure {
        message: String::from_utf8_lossy(message).into_owned(),
        exception_type: name.to_string(),
        code: name.to_string(),
        grpc_code: name.into_owned(),
        http_status: status,
        exit_code,
        ..Failure::default()
    });
});
