// SPDX-License-Identifier: Apache-2.0

// The baseline of `flowdedup live`: what its processor time is compared with, not a program to
// trust.
//
//     baseline-live IFACE
//
// It reads a TPACKET_V3 ring of 64 MiB until SIGINT: it walks the blocks, encrypts the
// datagrams without the fields that routers change, and looks the digests up in rows of
// eight words, as file.c does with files. That is what nobody can leave
// out. Left out are times, other headers, tags, protocols and statistics; keys are made up.
// No packet is copied, and what the kernel says is believed.
//
// Build: cc -O3 -march=native -o baseline-live live.c (x86-64 with AES-NI).
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>

enum { BLOCK = 1 << 20, BLOCKS = 64, UNIT = 1 << 11, MILLIS = 10, AHEAD = 1 << 10, MOST = 256 };

#include "packets.h"

static volatile sig_atomic_t stopped;

static void stop(int unused) { stopped = 1; }

static void die(const char *what) {
  perror(what);
  exit(1);
}

// Returns a socket bound to the interface, and its ring. A socket of no protocol takes
// nothing until it is bound.
static int open_ring(const char *name, uint8_t **ring) {
  struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)if_nametoindex(name)};
  struct tpacket_req3 want = {.tp_block_size = BLOCK, .tp_block_nr = BLOCKS, .tp_frame_size = UNIT,
    .tp_frame_nr = BLOCK / UNIT * BLOCKS, .tp_retire_blk_tov = MILLIS};
  int version = TPACKET_V3, fd = socket(AF_PACKET, SOCK_RAW, 0);
  if (!at.sll_ifindex || fd < 0) die(name);
  if (setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version)) die("version");
  if (setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &want, sizeof want)) die("ring");
  *ring = mmap(0, (size_t)BLOCK * BLOCKS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (*ring == MAP_FAILED) die("mmap");
  if (bind(fd, (struct sockaddr *)&at, sizeof at)) die("bind");
  return fd;
}

// Looks the packets of a block up, and returns how many copies there are.
static long take(worker *w, uint8_t *block, uint32_t packets) {
  struct tpacket_hdr_v1 *head = &((struct tpacket_block_desc *)block)->hdr.bh1;
  uint8_t *p = block + head->offset_to_first_pkt;
  long copies = 0;
  w->buf = block;
  for (uint32_t n; packets > 0; packets -= n) {
    n = packets < MOST ? packets : MOST;
    for (uint32_t i = 0; i < n; i++) {
      struct tpacket3_hdr *h = (struct tpacket3_hdr *)p;
      _mm_prefetch(p + AHEAD, _MM_HINT_T0);
      _mm_prefetch(p + AHEAD + 64, _MM_HINT_T0);
      place(w, (int)i, p + h->tp_mac, h->tp_snaplen);
      p += h->tp_next_offset;
    }
    sum(w, 0, (int)n);
    copies += look(w, (int)n);
  }
  return copies;
}

int main(int argc, char **argv) {
  static worker w;
  uint8_t *ring;
  struct tpacket_stats_v3 stats;
  socklen_t size = sizeof stats;
  long packets = 0, copies = 0;
  if (argc != 2) return fprintf(stderr, "baseline-live IFACE\n"), 2;
  if (!prepare()) die("memory");
  struct sigaction action = {.sa_handler = stop};
  sigaction(SIGINT, &action, 0);
  int fd = open_ring(argv[1], &ring);
  for (int next = 0;; next = (next + 1) % BLOCKS) {
    uint8_t *block = ring + (size_t)next * BLOCK;
    struct tpacket_hdr_v1 *head = &((struct tpacket_block_desc *)block)->hdr.bh1;
    _Atomic uint32_t *status = (_Atomic uint32_t *)&head->block_status;
    while (!(atomic_load(status) & TP_STATUS_USER)) {
      struct pollfd set = {.fd = fd, .events = POLLIN};
      if (poll(&set, 1, 2 * MILLIS) == 0 && stopped) goto end;
    }
    copies += take(&w, block, head->num_pkts);
    packets += head->num_pkts;
    atomic_store(status, TP_STATUS_KERNEL);
  }
end:
  if (getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &stats, &size)) die("statistics");
  printf("%ld packets, %u dropped, %ld found\n", packets, stats.tp_drops, copies);
  return 0;
}
