// SPDX-License-Identifier: Apache-2.0

package text

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
)

const fieldHeader = "src,dst,sport,dport,proto,start,duration,vlan,tos,vrf,in,bytes,nat_src,direction,icmp_type,received\n"

func fieldMapping(t testing.TB) Mapping {
	t.Helper()
	var pairs []string
	for name := range strings.SplitSeq(strings.TrimSpace(fieldHeader), ",") {
		pairs = append(pairs, name+"="+name)
	}
	m, err := ParseMapping(strings.Join(pairs, ","))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// line returns a line of fieldHeader with one value changed.
func line(field, value string) string {
	values := strings.Split("192.0.2.1,198.51.100.7,1,2,6,1795241344,1,3,4,5,6,7,192.0.2.9,0,-,-", ",")
	values[slices.Index(strings.Split(strings.TrimSpace(fieldHeader), ","), field)] = value
	return strings.Join(values, ",") + "\n"
}

// TestUnread has values that are there and cannot be read: they make no record without them.
func TestUnread(t *testing.T) {
	for _, c := range []struct {
		field, value string
		part         records.Parts
	}{
		{"src", "fe80::1%eth0", records.PartFlow}, {"dst", "host.example", records.PartFlow}, {"sport", "70000", records.PartFlow},
		{"sport", "no-such-service", records.PartFlow}, {"dport", "3.1", records.PartFlow}, {"dport", "-5", records.PartFlow}, {"dport", "0x12345", records.PartFlow},
		{"proto", "no-such-protocol", records.PartFlow}, {"proto", "256", records.PartFlow}, {"icmp_type", "x", records.PartFlow}, {"icmp_type", "256", records.PartFlow},
		{"start", "yesterday", records.PartTime}, {"start", "2026-11-21T06:09:04 CET", records.PartTime}, {"start", "2026-11-21", records.PartTime},
		{"start", "2026-13-21T06:09:04Z", records.PartTime}, {"start", "2026-02-30T06:09:04Z", records.PartTime}, {"start", "2026-11-21 13:09:04 PM", records.PartTime},
		{"start", "2026-11-21 24:09:04", records.PartTime}, {"start", "2026-11-21 06:60:04", records.PartTime}, {"start", "2026-11-21T06:09:04+25", records.PartTime},
		{"duration", "1:30", records.PartTime}, {"vlan", "trunk", records.PartVLAN}, {"tos", "256", records.PartTOS}, {"vrf", "blue", records.PartVRF},
		{"in", "eth0", records.PartPoint}, {"bytes", "5 K", records.PartCounters}, {"nat_src", "?", records.PartNAT}, {"direction", "up", records.PartPoint}, {"received", "now", 0},
	} {
		text := fieldHeader + line("src", "192.0.2.1") + line(c.field, c.value) + line(c.field, c.value)
		r, err := NewReader(strings.NewReader(text), "flows", Config{Mapping: fieldMapping(t)})
		if err != nil {
			t.Fatal(err)
		}
		var b records.Batch
		if err := r.ReadBatch(&b); err != nil || len(b.Records) != 3 {
			t.Fatal(err, len(b.Records))
		}
		want := []Unread{{Field: c.field, Part: c.part, Values: 2, Example: c.value}}
		if c.value == "3.1" {
			want[0].Example = string(dottedPort)
		}
		if b.Records[0].Unread != 0 || b.Records[1].Unread != c.part || !slices.Equal(r.AppendUnread(nil), want) || r.Counts().Unread != 2 {
			t.Errorf("%s %q: %v %v, %+v", c.field, c.value, b.Records[0].Unread, b.Records[1].Unread, r.AppendUnread(nil))
		}
	}
}

// TestRead has values in each form that programs write.
func TestRead(t *testing.T) {
	port := func(n uint16) func(*records.Record) bool {
		return func(r *records.Record) bool { return r.DestinationPort == n }
	}
	protocol := func(n uint8) func(*records.Record) bool {
		return func(r *records.Record) bool { return r.Protocol == n }
	}
	for _, c := range []struct {
		field, value string
		is           func(*records.Record) bool
	}{
		{"dport", "http", port(80)}, {"dport", "HTTPS", port(443)}, {"dport", "domain", port(53)}, {"dport", "443.0", port(443)}, {"dport", "0x01bb", port(443)},
		{"proto", "TCP", protocol(6)}, {"proto", "ipv6-icmp", protocol(58)}, {"proto", "6.0", protocol(6)}, {"proto", "138  ", protocol(138)},
		{"proto", "Frag6", protocol(44)}, {"proto", "IPcmp", protocol(108)}, // nfdump's
		{"proto", "ipnip", protocol(4)}, {"proto", "ipv6-no", protocol(59)}, // Argus's
		{"tos", "0x10", func(r *records.Record) bool { return r.TOS == 16 }},
		{"bytes", "7e3", func(r *records.Record) bool { return r.Bytes == 7000 }}, {"direction", "2", func(r *records.Record) bool { return r.Direction == 0 }},
		{"sport", "-", func(r *records.Record) bool { return r.SourcePort == 0 }}, {"sport", "", func(r *records.Record) bool { return r.SourcePort == 0 }},
	} {
		got, _, n, err := readAll(t, fieldHeader+line(c.field, c.value), Config{Mapping: fieldMapping(t)})
		if err != nil || len(got) != 1 || !c.is(&got[0]) || got[0].Unread != 0 || n.Unread != 0 {
			t.Errorf("%s %q: %v %+v %+v", c.field, c.value, err, got, n)
		}
	}
}

// TestArgusICMP reads type and code as ra prints them: the code in front.
func TestArgusICMP(t *testing.T) {
	const header = "StartTime,Proto,SrcAddr,Sport,DstAddr,Dport,TotPkts,TotBytes\n"
	for ports, want := range map[string]uint16{
		"icmp 0x0303 0xc000": 3<<8 | 3, "icmp 0x0103 0xc000": 3<<8 | 1, "icmp 0x0008 0x1657": 8 << 8, "1 0x0000 0x1657": 0,
		"ipv6-icmp 0x0087 0x0000": 135 << 8, "58 1 4": 1<<8 | 4, "ipv6-icmp 0x0001 0x0004": 1<<8 | 4,
	} {
		w := strings.Fields(ports)
		got, _, _, err := readAll(t, header+"1795241344.1,"+w[0]+",192.0.2.1,"+w[1]+",198.51.100.7,"+w[2]+",1,74\n", Config{})
		if err != nil || len(got) != 1 || got[0].DestinationPort != want || got[0].SourcePort != 0 || got[0].Unread != 0 {
			t.Errorf("%s: %v %+v", ports, err, got)
		}
	}
}

// TestArgusSPI reads the SPI of ESP in either port of Argus: its halves are the ports of the key.
// A port is never as large.
func TestArgusSPI(t *testing.T) {
	const header = "StartTime,Proto,SrcAddr,Sport,DstAddr,Dport,TotPkts,TotBytes\n"
	for ports, want := range map[string][3]uint16{
		"esp,,0x0c1d2e3f": {0x0c1d, 0x2e3f}, "esp,,203238975": {0x0c1d, 0x2e3f}, "esp,0x0c1d2e3f,": {0x0c1d, 0x2e3f}, "esp,,0x00001234": {0, 0x1234},
		"50,0x1234,": {0, 0x1234}, "esp,,": {}, "esp,,0x10c1d2e3f": {0, 0, 1}, "udp,,65536": {0, 0, 1}, "udp,0x00010000,53": {0, 53, 1}, "icmp,0x00010000,": {0, 0, 1},
	} {
		w := strings.Split(ports, ",")
		got, _, n, err := readAll(t, header+"1795241344.1,"+w[0]+",192.0.2.1,"+w[1]+",198.51.100.7,"+w[2]+",1,74\n", Config{})
		if err != nil || len(got) != 1 {
			t.Fatalf("%s: %v %+v", ports, err, got)
		}
		if r := got[0]; [2]uint16{r.SourcePort, r.DestinationPort} != [2]uint16(want[:2]) || n.Unread != uint64(want[2]) || (r.Unread != 0) != (n.Unread != 0) {
			t.Errorf("%s: %d to %d, %d unread: %+v", ports, r.SourcePort, r.DestinationPort, n.Unread, r)
		}
	}
}

// TestDates reads dates with AM and PM, with zones, and with the year behind.
func TestDates(t *testing.T) {
	at := time.Date(2026, 11, 21, 18, 9, 4, 0, time.UTC).UnixNano()
	for value, want := range map[string]int64{
		"2026-11-21 06:09:04 PM": at, "2026-11-21 6:09:04 pm": at, "2026-11-21 06:09:04.5PM": at + 5e8, "2026-11-21 12:09:04 AM": at - 18*3600e9, "2026-11-21 12:09:04 PM": at - 6*3600e9,
		"2026-11-21T19:09:04+01": at, "2026-11-21T19:09:04+0100": at, "2026-11-21T19:09:04 +01:00": at, "2026-11-21T13:39:04-0430": at, "2026-11-21 18:09:04 UTC": at,
		"21/11/2026 06:09:04 PM": at, "21/11/2026 18:09:04": at, "21.11.2026 18:09:04": at, "11/21/2026 06:09:04 PM": at, "11-21-2026 18:09:04": at, "21/11/2026 18:09": at - 4e9,
		"11/11/2026 18:09:04": at - 10*24*3600e9, "12/31/2016 23:59:60": 1483228800e9,
	} {
		got, _, _, err := readAll(t, fieldHeader+line("start", value), Config{Mapping: fieldMapping(t)})
		if err != nil || len(got) != 1 || got[0].Start != want || got[0].Unread != 0 {
			t.Errorf("%q: %v %+v", value, err, got)
		}
	}
}

// TestOrder infers from later values whether days or months come first, and asks if none
// decides.
func TestOrder(t *testing.T) {
	january := func(day int) int64 { return time.Date(2026, 1, day, 10, 0, 0, 0, time.UTC).UnixNano() }
	doubtful := line("start", "02/01/2026 10:00:00")
	m := fieldMapping(t)
	for name, c := range map[string]struct {
		lines string
		want  []int64 // nil for an error
	}{
		"day first":     {strings.Repeat(doubtful, 3000) + line("start", "31/01/2026 10:00:00"), append(slices.Repeat([]int64{january(2)}, 3000), january(31))},
		"month first":   {line("start", "01/02/2026 10:00:00") + line("start", "01/31/2026 10:00:00"), []int64{january(2), january(31)}},
		"either":        {line("start", "01/01/2026 10:00:00"), []int64{january(1)}},
		"both later on": {line("start", "31/01/2026 10:00:00") + line("start", "01/31/2026 10:00:00"), []int64{january(31), 0}},
		"no word":       {strings.Repeat(doubtful, 3000), nil},
		"behind absent": {line("start", "-") + doubtful, nil},
	} {
		got, _, _, err := readAll(t, fieldHeader+c.lines, Config{Mapping: m})
		var starts []int64
		for _, r := range got {
			starts = append(starts, r.Start)
		}
		if c.want == nil && (!errors.Is(err, ErrOrder) || !strings.Contains(err.Error(), "--time-format")) || c.want != nil && err != nil || !slices.Equal(starts, c.want) {
			t.Errorf("%s: %v %v", name, err, starts[max(0, len(starts)-2):])
		}
	}
	layout, err := ParseTimeLayout("%d/%m/%Y %H:%M:%S")
	if err != nil {
		t.Fatal(err)
	}
	got, _, _, err := readAll(t, fieldHeader+doubtful+line("start", "2026-01-02 10:00:00"), Config{Mapping: m, Times: layout})
	if err != nil || len(got) != 2 || got[0].Start != january(2) || got[0].Unread != 0 || got[1].Unread != records.PartTime {
		t.Errorf("with a layout: %v %+v", err, got)
	}
}

// TestTimeLayout refuses layouts that leave out what a time has.
func TestTimeLayout(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"%d/%m/%Y %H:%M": time.Minute, "%Y%m%d %I:%M:%S %p": time.Second, "%b %d %Y %T.%f": time.Microsecond, "%d/%m/%Y %I:%M:%S %p %z": time.Second,
		"": 0, "%H:%M:%S": 0, "%Y-%m-%d": 0, "%d/%m/%Y %I:%M:%S": 0, "%Q": 0, "%": 0, "today": 0,
	} {
		l, err := ParseTimeLayout(s)
		if (err == nil) != (want != 0) || err != nil && !errors.Is(err, ErrTimeLayout) || l.unit != want {
			t.Errorf("%q: %v %v", s, l.unit, err)
		}
	}
}

