# SPDX-License-Identifier: Apache-2.0
"""One end of a tunnel: a tun device whose packets travel in UDP datagrams.

    tunnel.py DEVICE LOCAL REMOTE PORT
"""

import fcntl
import os
import select
import socket
import struct
import sys

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000


def main(device, local, remote, port):
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", device.encode(), IFF_TUN | IFF_NO_PI))
    carrier = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    carrier.bind((local, port))
    carrier.connect((remote, port))
    while True:
        for ready in select.select([tun, carrier], [], [])[0]:
            try:
                if ready is tun:
                    carrier.send(os.read(tun, 65535))
                else:
                    os.write(tun, carrier.recv(65535))
            except (ConnectionRefusedError, OSError):
                continue  # the other end, or the device, is not up yet


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
