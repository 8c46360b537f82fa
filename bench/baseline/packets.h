// SPDX-License-Identifier: Apache-2.0

// What baselines do with packets: see file.c and live.c. They define MOST,
// how many packets a worker holds.
#include <immintrin.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 1 << 14, STEP = 256, LANES = 8, CLASSES = 128 };

static __m128i key[11];
static uint64_t (*rows)[8];

typedef struct {
  uint8_t *buf;
  uint32_t at[MOST], len[MOST], order[STEP + LANES];
  __m128i first[MOST];
  uint64_t digest[MOST][2] __attribute__((aligned(16)));
} worker;

// Masks: the bytes of a header that count, and the first bytes of a block.
static const uint8_t v4[16] = {255, 0, 255, 255, 255, 255, 255, 255, 0, 255, 0, 0, 255, 255, 255, 255};
static const uint8_t v6[16] = {0xf0, 0x0f, 255, 255, 255, 255, 255, 0, 255, 255, 255, 255, 255, 255, 255, 255};
static const uint8_t head[32] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};

static inline __m128i load(const uint8_t *p) { return _mm_loadu_si128((const __m128i *)p); }

// Finds the datagram of a frame, and notes its first 16 bytes less what routers change.
static inline void place(worker *w, int i, const uint8_t *frame, uint32_t n) {
  const uint8_t *p = frame + 12;
  uint16_t type;
  for (;; p += 4) {
    memcpy(&type, p, 2);
    if (type != 0x0081 && type != 0xa888) break;
  }
  p += 2;
  uint32_t len = (uint32_t)(n - (p - frame)), total = len;
  __m128i first = load(p);
  if (type == 0x0008) {
    total = (uint32_t)(p[2] << 8 | p[3]);
    first = _mm_and_si128(first, load(v4));
  } else if (type == 0xdd86) {
    total = 40 + (uint32_t)(p[4] << 8 | p[5]);
    first = _mm_and_si128(first, load(v6));
  }
  len = total < len ? total : len;
  w->at[i] = (uint32_t)(p - w->buf);
  w->len[i] = len;
  w->first[i] = first;
}

static inline void encrypt(__m128i s[LANES]) {
#if defined(__VAES__) && defined(__AVX512F__)
  __m512i a = _mm512_loadu_si512(s), b = _mm512_loadu_si512(s + 4);
  for (int r = 1; r < 11; r++) {
    __m512i k = _mm512_broadcast_i32x4(key[r]);
    a = _mm512_aesenc_epi128(a, k), b = _mm512_aesenc_epi128(b, k);
  }
  _mm512_storeu_si512(s, a), _mm512_storeu_si512(s + 4, b);
#else
  for (int r = 1; r < 11; r++)
    for (int j = 0; j < LANES; j++) s[j] = _mm_aesenc_si128(s[j], key[r]);
#endif
}

static inline uint32_t blocks(uint32_t len) { return (len + 15) / 16; }

// Encrypts eight messages in step. Those that have ended keep their digest.
static void group(worker *w, const uint32_t *order) {
  __m128i s[LANES];
  const uint8_t *data[LANES];
  uint32_t most = 0, least = ~0u;
  for (int j = 0; j < LANES; j++) {
    uint32_t len = w->len[order[j]];
    data[j] = w->buf + w->at[order[j]];
    s[j] = w->first[order[j]];
    most = blocks(len) > most ? blocks(len) : most;
    least = len / 16 < least ? len / 16 : least;
  }
  encrypt(s);
  uint32_t k = 1;
  for (; k < least; k++) {
    for (int j = 0; j < LANES; j++) s[j] = _mm_xor_si128(s[j], load(data[j] + 16 * k));
    encrypt(s);
  }
  for (; k < most; k++) {
    __m128i last[LANES];
    for (int j = 0; j < LANES; j++) {
      int32_t left = (int32_t)w->len[order[j]] - (int32_t)(16 * k);
      left = left < 0 ? 0 : left > 16 ? 16 : left;
      last[j] = s[j];
      s[j] = _mm_xor_si128(s[j], _mm_and_si128(load(data[j] + 16 * k), load(head + 16 - left)));
    }
    encrypt(s);
    for (int j = 0; least + 1 < most && j < LANES; j++)
      if (16 * k >= w->len[order[j]]) s[j] = last[j];
  }
  for (int j = 0; j < LANES; j++) _mm_store_si128((__m128i *)w->digest[order[j]], s[j]);
}

// Encrypts the messages from to n-1, those of equal length beside each other.
static void sum(worker *w, int from, int n) {
  uint32_t start[CLASSES + 1] = {0};
  for (int i = from; i < n; i++) start[(blocks(w->len[i]) < CLASSES ? blocks(w->len[i]) : CLASSES - 1) + 1]++;
  for (int c = 0; c < CLASSES; c++) start[c + 1] += start[c];
  for (int i = from; i < n; i++) w->order[start[blocks(w->len[i]) < CLASSES ? blocks(w->len[i]) : CLASSES - 1]++] = (uint32_t)i;
  n -= from;
  for (int i = n; i % LANES; i++) w->order[i] = w->order[n - 1];
  for (int i = 0; i < n; i += LANES) group(w, w->order + i);
}

static inline uint64_t *row(const uint64_t digest[2]) { return rows[digest[0] >> 50]; }

// Reports whether a row holds a word, and else puts it before the others.
static inline int found(uint64_t cells[8], uint64_t word) {
#ifdef __AVX512F__
  __m512i all = _mm512_load_si512(cells), new = _mm512_set1_epi64((int64_t)word);
  __mmask8 hit = _mm512_cmpeq_epi64_mask(all, new);
  _mm512_store_si512(cells, hit ? all : _mm512_alignr_epi64(all, new, 7));
  return hit != 0;
#else
  uint64_t hit = 0;
  for (int c = 0; c < 8; c++) hit |= cells[c] == word;
  if (!hit) memmove(cells + 1, cells, 7 * sizeof *cells), cells[0] = word;
  return hit != 0;
#endif
}

static long look(worker *w, int n) {
  long all = 0;
  for (int i = 0; i < n; i++) {
    if (i + 32 < n) __builtin_prefetch(row(w->digest[i + 32]), 1);
    all += found(row(w->digest[i]), w->digest[i][1]);
  }
  return all;
}

// Makes up keys, and clears the rows. Returns 0 without memory.
static int prepare(void) {
  for (int r = 0; r < 11; r++) key[r] = _mm_set1_epi32((int)(r * 0x9e3779b9u + 7));
  if (!(rows = aligned_alloc(1 << 21, ROWS * sizeof *rows))) return 0;
  memset(rows, 0, ROWS * sizeof *rows);
  return 1;
}
