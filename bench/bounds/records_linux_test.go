// SPDX-License-Identifier: Apache-2.0

package bounds

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

var be = binary.BigEndian

// fieldsOfFlows are the fields of a template, and the length of each.
var fieldsOfFlows = [][2]int{{8, 4}, {12, 4}, {7, 2}, {11, 2}, {4, 1}, {2, 8}, {1, 8}, {152, 8}, {153, 8}}

// template is template number id of IPFIX.
func template(id int, fields [][2]int) []byte {
	b := be.AppendUint16(be.AppendUint16(nil, uint16(id)), uint16(len(fields)))
	for _, f := range fields {
		b = be.AppendUint16(be.AppendUint16(b, uint16(f[0])), uint16(f[1]))
	}
	return b
}

// flow is record number i of that template, with its first and its last millisecond.
func flow(i int, first, last uint64) []byte {
	b := be.AppendUint32(be.AppendUint32(nil, 10<<24+uint32(i)), 0xC0A80001)
	b = be.AppendUint16(be.AppendUint16(b, uint16(i)), 443)
	b = be.AppendUint64(be.AppendUint64(append(b, 6), 10), 1000)
	return be.AppendUint64(be.AppendUint64(b, first), last)
}

// set is a set of a message.
func set(id int, content []byte) []byte {
	return append(be.AppendUint16(be.AppendUint16(nil, uint16(id)), uint16(4+len(content))), content...)
}

// message is a message of IPFIX.
func message(domain, sequence int, sets ...[]byte) []byte {
	body := slices.Concat(sets...)
	b := be.AppendUint16(be.AppendUint16(nil, 10), uint16(16+len(body)))
	b = be.AppendUint32(be.AppendUint32(b, begin/1e6), uint32(sequence))
	return append(be.AppendUint32(b, uint32(domain)), body...)
}

// export writes a message as exporter number i sends it.
func (c *capture) export(i int, at uint64, message []byte) {
	b := be.AppendUint16(be.AppendUint16(nil, 30_000), 2055)
	b = be.AppendUint16(be.AppendUint16(b, uint16(8+len(message))), 0)
	c.packet(0, at, ethernet(0x0800, ipv4(i, 0, append(b, message...))))
}

// millis is the time of the first packets in milliseconds.
const millis = begin / 1000

