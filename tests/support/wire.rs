//! A gRPC client that knows nothing but what the server's reflection tells it.
//!
//! Messages are built from and shown as JSON with proto field names, defaults left out, so a test says what goes over
//! the wire and not what some generated type makes of it.

use std::collections::BTreeSet;

use anyhow::{Context, Result, anyhow, bail};
use prost::Message;
use prost_reflect::{
    DescriptorPool, DynamicMessage, MessageDescriptor, MethodDescriptor, SerializeOptions,
};
use prost_types::FileDescriptorProto;
use serde_json::Value as Json;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Channel;
use tonic::{Request, Status};
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use tonic_reflection::pb::v1::{ServerReflectionRequest, ServerReflectionResponse};

/// The package whose services are called.
const PACKAGE: &str = "backstop.v1";

/// A connection and the descriptors of everything behind it.
#[derive(Debug, Clone)]
pub(crate) struct Wire {
    channel: Channel,
    pool: DescriptorPool,
}

impl Wire {
    /// Asks the server for the descriptors of all its services of the package.
    pub(crate) async fn connect(channel: Channel) -> Result<Self> {
        let mut reflection = ServerReflectionClient::new(channel.clone());
        let mut files: Vec<FileDescriptorProto> = Vec::new();
        let mut known = BTreeSet::new();
        let mut wanted: Vec<MessageRequest> = service_names(&mut reflection)
            .await?
            .into_iter()
            .map(MessageRequest::FileContainingSymbol)
            .collect();
        if wanted.is_empty() {
            bail!("reflection lists no service of package {PACKAGE}");
        }
        while let Some(request) = wanted.pop() {
            for file in descriptors(&mut reflection, request).await? {
                if known.insert(file.name().to_owned()) {
                    wanted.extend(
                        file.dependency
                            .iter()
                            .filter(|name| !known.contains(*name))
                            .map(|name| MessageRequest::FileByFilename(name.clone())),
                    );
                    files.push(file);
                }
            }
        }
        let mut pool = DescriptorPool::new();
        pool.add_file_descriptor_protos(files)
            .context("the descriptors of reflection do not fit together")?;
        Ok(Wire { channel, pool })
    }

    /// A client of services that are known already.
    pub(crate) fn with_pool(channel: Channel, pool: DescriptorPool) -> Self {
        Wire { channel, pool }
    }

    /// The unary method of that name, whichever service of the package has it.
    pub(crate) fn method(&self, name: &str) -> Result<MethodDescriptor> {
        let found: Vec<MethodDescriptor> = self
            .pool
            .services()
            .filter(|service| service.package_name() == PACKAGE)
            .flat_map(|service| service.methods().collect::<Vec<_>>())
            .filter(|method| method.name() == name)
            .collect();
        match found.as_slice() {
            [] => Err(anyhow!("unknown method `{name}`")),
            [method] if method.is_client_streaming() || method.is_server_streaming() => Err(
                anyhow!("`{name}` is a stream; only unary methods are played"),
            ),
            [method] => Ok(method.clone()),
            _ => Err(anyhow!("`{name}` is a method of several services")),
        }
    }

    /// Calls a unary method.
    pub(crate) async fn call(
        &self,
        method: &MethodDescriptor,
        request: DynamicMessage,
    ) -> Result<DynamicMessage, Status> {
        let path = format!("/{}/{}", method.parent_service().full_name(), method.name());
        let path = PathAndQuery::try_from(path)
            .map_err(|error| Status::internal(format!("no such path: {error}")))?;
        let mut client = tonic::client::Grpc::new(self.channel.clone());
        client
            .ready()
            .await
            .map_err(|error| Status::unavailable(format!("cannot connect: {error}")))?;
        let codec = DynamicCodec {
            incoming: method.output(),
        };
        let answer = client.unary(Request::new(request), path, codec).await?;
        Ok(answer.into_inner())
    }

    /// Calls a method by name with a JSON request; the answer as JSON.
    pub(crate) async fn call_json(&self, name: &str, request: Json) -> Result<Json> {
        let method = self.method(name)?;
        let request = DynamicMessage::deserialize(method.input(), request)?;
        to_json(&self.call(&method, request).await?)
    }
}

/// A message as JSON: proto field names, enum values by name, defaults left out, 64-bit integers as numbers.
pub(crate) fn to_json(message: &DynamicMessage) -> Result<Json> {
    let options = SerializeOptions::new()
        .use_proto_field_name(true)
        .skip_default_fields(true)
        .stringify_64_bit_integers(false);
    Ok(message.serialize_with_options(serde_json::value::Serializer, &options)?)
}

async fn service_names(reflection: &mut ServerReflectionClient<Channel>) -> Result<Vec<String>> {
    match ask(reflection, MessageRequest::ListServices(String::new())).await? {
        MessageResponse::ListServicesResponse(list) => Ok(list
            .service
            .into_iter()
            .map(|service| service.name)
            .filter(|name| {
                name.strip_prefix(PACKAGE)
                    .is_some_and(|rest| rest.starts_with('.'))
            })
            .collect()),
        other => bail!("reflection answered {other:?}"),
    }
}

async fn descriptors(
    reflection: &mut ServerReflectionClient<Channel>,
    request: MessageRequest,
) -> Result<Vec<FileDescriptorProto>> {
    match ask(reflection, request.clone()).await? {
        MessageResponse::FileDescriptorResponse(answer) => answer
            .file_descriptor_proto
            .iter()
            .map(|bytes| Ok(FileDescriptorProto::decode(bytes.as_slice())?))
            .collect(),
        other => bail!("reflection answered {other:?} to {request:?}"),
    }
}

async fn ask(
    reflection: &mut ServerReflectionClient<Channel>,
    request: MessageRequest,
) -> Result<MessageResponse> {
    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(request),
    };
    let mut answers = reflection
        .server_reflection_info(tokio_stream::once(request))
        .await?
        .into_inner();
    let answer: Option<ServerReflectionResponse> = answers.message().await?;
    answer
        .and_then(|answer| answer.message_response)
        .context("reflection ended without an answer")
}

/// Sends and receives dynamic messages. `incoming` is the type that is read.
#[derive(Debug, Clone)]
pub(crate) struct DynamicCodec {
    /// What the other side sends.
    pub(crate) incoming: MessageDescriptor,
}

impl Codec for DynamicCodec {
    type Encode = DynamicMessage;
    type Decode = DynamicMessage;
    type Encoder = DynamicEncoder;
    type Decoder = DynamicDecoder;

    fn encoder(&mut self) -> Self::Encoder {
        DynamicEncoder
    }

    fn decoder(&mut self) -> Self::Decoder {
        DynamicDecoder(self.incoming.clone())
    }
}

/// Writes messages whose type is known at run time only.
#[derive(Debug)]
pub(crate) struct DynamicEncoder;

impl Encoder for DynamicEncoder {
    type Item = DynamicMessage;
    type Error = Status;

    fn encode(&mut self, item: DynamicMessage, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        item.encode(out)
            .map_err(|error| Status::internal(error.to_string()))
    }
}

/// Reads messages whose type is known at run time only.
#[derive(Debug)]
pub(crate) struct DynamicDecoder(MessageDescriptor);

impl Decoder for DynamicDecoder {
    type Item = DynamicMessage;
    type Error = Status;

    fn decode(&mut self, bytes: &mut DecodeBuf<'_>) -> Result<Option<DynamicMessage>, Status> {
        DynamicMessage::decode(self.0.clone(), bytes)
            .map(Some)
            .map_err(|error| Status::internal(error.to_string()))
    }
}
