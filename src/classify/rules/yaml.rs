//! YAML as JSON values, so that rule files are read by serde like everything else.

use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Number, Value};

/// The first document of `source`.
pub(super) fn to_json(source: &str) -> Result<Value, String> {
    let documents = Yaml::load_from_str(source).map_err(|error| error.to_string())?;
    documents
        .first()
        .map_or(Err("the file is empty".to_owned()), convert)
}

fn convert(node: &Yaml<'_>) -> Result<Value, String> {
    match node {
        Yaml::Value(scalar) => Ok(scalar_value(scalar)),
        Yaml::Sequence(items) => items
            .iter()
            .map(convert)
            .collect::<Result<_, _>>()
            .map(Value::Array),
        Yaml::Mapping(entries) => {
            let mut map = Map::new();
            for (key, value) in entries {
                let key = key
                    .as_str()
                    .ok_or_else(|| "a key is not a string".to_owned())?;
                map.insert(key.to_owned(), convert(value)?);
            }
            Ok(Value::Object(map))
        }
        _ => Err("tags and aliases are not used in rule files".to_owned()),
    }
}

fn scalar_value(scalar: &Scalar<'_>) -> Value {
    match scalar {
        Scalar::Null => Value::Null,
        Scalar::Boolean(flag) => Value::Bool(*flag),
        Scalar::Integer(number) => Value::Number((*number).into()),
        Scalar::FloatingPoint(number) => {
            Number::from_f64(number.into_inner()).map_or(Value::Null, Value::Number)
        }
        Scalar::String(text) => Value::String(text.to_string()),
    }
}
