# SPDX-License-Identifier: Apache-2.0
"""Captures an interface with a plain AF_PACKET socket, as many tools do.

    sniff.py INTERFACE FILE TYPES

libpcap drops the outgoing sighting of loopback packets; a program that opens
the socket itself gets every packet twice. FILE is a pcap file in nanoseconds;
TYPES holds one packet type of linux/if_packet.h a record (4: outgoing), which
a pcap file of Ethernet frames has no place for. Interrupt to end.
"""

import socket
import struct
import sys

ETH_P_ALL, SO_TIMESTAMPNS = 3, 35


def main(interface, path, types_path):
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    tap.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    tap.bind((interface, ETH_P_ALL))
    with open(path, "wb") as file, open(types_path, "w", encoding="ascii") as types:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
        file.flush()
        try:
            while True:
                data, ancillary, _, address = tap.recvmsg(262144, 256)
                seconds, nanoseconds = next(struct.unpack("qq", value) for _, kind, value in ancillary
                                            if kind == SO_TIMESTAMPNS)
                file.write(struct.pack("<IIII", seconds, nanoseconds, len(data), len(data)) + data)
                types.write(f"{address[2]}\n")
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main(*sys.argv[1:])
