// SPDX-License-Identifier: Apache-2.0

// Command gopackets does two of flowdedup's jobs as one would write them with gopacket, a
// DecodingLayerParser and Go's maps, for comparison by bench/pipeline and bench/live:
//
//	gopackets dedup FILE.pcap      counts copies within a millisecond
//	gopackets dedup FILE OUT.pcap  also writes the packets that are no copies
//	gopackets distinct FILE.pcap   counts sources, destinations and flows by the hour
//	gopackets -i dedup IFACE       reads an interface instead, until SIGINT (Linux)
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gopackets:", err)
		os.Exit(1)
	}
}

// job takes packets in their order and then prints its counts.
type job interface {
	add(nanoseconds int64, p *parser)
	print(w io.Writer) error
}

func run(args []string, out io.Writer) error {
	read := feed
	if len(args) > 0 && args[0] == "-i" {
		args, read = args[1:], func(name string, j job) error { return live(name, j, out) }
	}
	if len(args) == 3 && args[0] == "dedup" {
		return clean(args[1], args[2], out)
	}
	if len(args) != 2 {
		return errors.New("usage: gopackets [-i] dedup|distinct FILE.pcap|IFACE, or gopackets dedup FILE OUT.pcap")
	}
	var j job
	switch args[0] {
	case "dedup":
		j = newDedup()
	case "distinct":
		j = newDistinct()
	default:
		return fmt.Errorf("%s is no job", args[0])
	}
	if err := read(args[1], j); err != nil {
		return err
	}
	return j.print(out)
}

// feed reads a capture and gives its IP packets to a job.
func feed(name string, j job) error {
	p := newParser()
	return each(name, func(frame []byte, info gopacket.CaptureInfo) error {
		if p.parse(frame) {
			j.add(info.Timestamp.UnixNano(), p)
		}
		return nil
	})
}

// newReader reads pcap or pcapng.
func newReader(r *bufio.Reader) (gopacket.ZeroCopyPacketDataSource, error) {
	if head, err := r.Peek(4); err == nil && string(head) == "\x0A\x0D\x0D\x0A" {
		return pcapgo.NewNgReader(r, pcapgo.DefaultNgReaderOptions)
	}
	return pcapgo.NewReader(r)
}

// each gives the packets of a capture to do.
func each(name string, do func(frame []byte, info gopacket.CaptureInfo) error) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	r, err := newReader(bufio.NewReaderSize(file, 1<<20))
	if err != nil {
		return err
	}
	for {
		frame, info, err := r.ZeroCopyReadPacketData()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = do(frame, info)
		}
		if err != nil {
			return err
		}
	}
}

// clean writes the packets that are no copies, and all packets without IP.
func clean(name, output string, out io.Writer) error {
	file, err := os.Create(output)
	if err != nil {
		return err
	}
	defer file.Close()
	buffer := bufio.NewWriterSize(file, 1<<20)
	w := pcapgo.NewWriterNanos(buffer)
	if err := w.WriteFileHeader(1<<18, layers.LinkTypeEthernet); err != nil {
		return err
	}
	p, d := newParser(), newDedup()
	err = each(name, func(frame []byte, info gopacket.CaptureInfo) error {
		before := d.copies
		if p.parse(frame) {
			d.add(info.Timestamp.UnixNano(), p)
		}
		if d.copies > before {
			return nil
		}
		return w.WritePacket(info, frame)
	})
	if err := errors.Join(err, buffer.Flush(), file.Close()); err != nil {
		return err
	}
	return d.print(out)
}
