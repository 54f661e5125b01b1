//! One macro for the closed word lists of the contract: an enum whose values each have one `snake_case` name.

/// A word that is not in the list it should come from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not a {list}")]
pub struct ParseNameError {
    /// What was given.
    pub word: String,
    /// Which list it was looked up in, e.g. `kind`.
    pub list: &'static str,
}

/// Declares an enum with a `snake_case` name for each value, `ALL`, `name()`, `Display`, `FromStr` and serde by name.
macro_rules! named_enum {
    ($(#[$meta:meta])* $type:ident, $list:literal { $($(#[$value_meta:meta])* $value:ident = $name:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $type { $($(#[$value_meta])* #[serde(rename = $name)] $value),+ }

        impl $type {
            /// Every value, in the order of declaration.
            pub const ALL: &'static [$type] = &[$($type::$value),+];

            /// The `snake_case` name used in policies, rules, logs and metric labels.
            pub const fn name(self) -> &'static str {
                match self { $($type::$value => $name),+ }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::domain::ParseNameError;
            fn from_str(word: &str) -> Result<Self, Self::Err> {
                match word {
                    $($name => Ok($type::$value),)+
                    _ => Err($crate::domain::ParseNameError { word: word.to_owned(), list: $list }),
                }
            }
        }
    };
}
pub(crate) use named_enum;
