"""Runs a program on a terminal of its own: its screen goes to stdout, and stdin is its keyboard."""

import fcntl
import os
import pty
import select
import struct
import sys
import termios

columns, rows = int(sys.argv[1]), int(sys.argv[2])
child, terminal = pty.fork()
if child == 0:
    size = struct.pack("HHHH", rows, columns, 0, 0)
    fcntl.ioctl(0, termios.TIOCSWINSZ, size)
    os.execvpe(sys.argv[3], sys.argv[3:], os.environ)

sources = [0, terminal]
while terminal in sources:
    ready, _, _ = select.select(sources, [], [])
    for source in ready:
        try:
            data = os.read(source, 65536)
        except OSError:
            data = b""
        if not data:
            sources.remove(source)
        elif source == 0:
            os.write(terminal, data)
        else:
            os.write(1, data)
_, status = os.waitpid(child, 0)
sys.exit(os.waitstatus_to_exitcode(status) & 255)
