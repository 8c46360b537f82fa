// SPDX-License-Identifier: Apache-2.0

package flows_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// flow is a flow of UDP in a test's IPFIX, with counters of bytes and packets, and those of the
// reverse direction if the template has them. Times are milliseconds since 1970.
type flow struct {
	from, to         string
	bytes, packets   uint64
	backBytes, backs uint64
	start, end       uint64
}

const (
	second2023 = 1700000000
	reversePEN = 29305
)

// ipfixOf returns an IPFIX message of a domain with a template and records of flows.
func ipfixOf(domain, sequence, seconds uint32, both bool, flows ...flow) []byte {
	be := binary.BigEndian
	fields := [][3]uint32{{8, 4}, {12, 4}, {7, 2}, {11, 2}, {4, 1}, {1, 8}, {2, 8}, {152, 8}, {153, 8}}
	if both {
		fields = append(fields, [3]uint32{1, 8, reversePEN}, [3]uint32{2, 8, reversePEN})
	}
	template := be.AppendUint16(be.AppendUint16(nil, 256), uint16(len(fields)))
	for _, f := range fields {
		if f[2] != 0 {
			template = be.AppendUint32(be.AppendUint16(be.AppendUint16(template, uint16(f[0])|1<<15), uint16(f[1])), f[2])
			continue
		}
		template = be.AppendUint16(be.AppendUint16(template, uint16(f[0])), uint16(f[1]))
	}
	var data []byte
	for _, f := range flows {
		a, b := netip.MustParseAddrPort(f.from), netip.MustParseAddrPort(f.to)
		data = append(append(data, a.Addr().AsSlice()...), b.Addr().AsSlice()...)
		data = append(be.AppendUint16(be.AppendUint16(data, a.Port()), b.Port()), 17)
		for _, n := range []uint64{f.bytes, f.packets, f.start, f.end} {
			data = be.AppendUint64(data, n)
		}
		if both {
			data = be.AppendUint64(be.AppendUint64(data, f.backBytes), f.backs)
		}
	}
	set := func(id uint16, content []byte) []byte {
		return append(be.AppendUint16(be.AppendUint16(nil, id), uint16(4+len(content))), content...)
	}
	sets := append(set(2, template), set(256, data)...)
	head := be.AppendUint16(be.AppendUint16(nil, 10), uint16(16+len(sets)))
	for _, n := range []uint32{seconds, sequence, domain} {
		head = be.AppendUint32(head, n)
	}
	return append(head, sets...)
}

// distinctOf returns the counts of a key, by window.
func distinctOf(t *testing.T, key string, args ...string) map[string]uint64 {
	t.Helper()
	rows := filepath.Join(t.TempDir(), "rows.jsonl")
	runFlows(t, cli.ExitDone, append([]string{"--of", key, "--reports", rows}, args...)...)
	all, out := map[string]uint64{}, ""
	if data, err := os.ReadFile(rows); err == nil {
		out = string(data)
	}
	for line := range strings.Lines(out) {
		var row struct {
			Family   string
			Start    string `json:"window_start"`
			Distinct uint64
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err, out)
		}
		if row.Family == "all" {
			all[row.Start[:min(13, len(row.Start))]] = row.Distinct
		}
	}
	return all
}

// TestFlowsBoth counts, writes and reads again both directions of records that have both, in
// IPFIX and in text, as it does of records of one direction each.
func TestFlowsBoth(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const a, b, ms = "10.0.0.1:1000", "10.0.0.2:443", second2023 * 1000
	one := flow{a, b, 5000, 5, 640, 4, ms, ms + 900}
	back := flow{b, a, 640, 4, 0, 0, ms, ms + 900}
	for name, c := range map[string]struct {
		data []byte
		key  string
	}{
		"both.ipfix": {ipfixOf(1, 0, second2023+2, true, one), "biflow"},
		"each.ipfix": {ipfixOf(1, 0, second2023+2, false, one, back), "flow"},
		"zeek.json": {[]byte(`{"ts":1700000000.0,"id.orig_h":"10.0.0.1","id.orig_p":1000,"id.resp_h":"10.0.0.2","id.resp_p":443,"proto":"udp","duration":0.9,` +
			`"orig_bytes":4000,"resp_bytes":500,"orig_pkts":5,"orig_ip_bytes":5000,"resp_pkts":4,"resp_ip_bytes":640}`), "biflow"},
		"nfdump.json": {[]byte(`{"first":"2023-11-14T22:13:20.000","last":"2023-11-14T22:13:20.900","proto":17,"src4_addr":"10.0.0.1","dst4_addr":"10.0.0.2",` +
			`"src_port":1000,"dst_port":443,"in_packets":5,"in_bytes":5000,"out_packets":4,"out_bytes":640}`), "biflow"},
		"argus.csv": {[]byte("StartTime,Proto,SrcAddr,Sport,Dir,DstAddr,Dport,TotPkts,TotBytes\n1700000000.0,udp,10.0.0.1,1000,  <->,10.0.0.2,443,9,5640\n"), "biflow"},
	} {
		in := clitest.WriteInput(t, filepath.Join(dir, name), c.data)
		for _, out := range []string{"", "out.json", "out.csv"} {
			if out != "" {
				out = filepath.Join(dir, name+out)
				runFlows(t, cli.ExitDone, in, "-w", out)
				in = out
			}
			r, _ := runFlows(t, cli.ExitDone, in)
			if r.Points[0].Bytes != 5640 || r.Points[0].Packets != 9 || r.Key != c.key {
				t.Errorf("%s: %+v, want 5640 bytes, 9 packets, key %s", in, r, c.key)
			}
			want := map[string]uint64{"src": 2, "dst": 2, "ip": 2, "pair": 2, "flow": 2, "biflow": 1}
			for key, n := range want {
				if got := distinctOf(t, key, in); len(got) != 1 || got["2023-11-14T22"] != n {
					t.Errorf("%s: %v distinct %s, want %d", in, got, key, n)
				}
			}
		}
	}
}

// TestFlowsBothOrEach has one exporter report both directions in a record, and others each in a
// record of its own: every flow stays once, whoever comes first.
func TestFlowsBothOrEach(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var bothOf, eachOf []flow
	for i := range uint64(40) {
		ends := []string{fmt.Sprintf("10.0.0.%d:1000", i+1), fmt.Sprintf("10.0.0.%d:443", 100-i)}
		start := second2023*1000 + i
		bothOf = append(bothOf, flow{ends[i%2], ends[1-i%2], 5000, 5, 640, 4, start, start + 900})
		eachOf = append(eachOf, flow{ends[i%2], ends[1-i%2], 5000, 5, 0, 0, start, start + 900}, flow{ends[1-i%2], ends[i%2], 640, 4, 0, 0, start, start + 900})
	}
	both, each := ipfixOf(1, 0, second2023+2, true, bothOf...), ipfixOf(2, 0, second2023+2, false, eachOf...)
	for name, all := range map[string][][]byte{"both first": {both, each}, "each first": {each, both}} {
		in := clitest.WriteInput(t, filepath.Join(dir, name+".ipfix"), slices.Concat(all...))
		r, _ := runFlows(t, cli.ExitDone, in)
		left := r.RecordsIn - r.Copies
		if want := map[string]uint64{"both first": 40, "each first": 80}[name]; r.RecordsIn != 120 || left != want || r.Key != "biflow" {
			t.Errorf("%s: %+v, want %d left", name, r, want)
		}
	}
}
