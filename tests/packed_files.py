"""Files as `names=False` makes them, from files that have plain metadata."""

import numpy as np

from kerascompact.tflite import flatbuffer, packed_json
from kerascompact.tflite.metadata import metadata_of
from kerascompact.tflite.metadata_schema import METADATA_NAME


def with_deflated_metadata(data):
    """The same file, its metadata but for the checksum deflated."""
    model = flatbuffer.parse(data)
    entries = metadata_of(model)
    (own,) = [one for one in model.metadata if one.name == METADATA_NAME]
    content = packed_json.packed(entries, deflate=True)
    model.buffers[own.buffer].data = np.frombuffer(content, np.uint8)
    return flatbuffer.pack(model)