// FuzzDate reads what the standard library writes.
func FuzzDate(f *testing.F) {
	layouts := []string{
		"2006-01-02T15:04:05Z", "2006-01-02 15:04:05.000000", "2006/01/02 03:04:05 PM", "2006-01-02T15:04:05-07:00", "2006-01-02T15:04:05-0700",
		"02/01/2006 15:04:05", "2/1/2006 3:04:05 PM", "02.01.2006 15:04:05",
	}
	f.Add(int64(1795241344), uint8(0), int16(60))
	f.Add(int64(951782400), uint8(6), int16(-330))
	f.Fuzz(func(t *testing.T, seconds int64, which uint8, zone int16) {
		layout := layouts[int(which)%len(layouts)]
		at := time.Unix(seconds&(1<<32-1), 0).UTC()
		if strings.Contains(layout, "-07") {
			at = at.In(time.FixedZone("", int(zone)%(14*60)*60))
		}
		text := at.Format(layout)
		reader := times{order: dayFirst}
		if ns, _, ok := reader.read(start, []byte(text)); !ok || ns != at.UnixNano() {
			t.Fatalf("%q: %d %v, want %d", text, ns, ok, at.UnixNano())
		}
	})
}

// FuzzValue reads any value as what each field has: it is absent, read, or counted.
func FuzzValue(f *testing.F) {
	for _, s := range []string{"", "-", "http", "3.1", "0x0303", "14/11/2023 10:13:20 PM", "2023-11-14T22:13:20+01", "1e300", "::ffff:1.2.3.4", "..", "1.1.", "99999999999999999999", "0x", "%", "é"} {
		f.Add(s)
	}
	layout, err := ParseTimeLayout("%d/%m/%Y %I:%M:%S %p %z")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, times := range []times{{}, {order: monthFirst}, {layout: layout}} {
			for what := source; what <= kind; what++ {
				r := &Reader{format: &format{flows: "flow"}, rec: new(records.Record), unset: "-", times: times}
				r.enter(what, []byte(s))
				r.finish(r.rec, &r.values)
				r.countUnread()
				absent := s == "" || s == "-"
				if n := r.counts.Unread; n > 1 || absent && n > 0 {
					t.Fatalf("%v %q: %d", what, s, n)
				}
				if n := len(r.AppendUnread(nil)); n != int(r.counts.Unread) {
					t.Fatalf("%v %q: %d of %d", what, s, n, r.counts.Unread)
				}
				if isTime := what == start || what == end; isTime && !absent && (r.rec.Start == 0) == (r.rec.Unread == 0) && s[0] != '0' {
					t.Fatalf("%v %q: start %d, unread %v", what, s, r.rec.Start, r.rec.Unread)
				}
			}
		}
	})
}

