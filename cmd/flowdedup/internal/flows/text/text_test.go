// SPDX-License-Identifier: Apache-2.0

package text

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/records"
)

// readAll reads text, and checks that records say where they stand.
func readAll(t testing.TB, s string, c Config) (all []records.Record, lines []string, n records.Counts, err error) {
	t.Helper()
	r, err := NewReader(iotest.HalfReader(strings.NewReader(s)), "flows", c)
	if err != nil {
		return nil, nil, n, err
	}
	for {
		var b records.Batch
		if err := r.ReadBatch(&b); err == io.EOF {
			return all, lines, r.Counts(), nil
		} else if err != nil {
			t.Fatal(err)
		}
		if len(b.Records) == 0 || len(b.Records) > batchRecords {
			t.Fatalf("a batch of %d records", len(b.Records))
		}
		at := 0
		for _, rec := range b.Records {
			if rec.Offset < at || rec.Offset+rec.Length > len(b.Raw) {
				t.Fatalf("%d bytes at %d of %d", rec.Length, rec.Offset, len(b.Raw))
			}
			lines = append(lines, string(b.Raw[rec.Offset:rec.Offset+rec.Length]))
			at = rec.Offset + rec.Length
			rec.Offset, rec.Length = 0, 0
			all = append(all, rec)
		}
	}
}

var (
	clientAddress = netip.MustParseAddr("192.0.2.1")
	serverAddress = netip.MustParseAddr("198.51.100.7")
	when          = time.Date(2026, 11, 21, 6, 9, 4, 0, time.UTC).UnixNano()
)

