//! Tools in which failing is part of the work: declared ones, and the usual names of shells, SQL consoles,
//! interpreters, notebooks and test runners.
//!
//! A wrong guess here lets an error pass as a finding, so only names that are unmistakable by themselves are listed;
//! `query`, `execute` or `run` alone are not. A policy entry of a tool, whatever it says, ends the guessing.

use super::model::{Policy, ToolPolicy};

/// Whether failing is part of a tool's work, and who says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exploratory {
    /// It is not.
    No,
    /// The policy says so.
    Declared,
    /// Nobody described the tool, but it has a usual name.
    ByName,
}

/// Sorted, in `snake_case`.
const USUAL_NAMES: &[&str] = &[
    "bash",
    "bash_command",
    "bash_tool",
    "code_execution",
    "code_executor",
    "code_interpreter",
    "duckdb",
    "exec_command",
    "execute_bash",
    "execute_code",
    "execute_command",
    "execute_ipython_cell",
    "execute_python",
    "execute_python_code",
    "execute_shell",
    "execute_shell_command",
    "execute_sql",
    "execute_sql_query",
    "interactive_shell",
    "ipython",
    "ipython_cell",
    "jupyter",
    "jupyter_cell",
    "jupyter_notebook",
    "local_shell",
    "mysql",
    "node_repl",
    "notebook",
    "notebook_execute",
    "postgres_query",
    "powershell",
    "psql",
    "pytest",
    "python",
    "python3",
    "python_code",
    "python_exec",
    "python_interpreter",
    "python_repl",
    "python_repl_ast",
    "repl",
    "run_bash",
    "run_cell",
    "run_code",
    "run_command",
    "run_command_in_terminal",
    "run_in_terminal",
    "run_ipython",
    "run_notebook_cell",
    "run_pytest",
    "run_python",
    "run_python_code",
    "run_shell",
    "run_shell_command",
    "run_sql",
    "run_sql_query",
    "run_terminal_cmd",
    "run_terminal_command",
    "run_test",
    "run_tests",
    "run_unit_tests",
    "sh",
    "shell",
    "shell_command",
    "shell_exec",
    "shell_execute",
    "shell_tool",
    "sql",
    "sql_console",
    "sql_db_query",
    "sql_query",
    "sqlite",
    "sqlite3",
    "terminal",
    "test_runner",
    "unit_tests",
    "zsh",
];

impl Policy {
    /// Whether a name alone says that failing is part of the work: the whole name, or its last part behind a
    /// namespace (`mcp__box__bash`, `functions.python`, `tools/run_tests`), in any spelling (`runTests`, `run-tests`).
    pub fn exploratory_by_name(tool: &str) -> bool {
        let last_part = tool
            .rsplit(['.', '/', ':'])
            .next()
            .and_then(|part| part.rsplit("__").next())
            .unwrap_or(tool);
        let whole = tool.replace(['.', '/', ':'], "_");
        [last_part, &whole].iter().any(|name| {
            USUAL_NAMES
                .binary_search(&snake_case(name).as_str())
                .is_ok()
        })
    }

    /// Whether failing is part of the tool's work. `tool` is its entry, `name` what the worker calls it.
    pub fn is_exploratory(&self, tool: &ToolPolicy, name: &str) -> Exploratory {
        match (&tool.entry, tool.exploratory) {
            (_, Some(true)) => Exploratory::Declared,
            (None, None) if Policy::exploratory_by_name(name) => Exploratory::ByName,
            _ => Exploratory::No,
        }
    }
}

/// `runTests`, `Run-Tests` and `RUN TESTS` are all `run_tests`.
fn snake_case(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 4);
    let mut after_lower = false;
    for c in name.trim().chars() {
        match c {
            '-' | ' ' | '_' => text.push('_'),
            c if c.is_uppercase() => {
                if after_lower {
                    text.push('_');
                }
                text.extend(c.to_lowercase());
            }
            c => text.push(c),
        }
        after_lower = c.is_lowercase() || c.is_ascii_digit();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_in_snake_case() {
        assert!(USUAL_NAMES.is_sorted());
        for name in USUAL_NAMES {
            assert_eq!(&snake_case(name), name);
        }
    }

    #[test]
    fn knows_usual_names_in_any_spelling() {
        for name in [
            "bash",
            "Bash",
            "mcp__box__bash",
            "functions.python",
            "tools/run_tests",
            "runTests",
            "run-tests",
            "RunCommand",
            "notebook.execute",
            "container.exec_command",
            "PythonREPL",
        ] {
            assert!(Policy::exploratory_by_name(name), "{name}");
        }
    }

    #[test]
    fn does_not_guess() {
        for name in [
            "query",
            "execute",
            "run",
            "exec_payment",
            "search",
            "notebook.edit",
            "create_charge",
            "execute_trade",
            "run_payroll",
            "bash_the_bishop",
            "send_command",
            "python_docs_search",
            "deploy_terminal",
            "test",
            "cmd",
            "",
            "__",
        ] {
            assert!(!Policy::exploratory_by_name(name), "{name}");
        }
    }

    #[test]
    fn an_entry_ends_the_guessing() {
        let policy =
            Policy::parse("tools: {bash: {effect: idempotent}, look: {exploratory: true}}")
                .unwrap();
        for (name, expected) in [
            ("bash", Exploratory::No),
            ("look", Exploratory::Declared),
            ("psql", Exploratory::ByName),
            ("query", Exploratory::No),
        ] {
            assert_eq!(
                policy.is_exploratory(&policy.tool(name), name),
                expected,
                "{name}"
            );
        }
    }
}
