// SPDX-License-Identifier: Apache-2.0

package bounds

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// input is a file that was made to take memory. It has about the given number of bytes,
// or less if small ones are as bad.
type input struct {
	name string
	of   subject
	fill func(c *capture, bytes int64)
}

// subject is the kind of a file, which determines the commands that read it.
type subject int

const (
	packets subject = iota
	records
	counts
)

// loop calls write with 0, 1, 2 and so on until a file has the given number of bytes.
func (c *capture) loop(bytes int64, write func(i int)) {
	for i := 0; c.size < bytes; i++ {
		write(i)
	}
}

// captures are files of packets that take memory.
var captures = []input{
	{"unknown-blocks.pcapng", packets, func(c *capture, bytes int64) {
		c.plain()
		block := make([]byte, 1_000_000)
		c.loop(bytes, func(i int) {
			c.block(unknownBlock, block)
			c.packet(0, begin+uint64(i)*10, frame(i))
		})
	}},
	{"custom-blocks.pcapng", packets, func(c *capture, bytes int64) {
		c.plain()
		block := make([]byte, 1<<18)
		c.loop(bytes, func(i int) {
			c.block(customBlock, le.AppendUint32(nil, 32473), block)
			c.packet(0, begin, frame(i))
		})
	}},
	{"names-and-secrets.pcapng", packets, func(c *capture, bytes int64) {
		c.plain()
		name := append([]byte{1, 0, 12, 0, 10, 0, 0, 1}, "hostnam\x00"...)
		names, secrets := append(slices.Repeat(name, 60_000), lastOption...), make([]byte, 1_000_000)
		c.loop(bytes, func(i int) {
			c.block(namesBlock, names)
			c.block(secretsBlock, le.AppendUint32(le.AppendUint32(nil, 0x544C534B), uint32(len(secrets))), secrets)
			c.packet(0, begin+uint64(i)*10, frame(i))
		})
	}},
	{"blocks-at-the-end.pcapng", packets, func(c *capture, bytes int64) {
		c.plain()
		c.packet(0, begin, frame(0))
		c.loop(bytes, func(int) { c.block(unknownBlock, make([]byte, 1<<20)) })
	}},
	{"interfaces.pcapng", packets, func(c *capture, bytes int64) {
		c.section()
		interfaces := int(min(bytes/100, 1_000_000))
		for range interfaces {
			c.iface(1)
		}
		for i := range 20_000 {
			c.packet(interfaces-1-i%1000, begin+uint64(i)*10, frame(i))
		}
	}},
	{"named-interfaces.pcapng", packets, func(c *capture, bytes int64) {
		c.section()
		c.loop(min(bytes, 60<<20), func(i int) {
			c.iface(1, option(2, fmt.Appendf(nil, "if%d", i)), lastOption)
			c.packet(i, begin+uint64(i)*10, frame(i))
		})
	}},
	{"sections.pcapng", packets, func(c *capture, bytes int64) {
		c.loop(min(bytes, 60<<20), func(i int) {
			c.plain()
			c.packet(0, begin+uint64(i)*10, frame(i))
		})
	}},
	{"options.pcapng", packets, func(c *capture, bytes int64) {
		long := make([]byte, math.MaxUint16)
		c.section(option(1, long), lastOption)
		c.iface(1, option(2, long), option(3, long), lastOption)
		many := slices.Repeat(option(1, []byte("c")), 1000)
		c.loop(bytes, func(i int) {
			if i%2 == 0 {
				c.packet(0, begin+uint64(i)*10, frame(i), option(1, long), lastOption)
			} else {
				c.packet(0, begin+uint64(i)*10, frame(i), many, lastOption)
			}
		})
	}},
	{"times.pcapng", packets, func(c *capture, _ int64) {
		c.section()
		resolutions := []byte{6, 9, 0, 12, 18, 19, 38, 127, 0x80, 0x8A, 0xBF, 0xFF}
		for i, r := range resolutions {
			offset := uint64(1<<63 - uint64(1-i%2))
			c.iface(1, option(9, []byte{r}), option(14, le.AppendUint64(nil, offset)), lastOption)
		}
		for i := range 60_000 {
			at := []uint64{0, 1, math.MaxInt64, 1 << 63, math.MaxUint64, begin}[i/2%6]
			c.packet(i%len(resolutions), at, frame(i/2))
		}
	}},
	{"backwards.pcapng", packets, func(c *capture, bytes int64) {
		c.plain()
		c.loop(min(bytes, 100<<20), func(i int) { c.packet(0, begin-uint64(i), frame(i)) })
	}},
	{"leaps.pcapng", packets, func(c *capture, bytes int64) {
		c.plain()
		c.loop(min(bytes, 50<<20), func(i int) {
			c.packet(0, uint64(i)*0x9E3779B97F4A7C15>>13, frame(i)) // up to 71 years
		})
	}},
	{"one-instant.pcapng", packets, func(c *capture, bytes int64) {
		c.plain()
		c.loop(bytes, func(i int) { c.packet(0, begin, frame(i)) })
	}},
	{"one-packet.pcapng", packets, func(c *capture, bytes int64) {
		c.section()
		c.iface(1)
		c.iface(1)
		c.loop(min(bytes, 100<<20), func(i int) { c.packet(i%2, begin, frame(0)) })
	}},
	{"twins.pcapng", packets, func(c *capture, bytes int64) {
		c.section()
		c.iface(1)
		c.iface(1)
		c.loop(bytes, func(i int) {
			c.packet(0, begin+uint64(i), frame(i))
			c.packet(1, begin+uint64(i), frame(i))
		})
	}},
	{"large-packets.pcapng", packets, func(c *capture, bytes int64) {
		c.plain()
		large := ethernet(0x88B5, make([]byte, 1<<18-100))
		c.loop(bytes, func(i int) {
			le.PutUint32(large[20:], uint32(i))
			c.packet(0, begin, large)
		})
	}},
	{"nothing.pcap", packets, func(c *capture, bytes int64) {
		c.pcap()
		c.loop(min(bytes, 20<<20), func(i int) { c.record(begin+uint64(i), 60*(i%2), nil) })
	}},
	{"beyond-snaplen.pcap", packets, func(c *capture, bytes int64) {
		c.pcap()
		long := filled(math.MaxUint16)
		c.loop(bytes, func(i int) { c.record(begin+uint64(i)*1e6, 100, long) })
	}},
	{"link-types.pcapng", packets, func(c *capture, bytes int64) {
		c.section()
		for i := range 300 {
			c.iface(i)
		}
		c.loop(min(bytes, 20<<20), func(i int) { c.packet(i%300, begin+uint64(i), frame(i)) })
	}},
	{"extension-headers.pcapng", packets, func(c *capture, bytes int64) {
		c.plain()
		header := slices.Repeat([]byte{60, 0, 1, 4, 0, 0, 0, 0}, 7_500)
		head := binary.BigEndian.AppendUint16([]byte{0x60, 0, 0, 0}, uint16(len(header)))
		packet := append(append(append(head, 60, 64), make([]byte, 32)...), header...)
		c.loop(min(bytes, 50<<20), func(i int) {
			binary.BigEndian.PutUint32(packet[8:], uint32(i))
			c.packet(0, begin+uint64(i), ethernet(0x86DD, packet))
		})
	}},
	{"tags.pcapng", packets, func(c *capture, bytes int64) {
		c.plain()
		tags := slices.Repeat([]byte{0, 1, 0x81, 0}, 1000)
		c.loop(min(bytes, 50<<20), func(i int) {
			binary.BigEndian.PutUint16(tags, uint16(i%4096))
			c.packet(0, begin+uint64(i), ethernet(0x8100, slices.Concat(tags, []byte{0, 1, 8, 0}, datagram(i, 53, nil))))
		})
	}},
	{"tunnels.pcapng", packets, func(c *capture, bytes int64) {
		c.plain()
		c.loop(min(bytes, 50<<20), func(i int) {
			packet := datagram(i, 53, nil)
			for range 40 {
				vni := []byte{8, 0, 0, 0, byte(i >> 16), byte(i >> 8), byte(i), 0}
				packet = datagram(i, 4789, append(vni, ethernet(0x0800, packet)...))
			}
			c.packet(0, begin+uint64(i), ethernet(0x0800, packet))
		})
	}},
	{"fragments.pcapng", packets, func(c *capture, bytes int64) {
		c.plain()
		c.loop(min(bytes, 100<<20), func(i int) {
			c.packet(0, begin+uint64(i), ethernet(0x0800, ipv4(i, 0x2000|uint16(i%100), make([]byte, 64))))
		})
	}},
	{"names.pcapng", packets, func(c *capture, _ int64) {
		evil := []byte("\x1b]0;title\x07\x1b[2Jred\x9b31m<script>alert(1)</script>\"'\r\nANOTHER LINE")
		c.section(option(1, evil), option(2, evil), option(3, evil), option(4, evil), lastOption)
		for i := range 2 {
			c.iface(1, option(2, append([]byte{byte('a' + i)}, evil...)), option(3, evil), option(1, evil), lastOption)
		}
		for i := range 2000 {
			c.packet(i%2, begin+uint64(i/2)*1000+uint64(i%2)*50, frame(i/2), option(1, evil), lastOption)
		}
	}},
	{"bomb.pcap.gz", packets, func(c *capture, bytes int64) { bomb(c, 4*bytes) }},
	{"no-end.pcapng", packets, func(c *capture, bytes int64) {
		c.plain()
		c.packet(0, begin, frame(0))
		_, _ = c.Write(le.AppendUint32(le.AppendUint32(nil, packetBlock), math.MaxUint32-3))
		c.loop(min(bytes, 50<<20), func(int) { _, _ = c.Write(make([]byte, 1<<16)) })
	}},
}

// filled returns the given number of nonzero bytes: zeros would be damage.
func filled(n int) []byte { return bytes.Repeat([]byte{0xAB}, n) }

// bomb compresses a capture of the given size whose packets are alike.
func bomb(c *capture, bytes int64) {
	z := gzip.NewWriter(c)
	inside := &capture{w: bufio.NewWriter(z)}
	inside.pcap()
	long := filled(math.MaxUint16)
	inside.loop(bytes, func(i int) { inside.record(begin+uint64(i), len(long), long) })
	_ = inside.w.Flush() // into c, which keeps the error
	_ = z.Close()
}