// TestFormats reads a record of each program, and finds out which it is.
func TestFormats(t *testing.T) {
	tcp := records.Record{
		Source: clientAddress, Destination: serverAddress, SourcePort: 40071, DestinationPort: 443, Protocol: 6,
		TCPFlags: 0x1b, Packets: 6, Bytes: 960, Start: when + 828e6, End: when + 1829e6, Received: when + 10e9, Precision: time.Millisecond,
	}
	router := netip.MustParseAddr("203.0.113.1")
	change := func(changes ...func(*records.Record)) records.Record {
		r := tcp
		for _, c := range changes {
			c(&r)
		}
		return r
	}
	exporter := func(r *records.Record) { r.Point.Exporter = router }
	back := func(packets, bytes uint64) func(*records.Record) {
		return func(r *records.Record) { r.Both, r.ReversePackets, r.ReverseBytes = true, packets, bytes }
	}
	cases := []struct {
		format, text string
		want         records.Record
		both         bool
	}{
		{"goflow2", `{"type":"NETFLOW_V9","time_received_ns":1795241354000000000,"sequence_num":7,"sampling_rate":100,"sampler_address":"203.0.113.1","time_flow_start_ns":1795241344828000000,"time_flow_end_ns":1795241345829000000,"bytes":960,"packets":6,"src_addr":"192.0.2.1","dst_addr":"198.51.100.7","etype":"IPv4","proto":"TCP","src_port":40071,"dst_port":443,"in_if":3,"out_if":4,"ip_tos":32,"tcp_flags":27,"icmp_type":0,"icmp_code":0,"vlan_id":42,"observation_domain_id":9}`,
			change(exporter, func(r *records.Record) {
				r.Sampling, r.Ingress, r.Egress, r.TOS, r.VLAN, r.Point.Domain, r.Precision = 100, 3, 4, 32, 42, 9, time.Nanosecond
			}), false},
		{"nfdump", `{ "type" : "FLOW", "export_sysid" : 1, "first" : "2026-11-21T06:09:04.828", "last" : "2026-11-21T06:09:05.829", "received" : "2026-11-21T06:09:14.000", "in_packets" : 6, "in_bytes" : 960, "proto" : 6, "tcp_flags" : "...AP.SF", "src_port" : 40071, "dst_port" : 443, "src_tos" : 0, "src4_addr" : "192.0.2.1", "dst4_addr" : "198.51.100.7", "ip4_router" : "203.0.113.1", "label" : "<none>" }`,
			change(exporter), false},
		{"nfdump", "ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt,opkt,obyt,in,out,ra,exid,tr\n2026-11-21 06:09:04.828,2026-11-21 06:09:05.829,1.001,192.0.2.1,198.51.100.7,40071,443,TCP,...AP.SF,0,0,6,960,0,0,0,0,203.0.113.1,0,2026-11-21 06:09:14.000\nSummary\nflows,bytes,packets,avg_bps,avg_pps,avg_bpp\n1,2,3,4,5,6\n",
			change(exporter), false},
		{"zeek-conn", `{"ts":1795241344.828,"uid":"C1","id.orig_h":"192.0.2.1","id.orig_p":40071,"id.resp_h":"198.51.100.7","id.resp_p":443,"proto":"tcp","duration":1.001,"orig_bytes":600,"resp_bytes":5,"conn_state":"SF","orig_pkts":6,"orig_ip_bytes":960,"resp_pkts":5,"resp_ip_bytes":800}`,
			change(back(5, 800), func(r *records.Record) { r.TCPFlags, r.Received = 0, r.End }), true},
		{"suricata-flow", `{"timestamp":"2026-11-21T07:09:14.000000+0100","flow_id":1,"event_type":"flow","vlan":[10,20],"src_ip":"192.0.2.1","src_port":40071,"dest_ip":"198.51.100.7","dest_port":443,"proto":"TCP","flow":{"pkts_toserver":6,"pkts_toclient":5,"bytes_toserver":960,"bytes_toclient":1,"start":"2026-11-21T06:09:04.828000+0000","end":"2026-11-21T06:09:05.829000+0000","age":1},"tcp":{"tcp_flags":"1b","syn":true},"host":"203.0.113.1"}`,
			change(exporter, back(5, 1), func(r *records.Record) { r.VLAN, r.Precision = 10, time.Microsecond }), true},
		{"netobserv", `{"AgentIP":"203.0.113.1","Bytes":960,"Packets":6,"SrcAddr":"192.0.2.1","DstAddr":"198.51.100.7","SrcPort":40071,"DstPort":443,"Proto":6,"Flags":27,"Dscp":8,"Etype":2048,"IfDirections":[1,0],"Interfaces":["eth0","br0"],"TimeFlowStartMs":1795241344828,"TimeFlowEndMs":1795241345829,"TimeReceived":1795241354,"Sampling":50}`,
			change(exporter, func(r *records.Record) { r.TOS, r.Sampling, r.Direction = 32, 50, records.DirectionEgress }), false},
		{"hubble", `{"flow":{"time":"2026-11-21T06:09:04.828Z","uuid":"u","verdict":"FORWARDED","IP":{"source":"192.0.2.1","destination":"198.51.100.7","ipVersion":"IPv4"},"l4":{"TCP":{"source_port":40071,"destination_port":443,"flags":{"SYN":true}}},"node_name":"n1","Type":"L3_L4","is_reply":false},"node_name":"n1","time":"2026-11-21T06:09:04.828Z"}`,
			change(func(r *records.Record) {
				r.End, r.Received, r.Packets, r.Bytes, r.TCPFlags, r.Point.Domain = r.Start, r.Start, 0, 0, 0, hash([]byte("n1"))
			}), false},
		{"gcp", `{"insertId":"x","jsonPayload":{"bytes_sent":"960","packets_sent":"6","connection":{"src_ip":"192.0.2.1","src_port":40071,"dest_ip":"198.51.100.7","dest_port":443,"protocol":6},"reporter":"SRC","start_time":"2026-11-21T06:09:04.828Z","end_time":"2026-11-21T06:09:05.829Z"},"receiveTimestamp":"x"}`,
			change(func(r *records.Record) { r.TCPFlags, r.Received, r.Point.Domain = 0, r.End, hash([]byte("SRC")) }), false},
		{"rwcut", "        sIP|         dIP|sPort|dPort|pro|   packets|     bytes|   flags|                  sTime| duration|                  eTime|sen|\n  192.0.2.1|198.51.100.7|40071|  443|  6|         6|       960|FS PA   |2026/11/21T06:09:04.828|    1.001|2026/11/21T06:09:05.829| S0|\n",
			change(func(r *records.Record) { r.Received, r.Point.Domain = r.End, hash([]byte("S0")) }), false},
		{"argus", "StartTime,LastTime,Dur,Proto,SrcAddr,Sport,Dir,DstAddr,Dport,State,sTos,TotPkts,TotBytes\n1795241344.828000,1795241345.829000,1.001000,tcp,192.0.2.1,40071,   ->,198.51.100.7,https,CON,0,6,960\n1795241346.967982,,,man,0,0,,0,0,STA,,0,0\n",
			change(back(0, 0), func(r *records.Record) { r.TCPFlags, r.Received, r.Precision = 0, r.End, time.Microsecond }), true},
		{"yaf", "start-time             |end-time               |duration|rtt     |proto|sip                                     |sp   |dip                                     |dp   |iflags|pkt     |oct     |rpkt    |roct    |end-reason\n2026-11-21 06:09:04.828|2026-11-21 06:09:05.829|   1.001|   0.000|  6|                               192.0.2.1|40071|                            198.51.100.7|  443|S|       6|     960|       5|     800|\n",
			change(back(5, 800), func(r *records.Record) { r.TCPFlags, r.Received = 0, r.End }), true},
		{"arkime", "IP Protocol, Start Time, Stop Time, Src IP, Src Port, Src Country, Dst IP, Dst Port, Dst Country, Bytes, Data bytes, Packets, Arkime Node\r\ntcp,1795241344828,1795241345829,192.0.2.1,40071,US,198.51.100.7,443,US,960,700,6,n1\r\n",
			change(func(r *records.Record) { r.TCPFlags, r.Received, r.Point.Domain = 0, r.End, hash([]byte("n1")) }), true},
		{"arkime", `{"firstPacket":1795241344828,"lastPacket":1795241345829,"ipProtocol":6,"node":"n1","source":{"ip":"192.0.2.1","port":40071,"packets":3,"bytes":400},"destination":{"ip":"198.51.100.7","port":443},"network":{"packets":6,"bytes":960}}`,
			change(back(3, 560), func(r *records.Record) {
				r.Packets, r.Bytes, r.TCPFlags, r.Received, r.Point.Domain = 3, 400, 0, r.End, hash([]byte("n1"))
			}), true},
		{"zeek-conn", "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn\n#fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tservice\tduration\torig_pkts\torig_ip_bytes\ttunnel_parents\n#types\ttime\tstring\taddr\tport\taddr\tport\tenum\tstring\tinterval\tcount\tcount\tset[string]\n1795241344.828000\tC\"1\t192.0.2.1\t40071\t198.51.100.7\t443\ttcp\t(empty)\t1.001\t6\t960\t-\n#close\t2026-11-21-07-00-00\n",
			change(func(r *records.Record) { r.TCPFlags, r.Received, r.Precision = 0, r.End, time.Microsecond }), true},
		{"aws", "version account-id interface-id srcaddr dstaddr srcport dstport protocol packets bytes start end action log-status tcp-flags flow-direction\n2 123456789010 eni-1 192.0.2.1 198.51.100.7 40071 443 6 6 960 1795241344 1795241345 ACCEPT OK 27 egress\n2 123456789010 eni-1 - - - - - - - 1795241344 1795241345 - NODATA - -\n",
			change(func(r *records.Record) {
				r.Start, r.End, r.Received, r.Precision, r.Direction = when, when+1e9, when+1e9, time.Second, records.DirectionEgress
				r.Point.Domain = hash([]byte("eni-1"))
			}), false},
	}
	for i, c := range cases {
		t.Run(fmt.Sprint(c.format, i), func(t *testing.T) {
			r, err := NewReader(strings.NewReader(c.text), "flows", Config{})
			if err != nil || r.format.name != c.format || r.Both() != c.both {
				t.Fatalf("%v: %+v", err, r)
			}
			c.want.Input = 3
			if !c.want.Point.Exporter.IsValid() {
				c.want.Point.Input = 3
			}
			for _, format := range []string{"", c.format} {
				got, _, n, err := readAll(t, c.text, Config{Format: format, Input: 3})
				if err != nil || len(got) == 0 || got[0] != c.want || n.Undecodable != 0 {
					t.Errorf("%v %+v:\n%+v, want\n%+v", err, n, got, c.want)
				}
				if len(got) > 1 && !got[1].Unmatched {
					t.Errorf("%+v is of a flow", got[1])
				}
			}
		})
	}
}

