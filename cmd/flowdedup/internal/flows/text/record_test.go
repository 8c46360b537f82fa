// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
)

// counters are the counters of a record, and whether both ends sent packets.
type counters struct {
	packets, bytes, backPackets, backBytes uint64
	both                                   bool
}

// TestBoth reads the counters of both directions, and who sent packets, from each program.
func TestBoth(t *testing.T) {
	const argusHead = "StartTime,Proto,SrcAddr,Sport,Dir,DstAddr,Dport,"
	argus := func(names, proto, dir, values string) string {
		return argusHead + names + "\n1795241344.828000," + proto + ",192.0.2.1,40071," + dir + ",198.51.100.7,443," + values + "\n"
	}
	const nfdump = `{"first":"2026-11-21T06:09:04.828","last":"2026-11-21T06:09:05.829","proto":6,"src4_addr":"192.0.2.1","dst4_addr":"198.51.100.7","in_packets":6,"in_bytes":960`
	const zeek = `{"ts":1795241344.828,"id.orig_h":"192.0.2.1","id.orig_p":40071,"id.resp_h":"198.51.100.7","id.resp_p":443,"proto":"tcp"`
	for name, c := range map[string]struct {
		text string
		want counters
	}{
		"nfdump, one direction":       {nfdump + "}", counters{6, 960, 0, 0, false}},
		"nfdump, both":                {nfdump + `,"out_packets":5,"out_bytes":800}`, counters{6, 960, 5, 800, true}},
		"nfdump, both, no answer":     {nfdump + `,"out_packets":0,"out_bytes":0}`, counters{6, 960, 0, 0, false}},
		"nfdump's CSV":                {"ts,sa,da,sp,dp,pr,ipkt,ibyt,opkt,obyt\n2026-11-21 06:09:04.828,192.0.2.1,198.51.100.7,1,2,TCP,6,960,5,800\n", counters{6, 960, 5, 800, true}},
		"nfdump's CSV of 1.7":         {"firstSeen,srcAddr,dstAddr,srcPort,dstPort,packets,bytes,outPackets,outBytes\n2026-11-21 06:09:04.828,192.0.2.1,198.51.100.7,1,2,6,960,5,800\n", counters{6, 960, 5, 800, true}},
		"Zeek, no answer":             {zeek + `,"conn_state":"S0","orig_pkts":1,"orig_ip_bytes":60,"resp_pkts":0,"resp_ip_bytes":0}`, counters{1, 60, 0, 0, false}},
		"Zeek, only the answer":       {zeek + `,"conn_state":"SHR","orig_pkts":0,"orig_ip_bytes":0,"resp_pkts":2,"resp_ip_bytes":120}`, counters{0, 0, 2, 120, true}},
		"Argus, a sum":                {argus("TotPkts,TotBytes", "udp", "  <->", "10,5640"), counters{10, 5640, 0, 0, true}},
		"Argus, a sum of one":         {argus("TotPkts,TotBytes,State", "udp", "   ->", "10,5640,INT"), counters{10, 5640, 0, 0, false}},
		"Argus, a sum, answered":      {argus("TotPkts,TotBytes,State", "tcp", "   ->", "10,5640,FIN"), counters{10, 5640, 0, 0, true}},
		"Argus, a sum, asked":         {argus("TotPkts,TotBytes,State", "tcp", "   ->", "3,180,REQ"), counters{3, 180, 0, 0, false}},
		"Argus, both":                 {argus("TotPkts,SrcPkts,DstPkts,TotBytes,SrcBytes,DstBytes", "udp", "  <->", "10,5,5,5640,5000,640"), counters{5, 5000, 5, 640, true}},
		"Argus, both, no answer":      {argus("SrcPkts,DstPkts,SrcBytes,DstBytes,State", "tcp", "  <->", "5,0,5000,0,CON"), counters{5, 5000, 0, 0, false}},
		"Argus, the source and a sum": {argus("TotPkts,SrcPkts,TotBytes,SrcBytes", "udp", "   ->", "10,5,5640,5000"), counters{5, 5000, 5, 640, true}},
		"Argus, the answer and a sum": {argus("TotPkts,DstPkts,TotBytes,DstBytes", "udp", "   ->", "10,5,5640,640"), counters{5, 5000, 5, 640, true}},
		"Arkime's CSV":                {"IP Protocol,Start Time,Src IP,Src Port,Dst IP,Dst Port,Src Packets,Src Bytes,Dst Packets,Dst Bytes,Packets,Bytes\ntcp,1795241344828,192.0.2.1,1,198.51.100.7,2,6,960,5,800,11,1760\n", counters{6, 960, 5, 800, true}},
		"its own lines":               {`{"src_addr":"192.0.2.1","dst_addr":"198.51.100.7","bytes":960,"packets":6,"reverse_bytes":800,"reverse_packets":5,"bidirectional":1}`, counters{6, 960, 5, 800, true}},
		"its own lines, a sum":        {`{"src_addr":"192.0.2.1","dst_addr":"198.51.100.7","bytes":5640,"packets":10,"bidirectional":1}`, counters{10, 5640, 0, 0, true}},
	} {
		t.Run(name, func(t *testing.T) {
			all, _, n, err := readAll(t, c.text, Config{})
			if err != nil || len(all) != 1 || n.Undecodable+n.Unread != 0 {
				t.Fatalf("%v %+v %+v", err, n, all)
			}
			if got := of(&all[0]); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
	m, err := ParseMapping("src=a,dst=b,bytes=x,reverse_bytes=y,reverse_packets=z")
	if err != nil {
		t.Fatal(err)
	}
	all, _, _, err := readAll(t, "a,b,x,y,z\n192.0.2.1,198.51.100.7,1,2,3\n", Config{Mapping: m})
	if want := (counters{0, 1, 3, 2, true}); err != nil || len(all) != 1 || of(&all[0]) != want {
		t.Errorf("%v %+v, want %+v", err, all, want)
	}
}

func of(r *records.Record) counters {
	return counters{r.Packets, r.Bytes, r.ReversePackets, r.ReverseBytes, r.Both}
}

// TestMisdated believes no time before 1980 and no end before the start: the time when the record
// came takes their place, else the record has none.
func TestMisdated(t *testing.T) {
	const zero, good, came = "1970-01-01T00:00:00.000", "2023-11-14T22:13:20.000", "2023-11-14T22:13:21.000"
	at := time.Date(2023, 11, 14, 22, 13, 20, 0, time.UTC).UnixNano()
	const second = int64(time.Second)
	for name, c := range map[string]struct {
		first, last, received string
		start, end            int64
		unread                records.Parts
		lost                  uint64
	}{
		"good":                        {good, came, came, at, at + second, 0, 0},
		"of 1970":                     {zero, zero, came, 0, 0, 0, 2},
		"of 1970, as numbers":         {"0", "0.000", came, 0, 0, 0, 2},
		"days of 1970":                {"1970-01-20T16:13:20.000", "1970-01-20T16:13:21.000", came, 0, 0, 0, 2},
		"of 1970, nothing else":       {zero, zero, "", 0, 0, records.PartTime, 2},
		"all of 1970":                 {zero, zero, zero, 0, 0, records.PartTime, 3},
		"the start of 1970":           {zero, good, came, 0, 0, 0, 1},
		"the end of 1970, came not":   {good, zero, "", 0, 0, records.PartTime, 1},
		"an end before the start":     {good, "2023-11-14T22:13:10.000", came, 0, 0, 0, 1},
		"the same, came not":          {good, "2023-11-14T22:13:10.000", "", 0, 0, records.PartTime, 1},
		"both of 1970, turned":        {"1970-01-01T00:16:40.000", "1970-01-01T00:03:20.000", came, 0, 0, 0, 2},
		"an end a little before":      {good, "2023-11-14T22:13:19.500", came, at, at - second/2, 0, 0},
		"in words":                    {"this evening", good, came, 0, 0, 0, 1},
		"in words, came not":          {"this evening", good, "", 0, 0, records.PartTime, 1},
		"1980":                        {"1980-01-02T00:00:00.000", "1980-01-02T00:00:00.000", "", 315619200 * second, 315619200 * second, 0, 0},
		"the end alone, with a start": {"", good, came, at, at, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			line := `{"first":"` + c.first + `","last":"` + c.last + `","received":"` + c.received + `","src4_addr":"192.0.2.1","dst4_addr":"198.51.100.7"}`
			line = strings.NewReplacer(`"first":"",`, "", `"received":"",`, "").Replace(line)
			all, _, n, err := readAll(t, line, Config{})
			if err != nil || len(all) != 1 {
				t.Fatalf("%v %+v", err, all)
			}
			r := &all[0]
			if r.Start != c.start || r.End != c.end || r.Unread != c.unread || n.Unread != c.lost {
				t.Errorf("%+v, %d unread, want %d to %d, %d unread", r, n.Unread, c.start, c.end, c.lost)
			}
			if c.received == came && r.Received != at+second {
				t.Errorf("came at %d", r.Received)
			}
		})
	}
	text := "start,end,srcaddr,dstaddr\n1700000000,1600000000,192.0.2.1,198.51.100.7\n"
	r, err := NewReader(strings.NewReader(text), "flows", Config{})
	if err != nil {
		t.Fatal(err)
	}
	var b records.Batch
	if err := r.ReadBatch(&b); err != nil {
		t.Fatal(err)
	}
	if u := r.AppendUnread(nil); len(u) != 1 || u[0].Field != "end" || u[0].Example != "1600000000" || u[0].Values != 1 {
		t.Errorf("%+v", u)
	}
}
