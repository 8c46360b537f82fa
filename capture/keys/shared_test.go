// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
)

// counts has what both judges say about a capture, or an hour of it.
type counts struct {
	Packets   int `json:"packets"`
	IPPackets int `json:"ip_packets"`
	Src4      int `json:"ip4_src"`
	Dst4      int `json:"ip4_dst"`
	Src6      int `json:"ip6_src"`
	Dst6      int `json:"ip6_dst"`
	Src       int `json:"src"`
	Dst       int `json:"dst"`
	Flows     int `json:"tuples_uni"`
	Biflows   int `json:"tuples_bi"`
}

// duplicates are the numbers of copies in windows of several lengths, in
// seconds as decimal text.
type duplicates struct {
	Ever     int            `json:"inf"`
	Anchored map[string]int `json:"anchored_last"`
}

// answers has what a judge says about a capture.
type answers struct {
	Whole      counts                `json:"whole"`
	Hours      map[string]counts     `json:"hours"`
	NotDecoded []int                 `json:"linktypes_not_decoded"`
	Duplicates map[string]duplicates `json:"duplicates"`
}

// tshark disagrees for known reasons, and is then not asked.
var notTshark = map[string]string{
	"derived__mix-a1.pcap":                                "takes the end of SCTP in FabricPath for a checksum of the frame",
	"libpcap__pcap-invalid-version-1.pcap":                "refuses the version",
	"libpcap__pcapng-invalid-vers-2.pcapng":               "refuses the version",
	"suricatave__bug-6875-01_fuzz.pcap":                   "guesses another format after damage",
	"tcpdump__brcm-tag-prepend.pcap":                      "refuses the link type",
	"tcpdump__juniper_es_oobr.pcap":                       "refuses the link type",
	"tcpdump__juniper_monitor_invalid_cookie_length.pcap": "refuses the link type",
	"zeek__mpls-6in6-broken.pcap.gz":                      "does not follow a damaged label stack",
	"ndpi__pcap_fuzz-2021-10-13.pcap":                     "nanoseconds beyond a second",
}

// moreCopies are copies without IP that the independent parser, which compares such
// frames whole, does not find, by file.
var moreCopies = map[string]duplicates{
	// Gratuitous ARP of one station, padded with other bytes from time to time.
	"pcapparser__wireshark_samples-test.pcapng": {Ever: 1, Anchored: map[string]int{"60": 17}},
}

// noDatagrams replaces answers of the independent parser, which takes for IPv4 what is not: in these
// five packets zeros stand for length, TTL, protocol and source.
var noDatagrams = map[string]counts{
	"zeek__mpls-6in6-broken.pcap.gz": {Packets: 1811, IPPackets: 1781, Src4: 3, Dst4: 7, Src6: 246, Dst6: 238, Src: 249, Dst: 245, Flows: 447, Biflows: 447},
}

// tally counts a capture, or an hour of it.
type tally struct {
	counts
	addr4 [2]map[uint32]bool
	addr6 [2]map[[48]byte]bool
	flow4 [2]map[[16]byte]bool
	flow6 [2]map[[48]byte]bool
}

func newTally() *tally {
	t := &tally{}
	for i := range 2 {
		t.addr4[i], t.addr6[i] = map[uint32]bool{}, map[[48]byte]bool{}
		t.flow4[i], t.flow6[i] = map[[16]byte]bool{}, map[[48]byte]bool{}
	}
	return t
}

func (t *tally) result() counts {
	c := t.counts
	c.Src4, c.Dst4, c.Src6, c.Dst6 = len(t.addr4[0]), len(t.addr4[1]), len(t.addr6[0]), len(t.addr6[1])
	c.Src, c.Dst = c.Src4+c.Src6, c.Dst4+c.Dst6
	c.Flows, c.Biflows = len(t.flow4[0])+len(t.flow6[0]), len(t.flow4[1])+len(t.flow6[1])
	return c
}

// beyond names the hour of times that do not fit into a Frame.
const beyond = "beyond"

// hourName names the UTC hour of a time as the judges do.
func hourName(ns int64) string {
	switch ns {
	case capture.NoTime:
		return "no-timestamp"
	case math.MaxInt64:
		return beyond
	}
	return time.Unix(0, ns).UTC().Format("2006-01-02T15Z")
}

// seen counts the copies by an identity.
type seen struct {
	ever map[digest.Digest]bool
	last map[time.Duration]map[digest.Digest]int64 // time of the last packet kept
	duplicates
}

var windows = map[string]time.Duration{
	"0.001": time.Millisecond, "0.1": 100 * time.Millisecond, "1": time.Second, "60": time.Minute,
}

func newSeen() *seen {
	s := &seen{ever: map[digest.Digest]bool{}, last: map[time.Duration]map[digest.Digest]int64{}}
	s.Anchored = map[string]int{}
	for name, w := range windows {
		s.last[w] = map[digest.Digest]int64{}
		s.Anchored[name] = 0
	}
	return s
}

func (s *seen) add(m digest.Digest, at int64) {
	if s.ever[m] {
		s.Ever++
	}
	s.ever[m] = true
	if at == capture.NoTime {
		return
	}
	for name, w := range windows {
		last, ok := s.last[w][m]
		if ok && uint64(max(at, last))-uint64(min(at, last)) <= uint64(w) {
			s.Anchored[name]++
			continue
		}
		s.last[w][m] = at
	}
}

// survey runs everything over a capture.
type survey struct {
	whole  *tally
	hours  map[string]*tally
	frames *seen
	l3     *seen
}