// TestUnreadAllocations reads values that cannot be read without allocating for each.
func TestUnreadAllocations(t *testing.T) {
	text := fieldHeader + strings.Repeat(line("dport", "no-such-service"), 5000)
	r, err := NewReader(strings.NewReader(text), "flows", Config{Mapping: fieldMapping(t)})
	if err != nil {
		t.Fatal(err)
	}
	var b records.Batch
	read := func() {
		if err := r.ReadBatch(&b); err != nil {
			t.Fatal(err)
		}
	}
	read()
	if n := testing.AllocsPerRun(50, read); n > 0 {
		t.Errorf("%v allocations for %d records", n, len(b.Records))
	}
}

// TestEventsBefore finds the first record of a flow behind other events, and passes these
// over.
func TestEventsBefore(t *testing.T) {
	const stats, dns = `{"event_type":"stats","stats":{"uptime":8}}`, `{"event_type":"dns","src_ip":"192.0.2.1","dest_ip":"198.51.100.7"}`
	const event = `{"event_type":"flow","src_ip":"192.0.2.1","dest_ip":"198.51.100.7","proto":"TCP","flow":{"start":"2026-11-21T06:09:04Z"}}`
	for name, c := range map[string]struct {
		text  string
		flows int
		other uint64
		err   error
	}{
		"stats first":   {stats + "\n" + dns + "\n" + event + "\n", 1, 2, nil},
		"in an array":   {"[" + stats + "," + event + "," + dns + "]", 1, 2, nil},
		"999 before":    {strings.Repeat(stats+"\n", 999) + event + "\n", 1, 999, nil},
		"1000 before":   {strings.Repeat(stats+"\n", 1000) + event + "\n", 0, 0, ErrFormat},
		"damaged first": {stats + "\n" + stats[:20] + "\n" + event + "\n", 1, 1, nil},
		"stats alone":   {stats + "\n", 0, 0, ErrFormat},
	} {
		got, _, n, err := readAll(t, c.text, Config{Input: 1})
		if !errors.Is(err, c.err) || len(got) != c.flows || n.Other != c.other {
			t.Errorf("%s: %v, %d flows, %+v", name, err, len(got), n)
		}
	}
}

