//! What is wrong with the settings, and in which layer.

use std::fmt;

use super::layers::Layer;

/// One thing that is wrong with the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsFault {
    /// Where it was set: a file with its line, an environment variable, a flag.
    pub place: String,
    /// The setting, e.g. `server.listen`; empty where the whole layer is at fault.
    pub field: String,
    /// What is wrong and what to write instead.
    pub problem: String,
    /// The nearest known name, as it is written in that layer.
    pub suggestion: Option<String>,
}

impl SettingsFault {
    pub(super) fn at(layer: &Layer, path: &str, problem: String) -> Self {
        SettingsFault {
            place: layer.to_string(),
            field: path.to_owned(),
            problem,
            suggestion: None,
        }
    }
}

impl fmt::Display for SettingsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)?;
        if !self.field.is_empty() {
            write!(f, ", {}", self.field)?;
        }
        write!(f, ": {}", self.problem)?;
        if let Some(suggestion) = &self.suggestion {
            write!(f, "; did you mean `{suggestion}`?")?;
        }
        Ok(())
    }
}

/// All faults, in the order of the layers; never empty. Prints one a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct SettingsError {
    /// In the order of the layers.
    pub faults: Vec<SettingsFault>,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.faults.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            fault.fmt(f)?;
        }
        Ok(())
    }
}