// exports are files of records that take memory.
var exports = []input{
	{"flows.ipfix", records, func(c *capture, bytes int64) {
		_, _ = c.Write(message(1, 0, set(2, template(256, fieldsOfFlows))))
		c.loop(bytes, func(i int) {
			var data []byte
			for k := range 20 {
				data = append(data, flow(20*i+k, millis+uint64(i)/10, millis+uint64(i)/10+500)...)
			}
			_, _ = c.Write(message(1, 20*i, set(256, data)))
		})
	}},
	{"long-records.ipfix", records, func(c *capture, bytes int64) {
		_, _ = c.Write(message(1, 0, set(2, template(256, fieldsOfFlows))))
		c.loop(min(bytes, 40<<20), func(i int) {
			bounds := [][2]uint64{{0, math.MaxUint64}, {millis, millis + 1<<40}, {0, millis}, {math.MaxUint64, 0}, {1 << 63, 1<<63 + 1}}[i%5]
			_, _ = c.Write(message(1, i, set(256, flow(i, bounds[0], bounds[1]))))
		})
	}},
	{"random-times.pcapng", records, func(c *capture, bytes int64) {
		c.plain()
		rnd := rand.New(rand.NewPCG(1, 2))
		c.loop(bytes/4, func(i int) {
			b := be.AppendUint16(be.AppendUint16(nil, 5), 30)
			b = be.AppendUint32(be.AppendUint32(be.AppendUint32(b, rnd.Uint32()), rnd.Uint32()), 0)
			b = be.AppendUint32(be.AppendUint32(b, uint32(30*i)), uint32(i%256)<<16)
			for range 30 {
				one := make([]byte, 48)
				be.PutUint32(one, rnd.Uint32())
				be.PutUint32(one[4:], rnd.Uint32())
				be.PutUint64(one[16:], 10<<32|1000)
				be.PutUint32(one[24:], rnd.Uint32())
				be.PutUint32(one[28:], rnd.Uint32())
				b = append(b, one...)
			}
			c.export(1, begin+uint64(i)*1000, b)
		})
	}},
	{"domains.pcapng", records, func(c *capture, bytes int64) {
		c.plain()
		c.loop(bytes/2, func(i int) {
			c.export(1, begin+uint64(i), message(i, 0, set(2, template(256, fieldsOfFlows)), set(256, flow(i, millis, millis+1))))
		})
	}},
	{"exporters.pcapng", records, func(c *capture, bytes int64) {
		c.plain()
		c.loop(bytes/2, func(i int) {
			c.export(i, begin+uint64(i), message(1, 0, set(2, template(256, fieldsOfFlows)), set(256, flow(i, millis, millis+1))))
		})
	}},
	{"templates.ipfix", records, func(c *capture, bytes int64) {
		c.loop(bytes, func(i int) {
			fields := slices.Repeat([][2]int{{1 + i%400, i % 9}}, 1000)
			_, _ = c.Write(message(i>>16, 0, set(2, template(256+i%65_280, fields))))
		})
	}},
	{"no-template.pcapng", records, func(c *capture, bytes int64) {
		c.plain()
		c.loop(bytes, func(i int) {
			c.export(i%1000, begin+uint64(i), message(i%5000, 0, set(300+i%1000, make([]byte, 1300))))
		})
	}},
	{"no-lengths.ipfix", records, func(c *capture, bytes int64) {
		c.loop(min(bytes, 50<<20), func(i int) {
			for _, m := range [][]byte{
				message(1, 0, set(2, template(256+i%100, [][2]int{{8, 0}, {12, 0}}))),
				message(1, 0, set(256+i%100, make([]byte, 1400))),
				message(1, 0, set(2, template(400, slices.Repeat([][2]int{{8, 65_535}}, 50)))),
				message(1, 0, set(400, append([]byte{255, 255, 255}, make([]byte, 1000)...))),
				message(1, 0, set(3, be.AppendUint16(be.AppendUint16(be.AppendUint16(nil, 500), 3), 7))),
				message(1, 0, set(2, be.AppendUint16(be.AppendUint16(nil, 600), 65_535))),
			} {
				_, _ = c.Write(m)
			}
		})
	}},
	{"samples.pcapng", records, func(c *capture, bytes int64) {
		c.plain()
		c.loop(min(bytes, 50<<20), func(i int) {
			b := []byte{}
			for _, v := range []uint32{5, 1, 0x7F000001 + uint32(i%1000), uint32(i), uint32(i), uint32(i), []uint32{1, 5, math.MaxUint32}[i%3]} {
				b = be.AppendUint32(b, v)
			}
			for k := range 5 {
				sample := []byte{}
				for _, v := range []uint32{uint32(i), 3, 1, uint32(i), 0, 1, 2, []uint32{1, 1 << 31}[i%2], 1, []uint32{100, math.MaxUint32 - 3, 1 << 31}[i%3], 1} {
					sample = be.AppendUint32(sample, v)
				}
				sample = append(sample, frame(i)...)
				length := []uint32{uint32(len(sample)), math.MaxUint32, 4}[(i+k)%3]
				b = append(be.AppendUint32(be.AppendUint32(b, 1), length), sample...)
			}
			c.export(1, begin+uint64(i), b)
		})
	}},
	{"pieces.pcapng", records, func(c *capture, bytes int64) { // first fragments, whose ends never come
		c.plain()
		c.loop(bytes, func(i int) {
			c.packet(0, begin+uint64(i), ethernet(0x0800, ipv4(i, 0x2000, make([]byte, 1400))))
		})
	}},
	{"flows.ndjson", records, func(c *capture, bytes int64) {
		c.loop(bytes, func(i int) {
			start := int64(millis)*1_000_000 + int64(i)*1000
			fmt.Fprintf(c, `{"type":"IPFIX","time_received_ns":%d,"sampler_address":"192.0.2.%d","time_flow_start_ns":%[1]d,"time_flow_end_ns":%[3]d,`+
				`"bytes":960,"packets":6,"src_addr":"10.%[4]d.%[5]d.%[6]d","dst_addr":"198.51.100.7","proto":"TCP","src_port":%[5]d,"dst_port":443}`+"\n",
				start, i%200, start+5, byte(i>>16), byte(i>>8), byte(i))
		})
	}},
	{"exporters.ndjson", records, func(c *capture, bytes int64) {
		c.loop(bytes/2, func(i int) {
			fmt.Fprintf(c, `{"type":"IPFIX","time_flow_start_ns":%d,"time_flow_end_ns":%[1]d,"sampler_address":"10.%d.%d.%d","observation_domain_id":%[5]d,`+
				`"src_addr":"10.0.0.1","dst_addr":"198.51.100.7","proto":"TCP","src_port":1,"dst_port":443}`+"\n",
				uint64(i)*0x9E3779B97F4A7C15>>1, byte(i>>16), byte(i>>8), byte(i), i)
		})
	}},
	{"one-line.ndjson", records, func(c *capture, bytes int64) {
		fmt.Fprint(c, `{"src_addr":"`)
		c.loop(bytes, func(int) { fmt.Fprint(c, strings.Repeat("a", 1<<16)) })
	}},
	{"nested.ndjson", records, func(c *capture, bytes int64) {
		c.loop(bytes, func(int) { fmt.Fprint(c, strings.Repeat(`{"a":[`, 1<<14)) })
	}},
	{"names.ndjson", records, func(c *capture, bytes int64) {
		c.loop(min(bytes, 100<<20), func(i int) { fmt.Fprintf(c, `{"name%d":"value%[1]d","src_addr":"10.0.0.1"}`+"\n", i) })
	}},
	{"wide.csv", records, func(c *capture, bytes int64) {
		c.loop(bytes/2, func(i int) { fmt.Fprintf(c, "column%d,", i) })
		fmt.Fprintln(c)
		c.loop(bytes, func(i int) { fmt.Fprintf(c, "%d,", i) })
	}},
	{"open-quote.csv", records, func(c *capture, bytes int64) {
		fmt.Fprint(c, "ts,te,td,sa,da,sp,dp,pr\n2026-11-21 06:09:04.828,\"")
		c.loop(bytes, func(int) { fmt.Fprint(c, strings.Repeat("line\n", 1000)) })
	}},
}

