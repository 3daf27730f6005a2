#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Read a container of the typed profile and write the BSON documents it holds.

Usage: read_typed.py FILE >DOCUMENTS

Written from lib/codec/profile.h alone, as a second opinion on what our files mean: it shares nothing with the
library. Codecs null and deflate.
"""
import io
import json
import struct
import sys
import zlib


class Whole(Exception):
    """The record is kept in `_raw`."""


def read_long(data):
    number = shift = 0
    while True:
        byte = data.read(1)[0]
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1)


def read_bytes(data):
    size = read_long(data)
    value = data.read(size)
    assert len(value) == size
    return value


def document(elements):
    return struct.pack("<i", len(elements) + 5) + elements + b"\0"


def string(text):
    text.decode("utf-8")
    return struct.pack("<i", len(text) + 1) + text + b"\0"


def binary(subtype, data):
    return struct.pack("<iB", len(data), subtype) + data


def resolve(schema, names):
    """Replace names by what they name."""
    if isinstance(schema, str):
        return names.get(schema, {"type": schema})
    if isinstance(schema, list):
        return [resolve(branch, names) for branch in schema]
    if "name" in schema:
        names[schema["name"]] = schema
    if schema["type"] == "record":
        for field in schema["fields"]:
            field["type"] = resolve(field["type"], names)
    if schema["type"] == "array":
        schema["items"] = resolve(schema["items"], names)
    return schema


def read_array(schema, data):
    elements = b""
    position = 0
    count = read_long(data)
    while count > 0:
        for _ in range(count):
            kind, value = read_value(schema["items"], data)
            elements += bytes([kind]) + str(position).encode() + b"\0" + value
            position += 1
        count = read_long(data)
    assert count == 0
    return document(elements)


def read_map(data):
    assert read_long(data) == 0
    return document(b"")


def read_date(schema, data):
    return (0x09 if schema.get("logicalType") == "timestamp-millis" else 0x12), struct.pack("<q", read_long(data))


PLAIN = {
    "double": lambda schema, data: (0x01, data.read(8)),
    "string": lambda schema, data: (0x02, string(read_bytes(data))),
    "record": lambda schema, data: (0x03, document(read_fields(schema, data))),
    "map": lambda schema, data: (0x03, read_map(data)),
    "array": lambda schema, data: (0x04, read_array(schema, data)),
    "bytes": lambda schema, data: (0x05, binary(0, read_bytes(data))),
    "boolean": lambda schema, data: (0x08, data.read(1)),
    "int": lambda schema, data: (0x10, struct.pack("<i", read_long(data))),
    "long": read_date,
}

SYMBOLS = {"undefined": 0x06, "null": 0x0A, "maxkey": 0x7F, "minkey": 0xFF}


def read_marked(mark, data):
    if mark in SYMBOLS:
        assert read_long(data) == 0
        return SYMBOLS[mark], b""
    if mark == "document":
        return 0x03, read_bytes(data)
    if mark == "array":
        return 0x04, read_bytes(data)
    if mark == "binary":
        subtype = read_long(data)
        return 0x05, binary(subtype, read_bytes(data))
    if mark == "objectid":
        return 0x07, data.read(12)
    if mark == "date":
        return 0x09, struct.pack("<q", read_long(data))
    if mark == "regex":
        pattern = read_bytes(data)
        return 0x0B, pattern + b"\0" + read_bytes(data) + b"\0"
    if mark == "dbpointer":
        reference = string(read_bytes(data))
        return 0x0C, reference + data.read(12)
    if mark == "code":
        return 0x0D, string(read_bytes(data))
    if mark == "symbol":
        return 0x0E, string(read_bytes(data))
    if mark == "code_w_scope":
        code = string(read_bytes(data))
        scope = read_bytes(data)
        return 0x0F, struct.pack("<i", 4 + len(code) + len(scope)) + code + scope
    if mark == "timestamp":
        seconds = read_long(data)
        return 0x11, struct.pack("<II", read_long(data), seconds)
    if mark == "decimal128":
        return 0x13, data.read(16)
    if mark == "raw":
        raise Whole(read_bytes(data))
    raise ValueError(mark)


def read_value(schema, data):
    """BSON type and bytes of a value; None where it is absent."""
    if isinstance(schema, list):
        schema = schema[read_long(data)]
    if schema["type"] == "null":
        return None
    if "cra.type" in schema:
        return read_marked(schema["cra.type"], data)
    return PLAIN[schema["type"]](schema, data)


def read_fields(schema, data):
    elements = b""
    for field in schema["fields"]:
        value = read_value(field["type"], data)
        if value is not None:
            elements += bytes([value[0]]) + field.get("cra.name", field["name"]).encode() + b"\0" + value[1]
    return elements


def read_record(schema, data):
    start = data.tell()
    try:
        return document(read_fields(schema, data))
    except Whole as whole:
        # It is the last field, and all before it are null.
        assert not any(data.getbuffer()[start : start + len(schema["fields"]) - 1])
        return whole.args[0]


def main():
    with open(sys.argv[1], "rb") as opened:
        file = io.BytesIO(opened.read())
    assert file.read(4) == b"Obj\1"
    metadata = {}
    count = read_long(file)
    while count > 0:
        for _ in range(count):
            key = read_bytes(file)
            metadata[key] = read_bytes(file)
        count = read_long(file)
    sync = file.read(16)
    schema = resolve(json.loads(metadata[b"avro.schema"]), {})
    assert schema["cra.profile"] == "typed" and metadata[b"cra.profile"] == b"typed"
    while file.tell() < len(file.getbuffer()):
        records = read_long(file)
        payload = read_bytes(file)
        if metadata[b"avro.codec"] == b"deflate":
            payload = zlib.decompress(payload, -15)
        data = io.BytesIO(payload)
        for _ in range(records):
            sys.stdout.buffer.write(read_record(schema, data))
        assert data.tell() == len(payload)
        assert file.read(16) == sync


main()