// TestICMP finds type and code where each program has them.
func TestICMP(t *testing.T) {
	for _, text := range []string{
		`{"src_addr":"192.0.2.1","dst_addr":"198.51.100.7","proto":"ICMP","icmp_type":3,"icmp_code":1}`,
		`{"src4_addr":"192.0.2.1","dst4_addr":"198.51.100.7","proto":1,"src_port":0,"dst_port":769}`,
		`{"id.orig_h":"192.0.2.1","id.resp_h":"198.51.100.7","proto":"icmp","id.orig_p":3,"id.resp_p":1}`,
		"ts,sa,da,sp,dp,pr\n2026-11-21 06:09:04,192.0.2.1,198.51.100.7,0,3.1,ICMP\n",
		"sIP|dIP|sPort|dPort|pro|\n192.0.2.1|198.51.100.7|0|769|1|\n",
		"sIP|dIP|pro|iType|iCode|\n192.0.2.1|198.51.100.7|1|3|1|\n",
		`{"flow":{"IP":{"source":"192.0.2.1","destination":"198.51.100.7"},"l4":{"ICMPv4":{"type":3,"code":1}},"node_name":"a"}}`,
		`{"flow":{"IP":{"source":"2001:db8::1","destination":"2001:db8::2"},"l4":{"ICMPv6":{"type":3,"code":1}},"node_name":"a"}}`,
	} {
		got, _, _, err := readAll(t, text, Config{})
		if err != nil || len(got) != 1 || got[0].SourcePort != 0 || got[0].DestinationPort != 3<<8|1 {
			t.Errorf("%s: %v %+v", text, err, got)
		}
	}
}

