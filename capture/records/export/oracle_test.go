// SPDX-License-Identifier: Apache-2.0

package export

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab/goflow"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/internal/exporttest"
)

// check compares a record with the fields that it was made of.
func check(t *testing.T, r *records.Record, fields map[uint16][]byte) {
	t.Helper()
	sole := func(a, b uint16) []byte {
		if fields[a] != nil && fields[b] != nil {
			return nil // either may count
		}
		return append(append([]byte(nil), fields[a]...), fields[b]...)
	}
	for _, c := range []struct {
		got   netip.Addr
		value []byte
	}{{r.Source, sole(8, 27)}, {r.Destination, sole(12, 28)}, {r.NATSource, sole(225, 281)}, {r.NATDestination, sole(226, 282)}} {
		if want, ok := netip.AddrFromSlice(c.value); ok && c.got != want.Unmap() {
			t.Errorf("address %v, want %v", c.got, want)
		}
	}
	icmp := r.Protocol == icmp4 || r.Protocol == icmp6
	for _, c := range []struct {
		name   string
		number uint16
		got    uint64
		skip   bool
	}{
		{"bytes", 1, r.Bytes, len(fields[85]) > 0 || len(fields[231]) > 0}, {"packets", 2, r.Packets, len(fields[86]) > 0 || len(fields[298]) > 0},
		{"protocol", 4, uint64(r.Protocol), false}, {"service", 5, uint64(r.TOS), false},
		{"flags", 6, uint64(r.TCPFlags), len(fields[6]) > 1}, {"source port", 7, uint64(r.SourcePort), icmp},
		{"destination port", 11, uint64(r.DestinationPort), icmp}, {"ingress", 10, uint64(r.Ingress), false}, {"egress", 14, uint64(r.Egress), false},
		{"start", 152, uint64(r.Start / 1e6), len(fields[22]) > 0}, {"end", 153, uint64(r.End / 1e6), len(fields[21]) > 0},
	} {
		if v := fields[c.number]; len(v) > 0 && !c.skip && number(v) != c.got {
			t.Errorf("%s %d, want %d", c.name, c.got, number(v))
		}
	}
}

// undecodable are the messages that no reader can decode in full, and why.
var undecodable = map[string]string{
	"ipfix_test_juniper_mx240_junos151r6s3_data512":             "its template is in no file",
	"netflow9_test_iptnetflow_reduced_size_encoding_tpldata260": "templates 259 and 262 are in no file",
	"ipfix_test_netscaler_data":                                 "template 280 is in no file",
	"netflow5_test_invalid01":                                   "its header says 55,582 records, and there are 30",
	"netflow5_test_invalid02":                                   "its header says 163 records, and there are 30",
}

// exporterOf gives each exporter's files an address.
func exporterOf(name string) string {
	stem, _, _ := strings.Cut(strings.NewReplacer("_opttpl", "_tpl", "_tpldata", "_tpl", "_data", "_tpl").Replace(name), "_tpl")
	h := uint32(2166136261)
	for _, c := range []byte(stem) {
		h = (h ^ uint32(c)) * 16777619
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(h >> 16), byte(h >> 8), byte(h)}), 2055).String()
}

