# SPDX-License-Identifier: Apache-2.0
"""VLAN interfaces made of a veth pair and two eBPF programs.

A kernel without the 8021q module has no VLAN devices, and containers and small
virtual machines often run one. The kernel's own tag push and pop are always
there for classifiers, so a VLAN interface is built from them:

    stack -- NAME ==veth== NAMEx -(push tags, redirect)-> parent
    stack -- NAME ==veth== NAMEx <-(pop tags, redirect)-- parent

Frames cross it inside the kernel, untagged on NAME and tagged on the parent,
as with a VLAN device. Only the standard library is used: the programs are a
few instructions long and loaded with bpf(2).
"""

import ctypes
import os
import platform
import socket
import struct

# Instruction encodings of linux/bpf.h and linux/bpf_common.h.
MOV_REG, MOV_IMM, AND_IMM = 0xBF, 0xB7, 0x57
LOAD_WORD, JUMP_NE, CALL, EXIT = 0x61, 0x55, 0x85, 0x95
# Helper numbers and the offset of __sk_buff.vlan_tci.
SKB_VLAN_PUSH, SKB_VLAN_POP, REDIRECT = 18, 19, 23
VLAN_TCI = 24
# bpf(2): its commands, the program type and its number by machine.
PROG_LOAD, OBJ_PIN, SCHED_CLS = 5, 6, 3
SYSCALL = {"x86_64": 321, "aarch64": 280}


def instruction(code, dst=0, src=0, offset=0, value=0):
    return struct.pack("<BBhi", code, src << 4 | dst, offset, value)


def push_program(tags, target):
    """Adds tags, the innermost first, and sends the frame out of target."""
    code = instruction(MOV_REG, 6, 1)
    for ethertype, vid in tags:
        code += instruction(MOV_REG, 1, 6)
        code += instruction(MOV_IMM, 2, value=socket.htons(ethertype))
        code += instruction(MOV_IMM, 3, value=vid)
        code += instruction(CALL, value=SKB_VLAN_PUSH)
    return code + redirect_to(target)


def pop_program(tags, target):
    """Takes tags off, the outermost first, and sends the frame out of target.

    A frame whose outermost VLAN is another one is left to the parent.
    """
    body = b""
    for _ in tags:
        body += instruction(MOV_REG, 1, 6)
        body += instruction(CALL, value=SKB_VLAN_POP)
    body += redirect_to(target)
    code = instruction(MOV_REG, 6, 1)
    code += instruction(LOAD_WORD, 2, 1, VLAN_TCI)
    code += instruction(AND_IMM, 2, value=0xFFF)
    code += instruction(JUMP_NE, 2, 0, len(body) // 8, tags[-1][1])
    return code + body + instruction(MOV_IMM, 0) + instruction(EXIT)


def redirect_to(target):
    return (instruction(MOV_IMM, 1, value=target) + instruction(MOV_IMM, 2)
            + instruction(CALL, value=REDIRECT) + instruction(EXIT))


def bpf(command, attributes):
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(SYSCALL[platform.machine()], command,
                          ctypes.c_char_p(attributes), len(attributes))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), "bpf(2)")
    return result


def pin(code, path):
    """Loads code as a classifier and pins it at path, on a bpf file system."""
    instructions = ctypes.create_string_buffer(code, len(code))
    license_text = ctypes.create_string_buffer(b"BSD")
    log = ctypes.create_string_buffer(1 << 16)
    program = bpf(PROG_LOAD, struct.pack(
        "<IIQQIIQ", SCHED_CLS, len(code) // 8, ctypes.addressof(instructions),
        ctypes.addressof(license_text), 1, len(log), ctypes.addressof(log)))
    try:
        name = ctypes.create_string_buffer(path.encode())
        bpf(OBJ_PIN, struct.pack("<QII", ctypes.addressof(name), program, 0))
    finally:
        os.close(program)
