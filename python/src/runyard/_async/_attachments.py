"""Attachments of follow-ups, uploaded in advance."""

from __future__ import annotations

from collections.abc import Sequence

from .._errors import RunyardError
from .._models import FollowupAttachment, PrepareAttachmentsResponse
from .._options import RequestOptions
from .._params import AttachmentFileParam, UploadFile
from .._parse import into, parse_json, read_bytes
from .._request import Call, Upload
from ._transport import AsyncTransport


async def prepare_attachments(
    transport: AsyncTransport,
    place: str,
    attachments: Sequence[AttachmentFileParam],
    options: RequestOptions,
) -> PrepareAttachmentsResponse:
    """Asks for an address for each file. `place` is the path of the run or conversation."""
    call = _prepare(place, attachments)
    return await transport.send(call, into(PrepareAttachmentsResponse), options)


async def upload_attachments(
    transport: AsyncTransport, place: str, files: Sequence[UploadFile], options: RequestOptions
) -> list[FollowupAttachment]:
    """Prepares the files, uploads them one after another, and returns what a follow-up names them by."""
    named: list[AttachmentFileParam] = [
        {"file_name": file["file_name"], "mime_type": file["mime_type"]} for file in files
    ]
    answer = await transport.request(_prepare(place, named), options)
    prepared = parse_json(answer.content, PrepareAttachmentsResponse).attachments
    if len(prepared) < len(files):
        raise RunyardError("The service prepared fewer attachments than it was asked for.")
    for file, target in zip(files, prepared, strict=False):
        content = file["content"]
        data = content.encode() if isinstance(content, str) else bytes(content)
        upload = Upload(data, file["mime_type"])
        call = Call("PUT", place, accept="*/*", link=target.upload_url, upload=upload)
        await transport.send(call, read_bytes, options)
    return [FollowupAttachment(attachment_id=each.attachment_id) for each in prepared]


def _prepare(place: str, attachments: Sequence[AttachmentFileParam]) -> Call:
    return Call("POST", f"{place}/attachments/prepare", body={"attachments": attachments})
