"""Marks the requests of a program for `cotenant run --measure`; does nothing elsewhere.

    with cotenant.request(arrival_ns=time.monotonic_ns() when it came in, size=len(batch)):
        answer it, and wait for the GPU
"""

import contextlib
import ctypes
import itertools

try:
    _begin = ctypes.CDLL(None).cotenant_request_begin
    _end = ctypes.CDLL(None).cotenant_request_end
    _begin.argtypes, _begin.restype = [ctypes.c_uint64, ctypes.c_uint64], None
    _end.argtypes, _end.restype = [ctypes.c_uint64], None
except (AttributeError, OSError):
    _begin = _end = None
try:
    _size = ctypes.CDLL(None).cotenant_request_size
    _size.argtypes, _size.restype = [ctypes.c_uint64, ctypes.c_uint64], None
except (AttributeError, OSError):
    _size = None  # of an older cotenant
_ids = itertools.count(1)


@contextlib.contextmanager
def request(arrival_ns=0, size=0):
    """Everything inside is one request; 0: it is not known when it arrived, or how large it is."""
    if _begin is None:
        yield
        return
    number = next(_ids)
    _begin(number, arrival_ns)
    if size and _size is not None:
        _size(number, size)
    try:
        yield
    finally:
        _end(number)
