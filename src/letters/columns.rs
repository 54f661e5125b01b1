//! Text set in columns for a terminal: wrapped, indented, and free of control characters, since failures quote whatever
//! a server sent and an escape sequence in one must not reach somebody's terminal.

/// The width that everything is set for.
pub(crate) const WIDTH: usize = 80;

/// Lines of at most `width` characters (at least 1), broken at spaces, inside a word only where it is longer than a
/// line. Line breaks of the text stay; other control characters become spaces.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let clean: String = paragraph
            .chars()
            .map(|c| if steers(c) { ' ' } else { c })
            .collect();
        wrap_paragraph(&clean, width.max(1), &mut lines);
    }
    lines
}

/// Control characters, and those that reorder what stands beside them.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn wrap_paragraph(text: &str, width: usize, lines: &mut Vec<String>) {
    let mut line = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let mut rest: Vec<char> = word.chars().collect();
        if length > 0 && length + 1 + rest.len() > width {
            lines.push(std::mem::take(&mut line));
            length = 0;
        }
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        while rest.len() > width {
            let tail = rest.split_off(width);
            lines.push(rest.iter().collect());
            rest = tail;
        }
        length += rest.len();
        line.extend(rest);
    }
    lines.push(line);
}

/// One block: `label` in a column of `indent` characters, the text beside it. Ends with a line break.
pub(crate) fn beside(label: &str, indent: usize, text: &str) -> String {
    let mut block = String::new();
    for (number, line) in wrap(text, WIDTH.saturating_sub(indent)).iter().enumerate() {
        let label = if number == 0 { label } else { "" };
        let whole = format!("{label:indent$}{line}");
        block.push_str(whole.trim_end());
        block.push('\n');
    }
    block
}
