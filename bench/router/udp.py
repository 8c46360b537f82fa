# SPDX-License-Identifier: Apache-2.0
"""A UDP echo server, and a client with short, long and repeated datagrams.

    udp.py serve PORT
    udp.py send ADDRESS PORT COUNT SIZE
    udp.py repeat ADDRESS PORT COUNT SECONDS   equal datagrams, so far apart
"""

import socket
import sys
import time


def serve(port):
    server = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    server.bind(("::", port))
    while True:
        data, peer = server.recvfrom(65535)
        if not data.startswith(b"repeat"):
            server.sendto(data, peer)


def connect(address, port):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    client = socket.socket(family, socket.SOCK_DGRAM)
    client.settimeout(5)
    client.connect((address, port))
    return client


def send(address, port, count, size):
    client = connect(address, port)
    for number in range(count):
        client.send(f"datagram {number} ".encode().ljust(size, b"."))
        client.recv(65535)


def repeat(address, port, count, seconds):
    client = connect(address, port)
    for _ in range(count):
        client.send(b"repeat: the same again, and not a copy")
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(0.001 if seconds > 0.01 else 0)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]))
    elif sys.argv[1] == "send":
        send(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
    else:
        repeat(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
