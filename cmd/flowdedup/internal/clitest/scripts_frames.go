// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/flowdedup/flowdedup/capture"
)

// framesFile is a file of frames that is read.
type framesFile struct {
	ts    *testscript.TestScript
	batch capture.Batch
	at    int64         // of the next frame, in nanoseconds since 1970
	step  time.Duration // between frames
	cut   int           // bytes that are captured of a frame, at most
	link  capture.LinkType
	names []string // each with what it stands for
}

// frames makes a capture.
func frames(ts *testscript.TestScript, args []string) {
	f := &framesFile{ts: ts, at: 1_700_000_000e9, step: time.Millisecond, cut: 1 << 16, link: capture.LinkEthernet}
	last := len(args) - 1
	for _, arg := range args[1:last] {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "step":
			f.step = f.duration(value)
		case "after":
			f.at += int64(f.duration(value))
		case "cut":
			f.cut = number(ts, value)
		case "link":
			f.link = capture.LinkType(number(ts, value))
		default:
			f.names = append(f.names, name, value)
		}
	}
	f.read(ts.ReadFile(args[0]))
	writeScript(ts, args[last], string(Encoded(testOf(ts), &f.batch)))
}

func (f *framesFile) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	f.ts.Check(err)
	return d
}

// read reads lines of words. "100 *" before others repeats a line. ";" stands between its frames. "NAME ="
// before others gives these a name. A word is hexadecimal digits, or
//
//	00*12    the same bytes several times
//	'text    text, with ~ for a space
//	NN NNNN  the number of the repetition, from 0
//	40-2N    a byte that is 0x40 at first, and 2 less in each repetition
//	IP       nothing: here an IPv4 header begins, whose checksum is filled in
//	@1 =30ms an interface other than 0, named point1, and the time since the first frame
//
// Settings of the command are step=1ms between frames, after=1s from the usual first time, cut=96 bytes,
// link=1, and names with what they stand for.
func (f *framesFile) read(text string) {
	begin := f.at
	for line := range strings.Lines(text) {
		words, times := strings.Fields(strings.NewReplacer(f.names...).Replace(line)), 1
		if len(words) > 1 && words[1] == "=" {
			f.names = append(f.names, words[0], strings.Join(words[2:], " "))
			continue
		}
		if len(words) > 1 && words[1] == "*" {
			times, words = number(f.ts, words[0]), words[2:]
		}
		for n := range times {
			for frame := range strings.SplitSeq(strings.Join(words, " "), ";") {
				f.add(begin, n, strings.Fields(frame))
			}
		}
	}
}

// add appends a frame.
func (f *framesFile) add(begin int64, n int, words []string) {
	point := 0
	words = slices.DeleteFunc(words, func(word string) bool {
		switch word[0] {
		case '@':
			point = number(f.ts, word[1:])
		case '=':
			f.at = begin + int64(f.duration(word[1:]))
		default:
			return false
		}
		return true
	})
	data := bytesOf(f.ts, words, n)
	for len(f.batch.Interfaces) <= point {
		it := capture.Interface{LinkType: f.link, SnapLen: uint32(f.cut)}
		if point > 0 {
			it.Name = fmt.Sprint("point", len(f.batch.Interfaces))
		}
		f.batch.AppendInterface(it)
	}
	f.batch.Append(capture.Frame{Time: f.at, Interface: uint32(point), WireLen: uint32(len(data))}, data[:min(f.cut, len(data))])
	f.at += int64(f.step)
}

// bytesOf returns the bytes that words stand for.
func bytesOf(ts *testscript.TestScript, words []string, n int) (data []byte) {
	header := -1
	for _, word := range words {
		var first, step int
		switch _, err := fmt.Sscanf(word, "%2x%dN", &first, &step); {
		case err == nil:
			data = append(data, byte(first+step*n))
		case word == "IP":
			header = len(data)
		case word == "NN":
			data = append(data, byte(n))
		case word == "NNNN":
			data = binary.BigEndian.AppendUint16(data, uint16(n))
		case word[0] == '\'':
			data = append(data, strings.ReplaceAll(word[1:], "~", " ")...)
		default:
			digits, times, several := strings.Cut(word, "*")
			part, err := hex.DecodeString(digits)
			ts.Check(err)
			if several {
				part = bytes.Repeat(part, number(ts, times))
			}
			data = append(data, part...)
		}
	}
	if header >= 0 {
		fillChecksum(data[header:])
	}
	return data
}

// fillChecksum fills the checksum of an IPv4 header in.
func fillChecksum(header []byte) {
	sum := 0
	binary.BigEndian.PutUint16(header[10:], 0)
	for o := 0; o < 20; o += 2 {
		sum += int(binary.BigEndian.Uint16(header[o:]))
	}
	binary.BigEndian.PutUint16(header[10:], uint16(sum%0xffff^0xffff))
}
