// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
)

// expected is what the independent parser counted in a file.
type expected struct {
	Packets       int            `json:"packets"`
	Error         *string        `json:"error"`
	LinkTypes     map[string]int `json:"linktypes"`
	CapturedBytes int64          `json:"captured_bytes"`
	WireBytes     int64          `json:"wire_bytes"`
	NoTimestamp   int            `json:"no_timestamp"`
	BackwardSteps int            `json:"backward_steps"`
	First         *string        `json:"first_ts"`
	Last          *string        `json:"last_ts"`
	Min           *string        `json:"min_ts"`
	Max           *string        `json:"max_ts"`
}

// count gathers the same from what was read.
func count(w whole) expected {
	e := expected{Packets: len(w.packets), LinkTypes: map[string]int{}}
	var first, last, low, high *int64
	for i := range w.packets {
		p := &w.packets[i]
		e.LinkTypes[strconv.Itoa(int(p.iface.LinkType))]++
		e.CapturedBytes += int64(len(p.data))
		e.WireBytes += int64(p.wireLen)
		if p.time == capture.NoTime {
			e.NoTimestamp++
			continue
		}
		t := p.time
		if last != nil && t < *last {
			e.BackwardSteps++
		}
		if first == nil {
			first, low, high = &t, &t, &t
		}
		if t < *low {
			low = &t
		}
		if t > *high {
			high = &t
		}
		last = &t
	}
	e.First, e.Last, e.Min, e.Max = seconds(first), seconds(last), seconds(low), seconds(high)
	return e
}

func seconds(ns *int64) *string {
	if ns == nil {
		return nil
	}
	s := fmt.Sprintf("%d.%09d", *ns/1e9, *ns%1e9)
	return &s
}

// saturated is what reading makes of a time beyond the range of int64.
func saturated(s *string) *string {
	if s == nil {
		return nil
	}
	ns, ok := new(big.Int).SetString(strings.Replace(*s, ".", "", 1), 10)
	if ok && !ns.IsInt64() {
		top := "9223372036.854775807"
		return &top
	}
	return s
}

func TestSharedAgainstOracle(t *testing.T) {
	dir := capturetest.Shared(t)
	raw, err := os.ReadFile(filepath.Join(dir, "oracle_py.json"))
	if err != nil {
		t.Fatal(err)
	}
	var oracle struct {
		Files map[string]expected `json:"files"`
	}
	if err := json.Unmarshal(raw, &oracle); err != nil {
		t.Fatal(err)
	}
	for name, want := range oracle.Files {
		t.Run(name, func(t *testing.T) {
			got := readFile(t, filepath.Join(dir, name))
			if (got.err != nil) != (want.Error != nil) {
				t.Fatalf("error %v, want %s", got.err, deref(want.Error))
			}
			want.Error = nil
			if name == "ndpi__pcap_fuzz-2021-10-13.pcap" { // its time is none: the independent parser adds the fraction
				want.NoTimestamp, want.First, want.Last, want.Min, want.Max = 1, nil, nil, nil, nil
			}
			for _, s := range []**string{&want.First, &want.Last, &want.Min, &want.Max} {
				*s = saturated(*s)
			}
			g, _ := json.Marshal(count(got))
			w, _ := json.Marshal(want)
			if string(g) != string(w) {
				t.Errorf("\n got %s\nwant %s", g, w)
			}
		})
	}
}

func deref(s *string) string {
	if s == nil {
		return "none"
	}
	return *s
}

// readFile reads a file to its end or to its damage, which may be in its header.
func readFile(t testing.TB, path string) whole {
	t.Helper()
	src, err := Open(path, Options{})
	if err != nil {
		return whole{err: err}
	}
	defer src.Close()
	return readAll(t, src)
}

