#!/usr/bin/python3
"""The part of systemd that the daemon sees: listens for it, hands the socket over, hears its notes.

    manager.py SOCKET NOTES COMMAND...

Starts COMMAND when a client comes and none runs, and writes what the command says to the file NOTES. SIGUSR1 replaces
the command: it is asked to end, and started again. SIGTERM ends both. The watchdog's time is 200 ms.
"""
import os
import selectors
import signal
import socket
import sys

path, notes_path, command = sys.argv[1], sys.argv[2], sys.argv[3:]
os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
door.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
door.bind(path)
door.listen(64)
notes_socket = path + '.notes'
ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
ear.bind(notes_socket)
notes = open(notes_path, 'a', buffering=1, encoding='utf-8')
child = None


def start():
    pid = os.fork()
    if pid:
        return pid
    os.dup2(door.fileno(), 3)
    os.set_inheritable(3, True)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1', NOTIFY_SOCKET=notes_socket,
                      WATCHDOG_USEC='200000', WATCHDOG_PID=str(os.getpid()))
    os.execvp(command[0], command)


def end():
    os.kill(child, signal.SIGTERM)
    _, status = os.waitpid(child, 0)
    notes.write(f'ENDED={os.waitstatus_to_exitcode(status)}\n')


wake_r, wake_w = os.pipe()
os.set_blocking(wake_w, False)
signal.set_wakeup_fd(wake_w)
for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGCHLD):
    signal.signal(number, lambda *_: None)
poll = selectors.DefaultSelector()
poll.register(door, selectors.EVENT_READ)
poll.register(ear, selectors.EVENT_READ)
poll.register(wake_r, selectors.EVENT_READ)
while True:
    for key, _ in poll.select():
        if key.fileobj is ear:
            notes.write(ear.recv(4096).decode() + '\n')
        elif key.fileobj is door:
            child = start()
            poll.unregister(door)
        else:
            for number in os.read(wake_r, 64):
                if number == signal.SIGTERM:
                    if child:
                        end()
                    os.unlink(path)
                    sys.exit(0)
                if number == signal.SIGUSR1 and child:
                    end()
                    child = start()
                if number == signal.SIGCHLD and child and os.waitpid(child, os.WNOHANG)[0] == child:
                    notes.write('DIED\n')
                    child = None
                    poll.register(door, selectors.EVENT_READ)
