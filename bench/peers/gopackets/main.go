// Command gopackets does two of flowdedup's jobs as one would write them with
// gopacket, a DecodingLayerParser and Go's maps, to be measured beside it by
// bench/pipeline and bench/live:
//
//	gopackets dedup FILE.pcap      counts copies within a millisecond
//	gopackets distinct FILE.pcap   counts sources, destinations and flows by the hour
//	gopackets -i dedup IFACE       reads an interface instead, until SIGINT (Linux)
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gopacket/gopacket/pcapgo"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gopackets:", err)
		os.Exit(1)
	}
}

// job takes packets in their order and then prints what it counted.
type job interface {
	add(nanoseconds int64, p *parser)
	print(w io.Writer) error
}

func run(args []string, out io.Writer) error {
	read := feed
	if len(args) > 0 && args[0] == "-i" {
		args, read = args[1:], func(name string, j job) error { return live(name, j, out) }
	}
	if len(args) != 2 {
		return errors.New("usage: gopackets [-i] dedup|distinct FILE.pcap|IFACE")
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
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	r, err := pcapgo.NewReader(bufio.NewReaderSize(file, 1<<20))
	if err != nil {
		return err
	}
	for p := newParser(); ; {
		frame, info, err := r.ZeroCopyReadPacketData()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if p.parse(frame) {
			j.add(info.Timestamp.UnixNano(), p)
		}
	}
}