func TestHostile(t *testing.T) {
	dir := filepath.Join(capturetest.Shared(t), "hostile")
	for _, c := range []struct {
		name    string
		packets int
		reason  error // nil: no error
		header  bool
		offset  int64
		text    string // part of the message
		warned  int
	}{
		{"01-truncated-file-header.pcap", 0, capture.ErrTruncated, true, 0, "file header cut short: 20 of 24 bytes", 0},
		{"02-truncated-last-packet.pcap", 5, capture.ErrTruncated, false, 446, "offset 446: record cut short: 35 of 42 bytes", 0},
		{"03-truncated-record-header.pcap", 5, capture.ErrTruncated, false, 446, "record header cut short: 9 of 16 bytes", 0},
		{"04-caplen-4GB.pcap", 2, capture.ErrDamaged, false, 188, "captured length 4294967295", 0},
		{"05-zero-and-negative-lengths.pcap", 7, nil, false, 0, "", 0},
		{"06-caplen-negative.pcap", 1, capture.ErrDamaged, false, 130, "captured length 2147483649", 0},
		{"07-block-length-0.pcapng", 1, capture.ErrDamaged, false, 172, "block length 0", 0},
		{"08-block-length-unaligned.pcapng", 1, capture.ErrDamaged, false, 172, "block length 77 is no multiple of 4", 0},
		{"09-total-length-mismatch.pcapng", 1, capture.ErrDamaged, false, 172, "block lengths 76 and 64 differ", 0},
		{"10-interface-out-of-range.pcapng", 1, capture.ErrDamaged, false, 172, "interface 7 of 1", 0},
		{"11-option-overrun.pcapng", 3, nil, false, 0, "", 1},
		{"12-idb-option-overrun.pcapng", 0, capture.ErrDamaged, true, 0, "option 9 of 60000 bytes", 0},
		{"13-gzip-wrong-name.pcap", 6, nil, false, 0, "", 0},
		{"14-gzip-cut.pcap.gz", 4, capture.ErrTruncated, false, 352, "gzip data cut short", 0},
		{"15-empty-file.pcap", 0, capture.ErrEmpty, true, 0, "empty file", 0},
		{"16-text-file.pcap", 0, capture.ErrUnknownFormat, true, 0, "the text \"this is", 0},
		{"17-snaplen-2^31.pcap", 6, nil, false, 0, "", 0},
		{"18-snaplen-0.pcap", 6, nil, false, 0, "", 0},
		{"19-epb-caplen-beyond-block.pcapng", 1, capture.ErrDamaged, false, 172, "captured length 100000 overruns", 0},
		{"20-block-length-4GB.pcapng", 1, capture.ErrDamaged, false, 172, "block length 4294967292 exceeds", 0},
		{"21-tsresol-extreme.pcapng", 3, nil, false, 0, "", 0},
		{"22-ipv6-ext-header-chain.pcap", 1, nil, false, 0, "", 0},
		{"23-vlan-stack-1000.pcap", 1, nil, false, 0, "", 0},
		{"24-time-backwards-year.pcap", 5, nil, false, 0, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var warned []error
			src, err := Open(filepath.Join(dir, c.name), Options{Warn: func(err error) { warned = append(warned, err) }})
			got := whole{err: err}
			if err == nil {
				defer src.Close()
				got = readAll(t, src)
			}
			if len(got.packets) != c.packets || len(warned) != c.warned {
				t.Errorf("%d packets and %d warnings, want %d and %d", len(got.packets), len(warned), c.packets, c.warned)
			}
			for _, w := range warned {
				if e := inputError(t, w); !errors.Is(e, capture.ErrDamaged) || e.Offset != 172 {
					t.Errorf("warning %v", e)
				}
			}
			if c.reason == nil {
				if got.err != nil {
					t.Errorf("error %v", got.err)
				}
				return
			}
			e := inputError(t, got.err)
			if c.header && c.offset == 0 {
				c.offset = e.Offset
			}
			if !errors.Is(e, c.reason) || e.Header != c.header || e.Offset != c.offset || !strings.Contains(e.Error(), c.text) {
				t.Errorf("%v, header %t; want %v, header %t, offset %d, %q", e, e.Header, c.reason, c.header, c.offset, c.text)
			}
		})
	}
}