// TestShapes reads records as they follow each other in JSON and CSV, and counts damaged ones.
func TestShapes(t *testing.T) {
	const a, b = `{"src_addr":"192.0.2.1","dst_addr":"198.51.100.7"}`, `{"dst_addr":"192.0.2.1","src_addr":"198.51.100.7","s":"}\"{"}`
	pretty := strings.NewReplacer(",", ",\n\t", "{\"", "{\n\t\"").Replace(a)
	cases := []struct {
		name, text  string
		want        []string
		undecodable uint64
	}{
		{"lines", a + "\n" + b + "\n", []string{a, b}, 0},
		{"lines, the last without end", a + "\r\n\n  " + b, []string{a, b}, 0},
		{"a damaged line", a + "\n" + a[:30] + "\n" + b + "\n", []string{a, b}, 1},
		{"something behind a record", a + "\n" + a + " x\n" + b + "\n", []string{a, b}, 1},
		{"array", "[" + a + "," + b + "]\n", []string{a, b}, 0},
		{"array of lines", "[\n" + a + ",\n" + b + "\n]\n", []string{a, b}, 0},
		{"array with its end missing", "[" + a + "," + b + "," + a[:20], []string{a, b}, 1},
		{"array with something else", "[" + a + ",7,\"x\"," + b + "]", []string{a, b}, 2},
		{"empty array", " [ ]\n", nil, 0},
		{"pretty", pretty + "\n" + pretty + "\n", []string{pretty, pretty}, 0},
		{"a long line", a + "\n{\"x\":\"" + strings.Repeat("x", 5<<18) + "\"}\n" + b + "\n", []string{a, b}, 1},
		{"a long object", "[" + a + ",{\"x\":\"" + strings.Repeat("x", 5<<18) + "\"}," + b + "]", []string{a, b}, 1},
		{"deep", a + "\n{\"a\":" + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + "}\n" + b + "\n", []string{a, b}, 1},
		{"csv", "srcaddr,dstaddr,x\n192.0.2.1,198.51.100.7,\"a,b\"\n192.0.2.1\n", []string{`192.0.2.1,198.51.100.7,"a,b"`}, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, lines, n, err := readAll(t, c.text, Config{})
			if err != nil || !slices.Equal(lines, c.want) || n.Undecodable != c.undecodable || n.Records != uint64(len(c.want)) {
				t.Errorf("%v: %q, want %q: %+v", err, lines, c.want, n)
			}
			for _, r := range got {
				if r.Unmatched {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// TestMany reads more than a batch, and more than one read returns.
func TestMany(t *testing.T) {
	var s strings.Builder
	const records = 5000
	for i := range records {
		fmt.Fprintf(&s, "{\"src_addr\":\"10.0.%d.%d\",\"dst_addr\":\"198.51.100.7\",\"bytes\":%d}\n", i>>8, i&255, i)
	}
	for _, text := range []string{s.String(), "[" + strings.ReplaceAll(strings.TrimSpace(s.String()), "\n", ",\n") + "]"} {
		got, _, n, err := readAll(t, text, Config{})
		if err != nil || len(got) != records || n.Undecodable != 0 {
			t.Fatalf("%v: %d records, %+v", err, len(got), n)
		}
		for i, r := range got {
			if r.Bytes != uint64(i) {
				t.Fatalf("record %d has %d bytes", i, r.Bytes)
			}
		}
	}
}

// TestMapping reads names of the user's.
func TestMapping(t *testing.T) {
	m, err := ParseMapping("src=client.ip,dst=server.ip,dport=server.port,bytes=octets,start=t,duration_ms=ms,exporter=probe")
	if err != nil {
		t.Fatal(err)
	}
	got, _, _, err := readAll(t, `{"client":{"ip":"192.0.2.1"},"server":{"ip":"198.51.100.7","port":"443"},"octets":7e3,"t":1795241344,"ms":1500,"probe":"p1"}`, Config{Mapping: m})
	want := records.Record{Source: clientAddress, Destination: serverAddress, DestinationPort: 443, Bytes: 7000, Start: when, End: when + 1500e6, Received: when + 1500e6, Precision: time.Second}
	want.Point.Domain = hash([]byte("p1"))
	if err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("%v: %+v, want %+v", err, got, want)
	}
	for _, bad := range []string{"", "src", "src=", "source=a,dst=b", "src=a", "src=a,dport=b"} {
		if _, err := ParseMapping(bad); !errors.Is(err, ErrMapping) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestErrors names the input, and says what it has.
func TestErrors(t *testing.T) {
	for text, want := range map[string]error{
		"": capture.ErrEmpty, " \n\n": capture.ErrEmpty, "hello\n": ErrFormat, "a,b\n1,2\n": ErrFormat,
		`{"a":1,"b":2}`: ErrFormat, "[{\"src_addr\":": capture.ErrTruncated, strings.Repeat("x", 2<<20): ErrFormat,
	} {
		_, _, _, err := readAll(t, text, Config{})
		var damage *capture.InputError
		if !errors.Is(err, want) || !errors.As(err, &damage) || damage.Input != "flows" {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	if _, _, _, err := readAll(t, "{}", Config{Format: "flowtools"}); !errors.Is(err, ErrFormat) {
		t.Error(err)
	}
	if _, err := NewReader(iotest.ErrReader(errBroken), "flows", Config{}); !errors.Is(err, errBroken) {
		t.Error(err)
	}
}

var errBroken = errors.New("broken")

// TestEndsEarly returns all whole records before an input fails or is damaged, and says
// behind which of them that was.
func TestEndsEarly(t *testing.T) {
	const line = `{"src_addr":"192.0.2.1","dst_addr":"198.51.100.7","proto":17}` + "\n"
	for name, c := range map[string]struct {
		before string
		reason error
		offset int64
	}{
		"in a line":   {strings.Repeat(line, 3) + line[:9], capture.ErrDamaged, 3 * int64(len(line))},
		"behind one":  {strings.Repeat(line, 2000), errBroken, 2000 * int64(len(line))},
		"in an array": {"[" + line + "," + line[:20], capture.ErrTruncated, int64(len(line)) + 2},
	} {
		r, err := NewReader(iotest.HalfReader(io.MultiReader(strings.NewReader(c.before), iotest.ErrReader(c.reason))), "flows", Config{})
		if err != nil {
			t.Fatal(name, err)
		}
		var n int
		var b records.Batch
		for err == nil {
			n += len(b.Records)
			err = r.ReadBatch(&b)
		}
		var damage *capture.InputError
		var failed *capture.ReadError
		switch {
		case !errors.Is(err, c.reason) || n != strings.Count(c.before, "}"):
			t.Errorf("%s: %d records, %v", name, n, err)
		case c.reason == errBroken && (!errors.As(err, &failed) || failed.Offset != c.offset):
			t.Errorf("%s: %v", name, err)
		case c.reason != errBroken && (!errors.As(err, &damage) || damage.Offset != c.offset):
			t.Errorf("%s: %v, not at %d", name, err, c.offset)
		}
	}
}

// TestTimes reads times in each form.
func TestTimes(t *testing.T) {
	for text, want := range map[string]struct {
		ns   int64
		unit time.Duration
	}{
		"1795241344": {when, time.Second}, "1795241344.5": {when + 500e6, time.Millisecond}, "1795241344.123456789": {when + 123456789, time.Nanosecond},
		"1795241344828": {when + 828e6, time.Millisecond}, "1795241344828001": {when + 828001e3, time.Microsecond}, "1795241344828001002": {when + 828001002, time.Nanosecond},
		"1.795241344e9": {when, time.Microsecond}, "2026-11-21T06:09:04Z": {when, time.Second}, "2026-11-21T07:09:04.5+01:00": {when + 500e6, time.Millisecond},
		"2026/11/21 00:09:04.000001-0600": {when + 1e3, time.Microsecond}, "2026-11-21 06:09:04": {when, time.Second},
		"": {}, "yesterday": {}, "2026-11-21T06:09": {when - 4e9, time.Minute}, "2026-xx-21T06:09:04Z": {}, "99999999999999999999999": {}, "9223372036854775808": {},
		"9999-01-01T00:00:00Z": {}, "-5": {},
	} {
		if ns, unit, _ := new(times).read(start, []byte(text)); ns != want.ns || ns != 0 && unit != want.unit {
			t.Errorf("%s: %d of %v, want %d of %v", text, ns, unit, want.ns, want.unit)
		}
	}
}

// FuzzText reads any text. Records stand where they say, and the same text without
// whatever is around them has them again.
func FuzzText(f *testing.F) {
	for _, s := range []string{
		`{"src_addr":"192.0.2.1","dst_addr":"198.51.100.7","proto":"TCP","time_flow_start_ns":1}` + "\n", `[{"src4_addr":"192.0.2.1","dst4_addr":"198.51.100.7","first":"2026-11-21T06:09:04.828"},{}]`,
		"ts,te,sa,da,sp,dp,pr,flg,ra\n2026-11-21 06:09:04,,192.0.2.1,198.51.100.7,1,3.1,ICMP,...AP.SF,1.2.3.4\nSummary\n", "sIP|dIP|pro|\n ::1| ::2|6|\n",
		"#separator \\x09\n#path\tconn\n#fields\tid.orig_h\tid.resp_h\n1.1.1.1\t::1\n#fields\tx\n", "\ufeffStartTime,SrcAddr,Sport,DstAddr,Proto\n03/04/2023 10:00 PM,1.1.1.1,0x0103,2.2.2.2,icmp\n31/04/2023 1:00,a,https,b,man\n",
		"srcaddr dstaddr bytes\n1.1.1.1 2.2.2.2 1e5\n", `{"event_type":"flow","src_ip":"fe80::1%eth0","dest_ip":"::1","vlan":[1,[2]],"tcp":{"tcp_flags":"zz"}}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, lines, n, err := readAll(t, s, Config{})
		if err != nil {
			return
		}
		if n.Records != uint64(len(got)) || n.Messages != n.Records+n.Undecodable+n.Other {
			t.Fatalf("%d records: %+v", len(got), n)
		}
		if !strings.HasPrefix(strings.TrimSpace(s), "{") || n.Undecodable > 0 {
			return
		}
		again, _, _, err := readAll(t, "["+strings.Join(lines, ",")+"]", Config{})
		if len(lines) > 0 && (err != nil || !slices.Equal(again, got)) {
			t.Fatalf("%v: %+v, want %+v", err, again, got)
		}
	})
}
