// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
)

// start is the time of the first packet.
var start = time.Date(2026, 1, 5, 8, 10, 0, 0, time.UTC)

var (
	// errList is wrapped by errors about lists.
	errList = errors.New("damaged list")
	// errCapture is wrapped by errors about captures that cannot be read.
	errCapture = errors.New("no capture that can be read")
)

const snapLength = 262144

// packetWriter is the common interface of gopacket's writers.
type packetWriter interface {
	WritePacket(gopacket.CaptureInfo, []byte) error
}

// write writes the records in their order: as pcap, or with several points as pcapng.
func (s *scene) write(w io.Writer, points int) error {
	buffer := bufio.NewWriterSize(w, 1<<20)
	out, err := newWriter(buffer, points)
	if err != nil {
		return err
	}
	for _, r := range s.records {
		at := start.Add(time.Duration(r.time) * time.Microsecond)
		info := gopacket.CaptureInfo{Timestamp: at, CaptureLength: len(r.frame), Length: r.length, InterfaceIndex: r.point}
		if err := out.WritePacket(info, r.frame); err != nil {
			return err
		}
	}
	if ng, ok := out.(*pcapgo.NgWriter); ok {
		if err := ng.Flush(); err != nil {
			return err
		}
	}
	return buffer.Flush()
}

func newWriter(w io.Writer, points int) (packetWriter, error) {
	if points == 1 {
		out := pcapgo.NewWriterNanos(w)
		return out, out.WriteFileHeader(snapLength, layers.LinkTypeEthernet)
	}
	tap := func(i int) pcapgo.NgInterface {
		return pcapgo.NgInterface{Name: fmt.Sprintf("tap%d", i), LinkType: layers.LinkTypeEthernet, SnapLength: snapLength, TimestampResolution: 9}
	}
	out, err := pcapgo.NewNgWriterInterface(w, tap(0), pcapgo.NgWriterOptions{})
	for i := 1; i < points && err == nil; i++ {
		_, err = out.AddInterface(tap(i))
	}
	return out, err
}

// eachPacket gives the frames of a pcap or pcapng file to do, with nanoseconds since 1970. A
// frame is valid until do returns. Errors name the file.
func eachPacket(name string, do func(at int64, frame []byte)) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	next, err := newReader(bufio.NewReaderSize(file, 1<<20))
	for count := 0; err == nil; count++ {
		var frame []byte
		var info gopacket.CaptureInfo
		if frame, info, err = next(); err == nil {
			do(info.Timestamp.UnixNano(), frame)
		} else if err != io.EOF {
			return fmt.Errorf("%s: %w: behind packet %d: %w", name, errCapture, count, err)
		}
	}
	if err != io.EOF {
		return fmt.Errorf("%s: %w: %w", name, errCapture, err)
	}
	return nil
}

// newReader chooses a reader by the first bytes.
func newReader(r *bufio.Reader) (func() ([]byte, gopacket.CaptureInfo, error), error) {
	head, err := r.Peek(4)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF // even a capture without packets has a header
	}
	if err != nil {
		return nil, err
	}
	if bytes.Equal(head, []byte{0x0A, 0x0D, 0x0D, 0x0A}) {
		in, err := pcapgo.NewNgReader(r, pcapgo.NgReaderOptions{WantMixedLinkType: true})
		if err != nil {
			return nil, err
		}
		return in.ZeroCopyReadPacketData, nil
	}
	in, err := pcapgo.NewReader(r)
	if err != nil {
		return nil, err
	}
	return in.ReadPacketData, nil
}

// line says that a record repeats an earlier one, and how.
type line struct {
	record, original int
	how              string
}

// stays are the ways to repeat a packet that make no copies of it.
var stays = map[string]bool{"repeat": true, "retransmission": true, "keepalive": true, "twin": true}

const listHeading = "packet,original,kind"

func writeList(w io.Writer, lines []line) error {
	buffer := bufio.NewWriter(w)
	fmt.Fprintln(buffer, listHeading) // the first error comes back from Flush
	for _, l := range lines {
		fmt.Fprintf(buffer, "%d,%d,%s\n", l.record, l.original, l.how)
	}
	return buffer.Flush()
}

// readList reads a list. Errors name the file and the line.
func readList(name string) ([]line, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	var lines []line
	for number := 1; scanner.Scan(); number++ {
		if number == 1 && scanner.Text() == listHeading {
			continue
		}
		l, ok := parseLine(scanner.Text())
		if !ok || number == 1 {
			return nil, fmt.Errorf("%s:%d: %w", name, number, errList)
		}
		lines = append(lines, l)
	}
	return lines, scanner.Err()
}

func parseLine(text string) (line, bool) {
	fields := strings.Split(text, ",")
	if len(fields) != 3 {
		return line{}, false
	}
	record, err := strconv.Atoi(fields[0])
	original, err2 := strconv.Atoi(fields[1])
	return line{record, original, fields[2]}, err == nil && err2 == nil && 0 <= original && original <= record
}
