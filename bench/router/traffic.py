# SPDX-License-Identifier: Apache-2.0
"""Real programs talking: servers on one end, clients on the other."""

import os
import random
import subprocess
import sys

from lab import wait_for

HERE = os.path.dirname(os.path.abspath(__file__))
HTTP, TLS4, TLS6, UDP = 8080, 4433, 4434, 7007
NAME = "www.lab.test"


def serve(lab, namespace, address4, address6):
    """Starts HTTP, TLS, DNS and UDP echo servers and waits until they listen."""
    site = lab.path("site")
    if not os.path.isdir(site):
        write_site(site)
        certificate(lab)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": site}
    lab.start(namespace, ["python3", "-m", "http.server", "--bind", "::", str(HTTP)], **quiet)
    for family, port in (("-4", TLS4), ("-6", TLS6)):
        lab.start(namespace, ["openssl", "s_server", family, "-accept", str(port), "-www", "-quiet",
                              "-cert", lab.path("cert.pem"), "-key", lab.path("key.pem")], **quiet)
    lab.start(namespace, ["dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv",
                          "--no-hosts", "--user=root", "--pid-file=", f"--address=/{NAME}/{address4}",
                          f"--address=/{NAME}/{address6}", f"--txt-record={NAME}," + "text " * 40], **quiet)
    lab.start(namespace, [sys.executable, os.path.join(HERE, "udp.py"), "serve", str(UDP)], **quiet)
    wait_for(lambda: listening(lab, namespace) >= {HTTP, TLS4, TLS6, UDP, 53}, "the servers")


def listening(lab, namespace):
    """Returns the ports with a socket open in a namespace."""
    tables = lab.run(namespace, ["cat", "/proc/net/tcp", "/proc/net/tcp6", "/proc/net/udp6", "/proc/net/udp"],
                     stdout=subprocess.PIPE).stdout
    return {int(line.split()[1].rsplit(":", 1)[1], 16) for line in tables.splitlines()
            if not line.lstrip().startswith("sl")}


def write_site(site):
    """A small page, a text and an image-sized object that needs many segments."""
    os.mkdir(site)
    content = random.Random(1)
    objects = {"index.html": b"<html><a href=text.txt>text</a></html>\n",
               "text.txt": b"".join(b"line %d of the text\n" % i for i in range(90)),
               "image.bin": content.randbytes(6000)}
    for name, data in objects.items():
        with open(os.path.join(site, name), "wb") as file:
            file.write(data)


def certificate(lab):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                    "-nodes", "-days", "3650", "-subj", f"/CN={NAME}", "-keyout", lab.path("key.pem"),
                    "-out", lab.path("cert.pem")], check=True, stderr=subprocess.DEVNULL)


def converse(lab, client, address4, address6):
    """Runs one of each client over IPv4 and IPv6, one after the other."""
    for address in (address4, address6):
        dns(lab, client, address)
        http(lab, client, address)
        tls(lab, client, address)
        ping(lab, client, address)
        udp(lab, client, address)


def converse_briefly(lab, client, address4, address6):
    """Runs a part of each client over one of the two."""
    dns(lab, client, address4)
    ping(lab, client, address4)
    http(lab, client, address6)
    udp(lab, client, address6)


def dns(lab, client, address):
    for query in (["A"], ["AAAA"], ["TXT"], ["A", "+tcp"], ["MX", "+nocookie"]):
        lab.talk(client, ["dig", "+tries=1", "@" + address, NAME, *query])


def http(lab, client, address):
    host = f"http://{bracketed(address)}:{HTTP}"
    for path in ("/", "/text.txt", "/image.bin", "/missing"):
        lab.talk(client, ["curl", "-s", "-g", host + path])


def tls(lab, client, address):
    port = TLS6 if ":" in address else TLS4
    lab.talk(client, ["curl", "-s", "-k", "-g", f"https://{bracketed(address)}:{port}/"])
    lab.talk(client, ["openssl", "s_client", "-connect", f"{bracketed(address)}:{port}", "-servername", NAME],
             stderr=subprocess.DEVNULL)


def ping(lab, client, address):
    """Echo requests of several sizes; the longest needs three fragments."""
    for size, count in ((0, 2), (56, 2), (1000, 1), (3500, 1)):
        lab.talk(client, ["ping", "-q", "-M", "dont", "-i", "0.2", "-c", str(count), "-s", str(size), address])


def udp(lab, client, address):
    """Short datagrams and a fragmented one."""
    script = [sys.executable, os.path.join(HERE, "udp.py")]
    lab.talk(client, [*script, "send", address, str(UDP), "4", "80"])
    lab.talk(client, [*script, "send", address, str(UDP), "1", "2500"])


def repeat(lab, client, addresses, count, seconds):
    """Equal datagrams, the given seconds apart: repeats, not copies."""
    for address in addresses:
        lab.talk(client, [sys.executable, os.path.join(HERE, "udp.py"),
                          "repeat", address, str(UDP), str(count), str(seconds)])


def at_router(lab, client, near4, near6, far4, far6):
    """Packets for the router itself, and some whose hop limit ends there."""
    for address in (near4, near6):
        lab.talk(client, ["ping", "-q", "-i", "0.2", "-c", "2", address])
    for address in (far4, far6):
        lab.talk(client, ["ping", "-q", "-t", "1", "-c", "2", "-i", "0.2", "-W", "1", address], check=False)


def bracketed(address):
    return f"[{address}]" if ":" in address else address
