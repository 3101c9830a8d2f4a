"""Bytes from one connection to another."""

import asyncio


async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy until one side ends; the other one is told, and its own direction may go on."""
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except OSError:
        writer.transport.abort()