// TestFiles reads files that were put together, or that begin with a byte order mark.
func TestFiles(t *testing.T) {
	const csv = "srcaddr,dstaddr,bytes\n192.0.2.1,198.51.100.7,5\n"
	const fields = "#fields\tts\tid.orig_h\tid.resp_h\tproto\torig_pkts\n"
	zeek := func(path, fields, line string) string {
		return fmt.Sprintf("#separator \\x09\n#unset_field\t-\n#path\t%s\n%s%s#close\tx\n", path, fields, line)
	}
	one := zeek("conn", fields, "1795241344\t192.0.2.1\t198.51.100.7\ttcp\t5\n")
	for name, c := range map[string]struct {
		text  string
		flows int
		other uint64
	}{
		"byte order mark":  {"\ufeff" + csv, 1, 0},
		"mark before JSON": {"\ufeff" + `{"src_addr":"192.0.2.1","dst_addr":"198.51.100.7"}`, 1, 0},
		"header again":     {csv + csv, 2, 0},
		"an empty column":  {"x\tsrcaddr\tdstaddr\n\t192.0.2.1\t198.51.100.7\n", 1, 0},
		"header alone":     {"srcaddr,dstaddr", 0, 0},
		"logs of Zeek":     {one + zeek("conn", "#fields\tid.resp_h\tproto\tid.orig_h\n", "198.51.100.7\ttcp\t192.0.2.1\n"), 2, 0},
		"another log":      {zeek("dns", fields, "1795241344\t192.0.2.1\t198.51.100.7\ttcp\t5\n") + one, 1, 1},
		"another sign":     {strings.ReplaceAll(strings.ReplaceAll(one, "\t", "|"), `\x09`, `\x7c`), 1, 0},
		"no lines":         {zeek("conn", fields, ""), 0, 0},
	} {
		got, _, n, err := readAll(t, c.text, Config{})
		if err != nil || len(got) != c.flows || n.Other != c.other || n.Undecodable != 0 {
			t.Errorf("%s: %v, %d flows, %+v", name, err, len(got), n)
		}
		for _, r := range got {
			if r.Unmatched || r.Unread != 0 || r.Source != clientAddress || r.Destination != serverAddress {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
	if _, _, _, err := readAll(t, "#separator \\x09\nno fields\n", Config{}); !errors.Is(err, ErrFormat) {
		t.Error(err)
	}
}
