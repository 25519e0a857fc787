"""Runs a command in a pseudo-terminal: in-terminal.py COLUMNS ROWS COMMAND…

What comes on standard input is typed, what the command prints goes to standard output, and a line "COLUMNS ROWS" on file
descriptor 3 changes the size of the terminal. Ends with the exit code of the command."""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios


def resize(terminal, columns, rows):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def write_all(file, data):
    while data:
        data = data[os.write(file, data):]


columns, rows, *command = sys.argv[1:]
child, terminal = pty.fork()
if child == 0:
    # The size is set before the command asks for it.
    resize(0, int(columns), int(rows))
    os.execvp(command[0], command)
resize(terminal, int(columns), int(rows))
watched = [0, 3, terminal]
while True:
    for file in select.select(watched, [], [])[0]:
        try:
            data = os.read(file, 65536)
        except OSError:
            data = b""
        if file == terminal and data:
            write_all(1, data)
        elif file == terminal:
            _, status = os.waitpid(child, 0)
            sys.exit(os.waitstatus_to_exitcode(status))
        elif not data and file == 0:
            # Whoever watched is gone.
            os.kill(child, signal.SIGKILL)
            watched.remove(0)
        elif not data:
            watched.remove(file)
        elif file == 0:
            write_all(terminal, data)
        else:
            resize(terminal, *map(int, data.split()[-2:]))
