"""Reading safetensors files with NumPy alone."""
import json
import pathlib
import struct

import numpy as np

KINDS = {'F32': np.float32, 'U8': np.uint8, 'U64': np.uint64}


def read_safetensors(path):
    """{name: array} of a file."""
    data = pathlib.Path(path).read_bytes()
    size = struct.unpack('<Q', data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop('__metadata__', None)
    body = memoryview(data)[8 + size:]
    return {name: np.frombuffer(body[slice(*of['data_offsets'])], KINDS[of['dtype']]).reshape(of['shape'])
            for name, of in header.items()}
