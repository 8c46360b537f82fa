// SPDX-License-Identifier: Apache-2.0

// The baseline of `flowdedup dedup`: what its times are compared with, not a program to trust.
//
//     baseline-file THREADS IN.pcap [OUT]
//
// Threads take chunks of a pcap file of Ethernet frames in turn. Each reads its chunk, walks
// the records, encrypts the datagrams without the fields that routers change (AES-CBC-MAC,
// eight side by side), looks the digests up in rows of eight words of 64 bits, 1 MiB in all,
// and writes the chunk to OUT. That is what nobody can leave out. Left out are times, other
// headers, protocols and statistics; keys are made up, damage goes unnoticed.
//
// Build: cc -O3 -march=native -pthread -o baseline-file file.c (x86-64 with AES-NI).
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 256 << 10, PREFIX = 128 << 10, PIECE = 64 << 10, MOST = CHUNK / 16 + PREFIX / 16, SLACK = 64 << 10 };

#include "packets.h"

static int in, out = -1;
static off_t size;
static uint8_t tail[PREFIX]; // the start of a record that a chunk ended within
static size_t tail_len;
static atomic_long next_chunk, walked, looked, packets, copies;

static void die(const char *what) {
  perror(what);
  exit(1);
}

// Waits for a turn: a moment in a loop, then by leaving the processor to others.
static void wait_for(atomic_long *turn, long number) {
  for (int i = 0; atomic_load_explicit(turn, memory_order_acquire) != number; i++) {
    if (i < 4096) _mm_pause();
    else sched_yield();
  }
}

static void *run(void *unused) {
  worker *w = aligned_alloc(64, (sizeof *w + 63) / 64 * 64);
  if (!w || !(w->buf = aligned_alloc(4096, PREFIX + CHUNK + SLACK))) die("memory");
  for (;;) {
    long number = atomic_fetch_add(&next_chunk, 1);
    off_t at = (off_t)number * CHUNK;
    if (at >= size) break;
    ssize_t got = pread(in, w->buf + PREFIX, CHUNK, at);
    if (got < 0) die("read");
    wait_for(&walked, number);
    size_t pos = PREFIX - tail_len, begin = pos, end = PREFIX + (size_t)got;
    memcpy(w->buf + pos, tail, tail_len);
    if (number == 0) pos += 24;
    int n = 0;
    for (uint32_t len; pos + 16 <= end; pos += 16 + len) {
      memcpy(&len, w->buf + pos + 8, 4);
      __builtin_prefetch(w->buf + pos + 768);
      if (pos + 16 + len > end) break;
      w->at[n] = (uint32_t)pos + 16, w->len[n++] = len;
    }
    tail_len = end - pos;
    if (tail_len > PREFIX) die("long record");
    memcpy(tail, w->buf + pos, tail_len);
    atomic_store(&walked, number + 1);
    for (int from = 0, to; from < n; from = to) {
      to = n - from < STEP ? n : from + STEP;
      for (int i = from; i < to; i++) place(w, i, w->buf + w->at[i], w->len[i]);
      sum(w, from, to);
    }
    wait_for(&looked, number);
    copies += look(w, n);
    atomic_store(&looked, number + 1);
    packets += n;
    for (size_t p = begin; out >= 0 && p < pos; p += PIECE)
      if (pwrite(out, w->buf + p, pos - p < PIECE ? pos - p : PIECE, at + (off_t)p - PREFIX) < 0) die("write");
  }
  return unused;
}

int main(int argc, char **argv) {
  struct stat st;
  int threads = argc > 2 ? atoi(argv[1]) : 0;
  if (threads < 1 || threads > 64) return fprintf(stderr, "baseline-file THREADS IN.pcap [OUT]\n"), 2;
  if ((in = open(argv[2], O_RDONLY)) < 0 || fstat(in, &st)) die(argv[2]);
  if (argc > 3 && (out = open(argv[3], O_WRONLY | O_CREAT | O_TRUNC, 0666)) < 0) die(argv[3]);
  size = st.st_size;
  if (!prepare()) die("memory");
  pthread_t all[64];
  for (int i = 0; i < threads; i++)
    if (pthread_create(&all[i], NULL, run, NULL)) die("thread");
  for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
  printf("%ld packets, %ld found\n", (long)packets, (long)copies);
}
