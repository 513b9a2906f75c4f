# Generated from _async/_artifacts.py by scripts/unasync.py; do not edit.
"""`client.artifacts`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._models import ArtifactResponse
from .._options import RequestOptions
from .._parse import into, parse_json, read_bytes
from .._request import Call, segment
from ._streaming_response import raw_method, streaming_method
from ._transport import RawTransport, StreamingTransport, Transport


class Artifacts:
    """`client.artifacts`"""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> ArtifactsWithRawResponse:
        """The same methods, returning status and headers as well."""
        return ArtifactsWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> ArtifactsWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return ArtifactsWithStreamingResponse(self._transport)

    def retrieve(self, artifact_uid: str, **options: Unpack[RequestOptions]) -> ArtifactResponse:
        """What the artifact is, with a link to its bytes that works without a key for 15 minutes."""
        return self._transport.send(Call("GET", _path(artifact_uid)), into(ArtifactResponse), options)

    def download(self, artifact_uid: str, **options: Unpack[RequestOptions]) -> bytes:
        """The bytes of the artifact. The signed link is asked without the key.

        `with_streaming_response.download` gives large ones piece by piece.
        """
        answer = self._transport.request(Call("GET", _path(artifact_uid)), options)
        link = parse_json(answer.content, ArtifactResponse).data.download_url
        call = Call("GET", _path(artifact_uid), accept="*/*", link=link)
        return self._transport.send(call, read_bytes, options)


class ArtifactsWithRawResponse:
    """`client.artifacts.with_raw_response`"""

    def __init__(self, transport: Transport) -> None:
        artifacts = Artifacts(RawTransport(transport.settings, transport.http))
        self.retrieve = raw_method(artifacts.retrieve)
        self.download = raw_method(artifacts.download)


class ArtifactsWithStreamingResponse:
    """`client.artifacts.with_streaming_response`"""

    def __init__(self, transport: Transport) -> None:
        artifacts = Artifacts(StreamingTransport(transport.settings, transport.http))
        self.retrieve = streaming_method(artifacts.retrieve)
        self.download = streaming_method(artifacts.download)


def _path(artifact_uid: str) -> str:
    return f"/agent/artifacts/{segment(artifact_uid)}"
