#!/usr/bin/python3
"""A collector of metrics, well-behaved or not.

    collector.py get AT [PATH [METHOD]]   prints the body; the status and the headers go to standard error
    collector.py check FILE               whether it is text as Prometheus takes it; prints how many samples
    collector.py port                     a port of this machine that nobody uses
    collector.py hold|flood|slow|garbage|drip AT SECONDS

AT is the number of a port, or the path of a Unix socket.
"""
import os
import re
import socket
import sys
import time

REQUEST = b'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n'


def dial(at, receive_bytes=None):
    if at.isdigit():
        s = socket.socket(socket.AF_INET)
        address = ('127.0.0.1', int(at))
    else:
        s = socket.socket(socket.AF_UNIX)
        address = at
    if receive_bytes:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    s.settimeout(20)
    s.connect(address)
    return s


def read_all(s):
    data = b''
    while True:
        part = s.recv(65536)
        if not part:
            return data
        data += part


def dial_patiently(at):
    """A Unix socket refuses those for whom there is no place in the queue."""
    for _ in range(2000):
        try:
            return dial(at)
        except BlockingIOError:
            time.sleep(0.01)
    sys.exit('no place')


def get(at, path='/metrics', method='GET'):
    s = dial_patiently(at)
    s.sendall(f'{method} {path} HTTP/1.1\r\nHost: localhost\r\n\r\n'.encode())
    head, _, body = read_all(s).partition(b'\r\n\r\n')
    sys.stderr.write(head.decode() + '\n')
    sys.stdout.buffer.write(body)


def port():
    s = socket.socket()
    s.bind(('127.0.0.1', 0))
    print(s.getsockname()[1])


# ---- the format ----

SAMPLE = re.compile(r'([a-z0-9_]+)(?:\{((?:[a-zA-Z_]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (\S+)$')
SUFFIXES = {'gauge': [''], 'counter': [''], 'histogram': ['_bucket', '_sum', '_count']}


def complain(n, line, why):
    sys.exit(f'line {n}: {why}: {line}')


def check_buckets(n, line, series, le, value, before):
    last_le, last = before.get(series, (-1.0, 0.0))
    if le <= last_le or value < last:
        complain(n, line, 'buckets do not grow')
    before[series] = (le, value)


def check(path):
    family, kind, helped, seen, samples, buckets = None, None, None, set(), set(), {}
    with open(path, encoding='utf-8', newline='\n') as f:
        text = f.read()
    if text and not text.endswith('\n'):
        sys.exit('the last line has no end')
    for n, line in enumerate(text.splitlines(), 1):
        words = line.split(' ', 3)
        if line.startswith('# HELP '):
            helped = words[2]
            continue
        if line.startswith('# TYPE '):
            family, kind = words[2], words[3]
            if family != helped or family in seen or kind not in SUFFIXES:
                complain(n, line, 'TYPE without HELP, twice, or of no type')
            seen.add(family)
            continue
        m = SAMPLE.match(line)
        if not m or family is None or m[1] not in [family + s for s in SUFFIXES[kind]]:
            complain(n, line, 'no sample of its family')
        value = float(m[3])
        if (m[1], m[2]) in samples or value != value or abs(value) > 1e18:
            complain(n, line, 'twice, or a number that stands for none')
        samples.add((m[1], m[2]))
        if m[1].endswith('_bucket'):
            series, _, le = (m[1] + m[2]).rpartition(',')
            check_buckets(n, line, series, float(le[4:-1]), value, buckets)
    for series, (le, _) in buckets.items():
        if le != float('inf'):
            sys.exit(f'no last bucket: {series}')
    print(len(samples))


# ---- too much of it ----

def dial_some(at, n, receive_bytes=None):
    found = []
    for _ in range(n):
        try:
            found.append(dial(at, receive_bytes))
            found[-1].settimeout(0.05)
        except OSError:
            break
    return found


def for_a_while(seconds):
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        yield


def attempt(action, *arguments):
    try:
        return action(*arguments)
    except OSError:
        return None


def hold(at, seconds):
    """Connections that say nothing."""
    held = []
    for _ in for_a_while(seconds):
        if len(held) < 200:
            held += dial_some(at, 10)
        time.sleep(0.01)
    print('held', len(held))


def flood(at, seconds):
    """One request after the other, from several processes."""
    for _ in range(3):
        if os.fork() == 0:
            break
    n = 0
    for _ in for_a_while(seconds):
        s = attempt(dial, at)
        if s:
            attempt(s.sendall, REQUEST)
            s.settimeout(1)
            n += bool(attempt(read_all, s))
            s.close()
    print('asked', n)


def slow(at, seconds):
    """They ask, and do not read."""
    held = []
    for _ in for_a_while(seconds):
        if len(held) < 60:
            some = dial_some(at, 4, 1024)
            for s in some:
                attempt(s.sendall, REQUEST)
            held += some
        time.sleep(0.01)
    print('unread', len(held))


def garbage(at, seconds):
    """Bytes that are no request, and requests that are too long."""
    n = 0
    for _ in for_a_while(seconds):
        for s in dial_some(at, 4):
            what = [os.urandom(3000), b'GET ' + b'/' * 20000, REQUEST[:-2] + b'X: ' + b'y' * 20000,
                    b'POST /metrics HTTP/1.1\r\nContent-Length: 999999999\r\n\r\n' + bytes(9000),
                    b'GET /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffff\r\n'][n % 5]
            attempt(s.sendall, what)
            attempt(s.recv, 100)
            s.close()
            n += 1
    print('garbage', n)


def drip(at, seconds):
    """A byte of a request now and then, so that no connection is idle."""
    held, ended, n = dial_some(at, 16), 0, 0
    for _ in for_a_while(seconds):
        for s in held:
            try:
                s.sendall(b'GET /metrics HTTP/1.1\r\nX: y' + b'y' * 2000 if n == 0 else b'y')
            except OSError:
                ended += 1
        n += 1
        time.sleep(0.2)
    print('ended', ended)


if __name__ == '__main__':
    commands = {f.__name__: f for f in (get, check, port, hold, flood, slow, garbage, drip)}
    commands[sys.argv[1]](*sys.argv[2:])
