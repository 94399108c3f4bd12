#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program under the filter of a unit with RestrictAddressFamilies= that lacks AF_INET and AF_INET6:
without_ip_sockets.py PROGRAM [ARGUMENTS]. socket(2) of these families fails with EAFNOSUPPORT, as under systemd."""
import ctypes
import errno
import os
import platform
import socket
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
RET_ALLOW, RET_ERRNO = 0x7FFF0000, 0x00050000
LOAD, EQUALS, RETURN = 0x20, 0x15, 0x06  # BPF_LD | BPF_W | BPF_ABS, BPF_JMP | BPF_JEQ | BPF_K, BPF_RET | BPF_K
NUMBER, FIRST_ARGUMENT = 0, 16  # offsets in struct seccomp_data
SOCKET = {"x86_64": 41, "aarch64": 198}[platform.machine()]


def forbid():
    program = [(LOAD, 0, 0, NUMBER), (EQUALS, 0, 4, SOCKET), (LOAD, 0, 0, FIRST_ARGUMENT), (EQUALS, 1, 0, socket.AF_INET),
               (EQUALS, 0, 1, socket.AF_INET6), (RETURN, 0, 0, RET_ERRNO | errno.EAFNOSUPPORT), (RETURN, 0, 0, RET_ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in program))
    filter_ = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    for request in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter_, 0, 0)):
        if libc.prctl(*request) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


forbid()
os.execvp(sys.argv[1], sys.argv[1:])