// countRecord is a record of a file of counts.
func countRecord(kind byte, content string) []byte {
	b := append(le.AppendUint32([]byte{kind}, uint32(len(content))), content...)
	return le.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

// beginCounts begins a file of counts with the given settings.
func (c *capture) beginCounts(settings string) {
	_, _ = c.Write([]byte("FLOWCNT1"))
	_, _ = c.Write(countRecord('H', `{"sensor":"a","settings":[`+settings+`]}`))
}

// savedCounts are files of counts that take memory.
var savedCounts = []input{
	{"windows.counts", counts, func(c *capture, bytes int64) {
		c.beginCounts("")
		c.loop(min(bytes, 30<<20), func(i int) {
			_, _ = c.Write(countRecord('W', fmt.Sprintf(`{"start":%d,"end":%d}`, i, i+1)))
		})
		_, _ = c.Write(countRecord('E', ""))
	}},
	{"series.counts", counts, func(c *capture, bytes int64) {
		c.beginCounts("")
		_, _ = c.Write(countRecord('W', `{"start":0,"end":1}`))
		c.loop(min(bytes, 60<<20), func(i int) {
			_, _ = c.Write(countRecord('S', fmt.Sprintf(`{"key":"src","family":"%s%d","packets":18446744073709551615,"kind":"set","width":32}`, strings.Repeat("f", 60), i)))
		})
		_, _ = c.Write(countRecord('E', ""))
	}},
	{"settings.counts", counts, func(c *capture, bytes int64) {
		c.beginCounts(strings.TrimSuffix(strings.Repeat(`{"name":"n","value":"v"},`, 2500), ","))
		_, _ = c.Write(countRecord('E', ""))
	}},
	{"sizes.counts", counts, func(c *capture, _ int64) {
		c.beginCounts("")
		_, _ = c.Write(countRecord('W', `{"start":0,"end":1}`))
		_, _ = c.Write(countRecord('S', `{"key":"src","family":"ipv4","packets":1,"kind":"set","width":32,"count":18446744073709551615}`))
		_, _ = c.Write(countRecord('B', strings.Repeat("\xff", 4000)))
		_, _ = c.Write(countRecord('E', ""))
	}},
}
