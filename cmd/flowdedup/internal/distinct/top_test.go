// SPDX-License-Identifier: Apache-2.0

package distinct_test

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// topRow is a line of a ranking.
type topRow struct {
	Kind, Of, Value string
	Start           string `json:"window_start"`
	Rank            int
	Packets         uint64 `json:"packets_in"`
	PacketsLow      uint64 `json:"packets_low"`
	Bytes           uint64 `json:"bytes_in"`
	BytesLow        uint64 `json:"bytes_low"`
}

// runTop returns the lines of rankings.
func runTop(t *testing.T, args ...string) (tops []topRow) {
	t.Helper()
	out, errs, code := clitest.Run(append([]string{"distinct", "--json", "--quiet"}, args...)...)
	if code != cli.ExitDone || errs != "" {
		t.Fatalf("%s: exit code %d: %s", args, code, errs)
	}
	for dec := json.NewDecoder(strings.NewReader(out)); dec.More(); {
		var r topRow
		if err := dec.Decode(&r); err != nil {
			t.Fatal(err)
		}
		if r.Rank > 0 {
			tops = append(tops, r)
		}
	}
	return tops
}

// topModel has packets and bytes by kind, window, key and value.
type topModel map[[4]string][2]uint64

// add counts a packet once for each of its values, in its window and in all.
func (m topModel) add(start, of string, length int, values ...string) {
	slices.Sort(values)
	for _, value := range slices.Compact(values) {
		for _, id := range [][4]string{{"top", start, of, value}, {"top_total", "", of, value}} {
			m[id] = [2]uint64{m[id][0] + 1, m[id][1] + uint64(length)}
		}
	}
}

// check compares rankings of n with the model.
func (m topModel) check(t *testing.T, name string, n int, byBytes bool, got []topRow) {
	t.Helper()
	order := func(a, b [2]uint64) int {
		if byBytes {
			a, b = [2]uint64{a[1], a[0]}, [2]uint64{b[1], b[0]}
		}
		return cmp.Or(cmp.Compare(b[0], a[0]), cmp.Compare(b[1], a[1]))
	}
	want := map[[3]string][][2]uint64{}
	for id, counts := range m {
		list := [3]string(id[:3])
		want[list] = append(want[list], counts)
	}
	expected := 0
	for list := range want {
		slices.SortFunc(want[list], order)
		expected += min(n, len(want[list]))
	}
	for _, r := range got {
		if r.Kind == "top_total" {
			r.Start = ""
		}
		counts := [2]uint64{r.Packets, r.Bytes}
		all := want[[3]string{r.Kind, r.Start, r.Of}]
		if r.Rank > len(all) || all[r.Rank-1] != counts || r.Value != "" && m[[4]string{r.Kind, r.Start, r.Of, r.Value}] != counts || r.PacketsLow != r.Packets || r.BytesLow != r.Bytes {
			t.Fatalf("%s: %+v, want %v, and there it is %v", name, r, m[[4]string{r.Kind, r.Start, r.Of, r.Value}], all[:min(len(all), r.Rank)])
		}
	}
	if len(got) != expected {
		t.Errorf("%s: %d lines, want %d", name, len(got), expected)
	}
}

// TestTopModel compares rankings of all keys with a map, whatever counts distinct elements.
func TestTopModel(t *testing.T) {
	stream := clitest.RandomStream(rand.New(rand.NewPCG(11, 12)), 1500, 1, time.Minute)
	name := clitest.WriteStream(t, stream, 1)
	for i, of := range []string{"src", "dst", "ip", "pair", "flow", "biflow", "mac"} {
		m := distinctModel{of: of, every: time.Hour, zone: "UTC", mask4: 24, mask6: 57, vlan: i%2 == 0}
		want := topModel{}
		for _, s := range stream {
			start, _ := m.window(t, s.Time, stream)
			_, keys := m.keys([]byte(s.Data))
			want.add(stampOf(start), of, int(s.Wire), keys...)
		}
		for _, more := range clitest.Sample(2, []string{"", "--method sketch --top-by bytes", "--memory 8MiB", "--method lru --memory 1MiB --workers 3", "--list --changes"}) {
			args := append(append(m.args(), name, "--top", "4"), strings.Fields(more)...)
			got := runTop(t, args...)
			for i := range got { // values are as --list has them: the model has names of its own
				got[i].Value = ""
			}
			want.check(t, fmt.Sprint(args), 4, strings.Contains(more, "bytes"), got)
		}
	}
}

// addressesAt are the offsets of IP headers by link type, behind Ethernet frames without tags.
var addressesAt = map[capture.LinkType]int{capture.LinkRaw: 0, capture.LinkNull: 4, capture.LinkLinuxSLL: 16, capture.LinkLinuxSLL2: 20}

// addressesOf returns the outer addresses of a packet, if it has some.
func addressesOf(link capture.LinkType, d []byte) (src, dst netip.Addr) {
	at, ip := addressesAt[link], true
	if link == capture.LinkEthernet {
		at = clitest.PayloadAt(d)
		protocol := binary.BigEndian.Uint16(d[at-2:])
		ip = protocol == 0x0800 || protocol == 0x86dd
	}
	switch d = d[at:]; {
	case ip && d[0]>>4 == 4:
		return netip.AddrFrom4([4]byte(d[12:])), netip.AddrFrom4([4]byte(d[16:]))
	case ip && d[0]>>4 == 6:
		return netip.AddrFrom16([16]byte(d[8:])), netip.AddrFrom16([16]byte(d[24:]))
	}
	return src, dst
}

// TestTopOfCaptures compares rankings of all addresses of the bundled captures with a map: lengths are
// those on the wire.
func TestTopOfCaptures(t *testing.T) {
	names, err := filepath.Glob(clitest.Bundled("*.pcap*"))
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		src, err := pcapfile.Open(name, pcapfile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := topModel{}
		for b := new(capture.Batch); src.Next(b) == nil; {
			for i, f := range b.Frames {
				from, to := addressesOf(b.Interfaces[f.Interface].LinkType, b.Data(i))
				if from.IsValid() {
					start := stampOf(time.Unix(0, f.Time).UTC().Truncate(time.Second))
					want.add(start, "src", int(f.WireLen), from.String())
					want.add(start, "dst", int(f.WireLen), to.String())
				}
			}
		}
		src.Close()
		for _, by := range []string{"packets", "bytes"} {
			want.check(t, name, 3, by == "bytes", runTop(t, name, "--every", "1s", "--top", "3", "--top-by", by))
		}
	}
}
