"""What a program tells cotenant; it does nothing elsewhere.

    with cotenant.request(arrival_ns=time.monotonic_ns() when it came in, size=len(batch)):
        answer it, and wait for the GPU                       for `cotenant run --measure`

    cotenant.share(cotenant.QUOTA, "25%", stream=handle)      for `cotenant run --reserve 40%`
"""

import contextlib
import ctypes
import errno
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
try:
    _of_stream = ctypes.CDLL(None).cotenant_share_stream
    _of_stream.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p]
    _of_thread = ctypes.CDLL(None).cotenant_share_thread
    _of_thread.argtypes = [ctypes.c_int, ctypes.c_char_p]
except (AttributeError, OSError):
    _of_stream = _of_thread = None
_ids = itertools.count(1)

PROGRAM, QUOTA, RESERVE = range(3)  # as in include/cotenant/share.h


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


def share(method, amount=None, stream=None):
    """How the next launches in a stream (its handle), or of this thread, share the GPU; amount: "25%", "33sm".

    0, or a negative errno: include/cotenant/share.h says which. -ENOSYS: there is nobody to tell.
    """
    if _of_stream is None:
        return -errno.ENOSYS
    text = None if amount is None else amount.encode()
    if stream is None:
        return _of_thread(method, text)
    return _of_stream(stream, method, text)