func surveyOf(t *testing.T, name string) *survey {
	s := &survey{whole: newTally(), hours: map[string]*tally{}, frames: newSeen(), l3: newSeen()}
	d := headers.NewDecoder(headers.DecoderConfig{})
	frame := identity.New(identity.Config{Kind: identity.Frame})
	l3 := identity.New(identity.Config{Kind: identity.L3})
	keyer := NewKeyer([]Config{{Kind: Src}, {Kind: Dst}, {Kind: Flow}, {Kind: Biflow}}, headers.DecoderConfig{})
	all, digests := make([]headers.Header, 500), make([]digest.Digest, 500)
	digester := digest.NewAES([16]byte{1})
	eachBatch(t, name, func(b *capture.Batch) {
		for _, inner := range []bool{false, true} {
			checkKeyer(t, []Config{{Kind: IP}, {Kind: Flow, VLAN: true}}, headers.DecoderConfig{Inner: inner}, b, 0)
			checkKeyer(t, []Config{{Kind: IP}, {Kind: Flow}}, headers.DecoderConfig{Inner: inner}, b, 0)
		}
		for from := 0; from < len(b.Frames); from += len(all) {
			h := all[:min(len(all), len(b.Frames)-from)]
			d.Decode(h, b, from)
			tallies := s.packets(b, from, h)
			for i, keys := range keyer.FromHeaders(b, from, h) {
				enter(tallies, keys, i)
			}
			for _, id := range []struct {
				*identity.Identity
				*seen
			}{{frame, s.frames}, {l3, s.l3}} {
				id.FromHeaders(b, from, h).Sum(digests, digester)
				for i, m := range digests[:len(h)] {
					id.add(m, b.Frames[from+i].Time)
				}
			}
		}
	})
	return s
}

// packets counts packets and returns the tallies that each belongs to.
func (s *survey) packets(b *capture.Batch, from int, h []headers.Header) [][2]*tally {
	tallies := make([][2]*tally, len(h))
	for i := range h {
		hour := hourName(b.Frames[from+i].Time)
		if s.hours[hour] == nil {
			s.hours[hour] = newTally()
		}
		tallies[i] = [2]*tally{s.whole, s.hours[hour]}
		for _, t := range tallies[i] {
			t.Packets++
			if h[i].Version != 0 {
				t.IPPackets++
			}
		}
	}
	return tallies
}

// enter counts the keys of source, destination, flow and biflow.
func enter(tallies [][2]*tally, keys *Keys, of int) {
	for i, addr := range keys.Addr4 {
		for _, t := range tallies[keys.V4Frame[i]] {
			t.addr4[of][addr] = true
		}
	}
	for i, key := range keys.V4 {
		for _, t := range tallies[keys.V4Frame[i]] {
			t.flow4[of-2][key] = true
		}
	}
	for i, key := range keys.V6 {
		for _, t := range tallies[keys.V6Frame[i]] {
			if of < 2 {
				t.addr6[of][key] = true
			} else {
				t.flow6[of-2][key] = true
			}
		}
	}
}

// TestSharedCaptures compares counts of real captures with those of two independent
// parsers.
func TestSharedCaptures(t *testing.T) {
	dir := sharedCaptures(t)
	var python, tshark struct {
		Files map[string]answers `json:"files"`
	}
	readJSON(t, filepath.Join(dir, "oracle_py.json"), &python)
	readJSON(t, filepath.Join(dir, "oracles.json"), &tshark)
	for name, want := range python.Files {
		t.Run(name, func(t *testing.T) {
			got := surveyOf(t, filepath.Join(dir, name))
			if name == "ndpi__pcap_fuzz-2021-10-13.pcap" { // a fraction of 3 seconds is no time, which the independent parser adds
				want.Hours = map[string]counts{"no-timestamp": want.Whole}
			}
			if fewer, ok := noDatagrams[name]; ok {
				want.Whole, want.Hours = fewer, map[string]counts{"2017-07-20T13Z": fewer}
			}
			if len(want.NotDecoded) == 0 {
				got.check(t, "the independent parser", want)
				got.checkDuplicates(t, "l3", got.l3, want, moreCopies[name])
			}
			got.checkDuplicates(t, "frame", got.frames, want, duplicates{})
			if reason := notTshark[name]; reason != "" {
				t.Logf("tshark not asked: %s", reason)
			} else {
				got.check(t, "tshark", tshark.Files[name])
			}
		})
	}
}

func (s *survey) check(t *testing.T, judge string, want answers) {
	t.Helper()
	if got := s.whole.result(); got != want.Whole {
		t.Errorf("%s: whole file:\n got %+v\nwant %+v", judge, got, want.Whole)
	}
	if len(s.hours) != len(want.Hours) {
		t.Errorf("%s: %d hours, want %d", judge, len(s.hours), len(want.Hours))
	}
	for hour, tally := range s.hours {
		if hour == beyond {
			continue
		}
		if got := tally.result(); got != want.Hours[hour] {
			t.Errorf("%s: hour %s:\n got %+v\nwant %+v", judge, hour, got, want.Hours[hour])
		}
	}
}

func (s *survey) checkDuplicates(t *testing.T, identity string, got *seen, want answers, more duplicates) {
	t.Helper()
	w := want.Duplicates[identity]
	for name := range windows {
		if n := w.Anchored[name] + more.Anchored[name]; got.Anchored[name] != n {
			t.Errorf("identity %s: %d duplicates within %s s, want %d", identity, got.Anchored[name], name, n)
		}
	}
	if n := w.Ever + more.Ever; got.Ever != n {
		t.Errorf("identity %s: %d duplicates, want %d", identity, got.Ever, n)
	}
}
