// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// The host of the captures, and the address that a translation gives it.
var inner, outer = []byte{10, 10, 0, 2}, []byte{203, 0, 113, 7}

// translatedCapture lets the router of a bundled capture translate the host's address and ports.
// It returns how many copies that changes. one says that both interfaces become a single interface.
func translatedCapture(t *testing.T, one bool) (name string, copies uint64) {
	t.Helper()
	src, err := pcapfile.Open(clitest.Bundled("router-plain.pcapng"), pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var truth clitest.Truth
	if err := json.Unmarshal(clitest.ReadFile(t, clitest.Bundled("router-plain.truth.json")), &truth); err != nil {
		t.Fatal(err)
	}
	var part, b capture.Batch
	number := 0
	for err = src.Next(&part); err == nil; err = src.Next(&part) {
		for _, it := range part.Interfaces[len(b.Interfaces):] {
			b.AppendInterface(it)
		}
		for i, f := range part.Frames {
			data := part.Data(i)
			if binary.BigEndian.Uint16(data[12:]) == 0x0800 {
				if slices.Contains(truth.Removed, number) {
					copies++
				}
				if f.Interface == 1 {
					translate(data[14:])
				}
			}
			if one {
				f.Interface = 0
			}
			b.Append(f, data)
			number++
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return clitest.WriteInput(t, filepath.Join(t.TempDir(), "translated.pcapng"), clitest.Encoded(t, &b)), copies
}

// translate replaces the host's address and port.
func translate(ip []byte) {
	at, port := 12, 20
	if bytes.Equal(ip[16:20], inner) {
		at, port = 16, 22
	} else if !bytes.Equal(ip[12:16], inner) {
		return
	}
	l4 := 0
	const later = 0x1fff
	if binary.BigEndian.Uint16(ip[6:])&later == 0 {
		l4 = map[byte]int{1: 22, 6: 36, 17: 26}[ip[9]]
	}
	for word := range 2 {
		l4s := []int{10, l4}
		if ip[9] == 1 {
			l4s = l4s[:1] // ICMP sums no addresses
		}
		replace(ip, at+2*word, binary.BigEndian.Uint16(outer[2*word:]), l4s...)
	}
	if l4 == 0 {
		return
	}
	if ip[9] == 1 {
		port = 24 // the identifier of an echo
	}
	replace(ip, port, binary.BigEndian.Uint16(ip[port:])^0x4001, l4)
}

// replace sets a word, and adjusts checksums (RFC 1624).
func replace(ip []byte, at int, to uint16, sums ...int) {
	from := binary.BigEndian.Uint16(ip[at:])
	binary.BigEndian.PutUint16(ip[at:], to)
	for _, sum := range sums {
		if sum == 0 {
			continue
		}
		s := uint32(^binary.BigEndian.Uint16(ip[sum:])) + uint32(^from) + uint32(to)
		s = s>>16 + s&0xffff
		binary.BigEndian.PutUint16(ip[sum:], ^uint16(s>>16+s&0xffff))
	}
}

// TestInspectTranslation looks at both sides of address translation. The recommended command
// removes the copies, and keeps both directions from the host's side.
func TestInspectTranslation(t *testing.T) {
	clitest.NeedTcpdump(t)
	for _, one := range []bool{false, true} {
		name, copies := translatedCapture(t, one)
		r := clitest.RunInspect(t, cli.ExitDone, name)
		c := &r.Recommendation
		var translated uint64
		for kind, n := range r.Kinds {
			if strings.HasSuffix(kind, "+nat") {
				translated += n
			}
		}
		if translated != copies || r.Copies != 293 || c.Removes != 293 || c.Wrong != 0 {
			t.Errorf("%d translated copies of %d, %+v", translated, copies, r)
		}
		if !strings.Contains(c.Command, "--ignore nat --prefer 'not host 203.0.113.7'") || !strings.Contains(r.Verdict, "translated addresses") {
			t.Errorf("%s: %s", r.Verdict, c.Command)
		}
		for _, data := range clitest.PacketBytes(t, clitest.Follow(t, &r)) {
			if bytes.Contains(data, outer) {
				t.Errorf("%x was kept from behind the translation", data)
			}
		}
	}
}