// TestSharedMessages reads each message that real exporters sent, those with templates
// first, and compares what it says with goflow2.
func TestSharedMessages(t *testing.T) {
	o := goflow.Start(t)
	files := exporttest.Shared(t, "logstash__*.dat")
	var all []exporttest.Datagram
	var names []string
	for _, templates := range []bool{true, false} {
		for _, file := range files {
			name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "logstash__"), ".dat")
			if strings.Contains(name, "tpl") != templates {
				continue
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all, names = append(all, datagramOf(exporterOf(name), int64(len(all)), data)), append(names, name)
		}
	}
	for i, d := range all {
		// Each is read behind all before, so what it changes is known.
		before := NewReader(&exporttest.Wire{Datagrams: all[:i:i], AtOnce: 100})
		exporttest.ReadAll(t, before)
		r := NewReader(&exporttest.Wire{Datagrams: all[: i+1 : i+1], AtOnce: 100})
		batches := exporttest.ReadAll(t, r)
		n, m := r.Counts(), before.Counts()
		damaged := n.Undecodable > m.Undecodable || n.Untemplated > m.Untemplated
		if _, known := undecodable[names[i]]; known != damaged {
			t.Errorf("%s: damaged %v: %+v", names[i], damaged, n)
		}
		var mine *records.Batch
		for j := range batches {
			if bytes.Equal(batches[j].Raw, d.Data) {
				mine = &batches[j]
			}
		}
		if mine == nil {
			t.Errorf("%s: no batch", names[i])
			continue
		}
		compare(t, o, names[i], mine)
	}
}

// compare compares a batch with what goflow2 decodes.
func compare(t *testing.T, o *goflow.Decoder, name string, b *records.Batch) {
	t.Helper()
	want := o.Decode(t, b.From.Addr().String(), b.Raw)
	switch {
	case b.Kind == records.SFlow:
		if want.Error != "" {
			t.Errorf("%s: %v", name, want.Error)
		}
	case want.Error != "" || undecodable[name] != "" || name == "netflow9_test_invalid01": // whose header says two records, and it has two sets of them
	case len(want.Records) != len(b.Records):
		t.Errorf("%s: %d records, not %d", name, len(b.Records), len(want.Records))
	default:
		for i := range want.Records {
			check(t, &b.Records[i], want.Records[i])
		}
	}
}

// TestSharedStreams reads captures and files of real exporters.
func TestSharedStreams(t *testing.T) {
	want := map[string]struct {
		records     uint64
		untemplated uint64 // sets without a template
	}{
		"pmacct__110-traffic-00.pcap": {12, 0}, "pmacct__110-traffic-01.pcap": {51, 0}, "pmacct__110-traffic-02.pcap": {35, 0},
		"pmacct__111-traffic-00.pcap": {11, 0}, "pmacct__111-traffic-01.pcap": {13, 0}, "pmacct__112-traffic-00.pcap": {9, 4},
		"pmacct__400-traffic-00.pcap": {657, 0}, "pmacct__400-traffic-01.pcap": {109, 0}, "ipfixcol2__example_flows.ipfix": {3979, 0},
	}
	// The numbers in sequence that a source's messages span, as tshark reads them, without the
	// received ones: of v9 63-40; of v9 22-8 and 35-17; of IPFIX 30 records of which 13 came.
	lost := map[string]uint64{
		"pmacct__110-traffic-00.pcap": 0, "pmacct__110-traffic-01.pcap": 23, "pmacct__110-traffic-02.pcap": 14 + 18, "pmacct__111-traffic-01.pcap": 17,
	}
	for _, file := range append(exporttest.Shared(t, "pmacct__*.pcap"), exporttest.Shared(t, "*.ipfix")...) {
		name := filepath.Base(file)
		var src capture.Source
		var err error
		if strings.HasSuffix(file, ".ipfix") {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			src = NewStream(bytes.NewReader(data), name, netip.AddrPort{})
		} else if src, err = pcapfile.Open(file, pcapfile.Options{}); err != nil {
			t.Fatal(err)
		}
		r := NewReader(src)
		all := exporttest.ReadAll(t, r)
		o := goflow.Start(t)
		for i := range all {
			if want[name].untemplated == 0 {
				compare(t, o, name, &all[i])
			}
		}
		n := r.Counts()
		if n.Records != want[name].records || n.Untemplated != want[name].untemplated || n.Undecodable != 0 || n.Waiting != 0 {
			t.Errorf("%s: %+v", name, n)
		}
		if of, counted := lost[name]; counted && n.Lost != of {
			t.Errorf("%s: %d lost, want %d", name, n.Lost, of)
		}
		_ = src.Close()
	}
}
