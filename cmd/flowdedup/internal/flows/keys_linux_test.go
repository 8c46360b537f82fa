// SPDX-License-Identifier: Apache-2.0

package flows_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/flowdedup/flowdedup/bench/lab/goflow"
)

// goflowKeys returns the keys and counters of flows as goflow2 decodes them, as keysOf
// does.
func goflowKeys(t *testing.T, messages [][]byte) (all []string) {
	t.Helper()
	decoder := goflow.Start(t)
	for _, m := range messages {
		d := decoder.Decode(t, "", m)
		if d.Error != "" && !d.Untemplated {
			t.Errorf("goflow2: %v: %x", d.Error, m)
		}
		for _, fields := range d.Records {
			all = append(all, recordKey(fields))
		}
		for _, s := range d.Samples {
			all = append(all, frameKey(s.Header, uint64(s.Length)))
		}
	}
	slices.Sort(all)
	return all
}

func addressOf(bytes []byte) netip.Addr {
	one, _ := netip.AddrFromSlice(bytes)
	return one
}

func flowKey(source, destination netip.Addr, protocol uint8, sourcePort, destinationPort uint16, packets, bytes uint64) string {
	var parts []any
	if source.IsValid() {
		parts = append(parts, source, destination)
	}
	if protocol != 1 && protocol != 58 {
		parts = append(parts, sourcePort, destinationPort)
	}
	return strings.TrimSuffix(fmt.Sprintln(append(parts, packets, bytes)...), "\n")
}

// recordKey returns the key of a record's fields, by their numbers.
func recordKey(fields map[uint16][]byte) string {
	number := func(field uint16) (n uint64) {
		for _, b := range fields[field] {
			n = n<<8 | uint64(b)
		}
		return n
	}
	return flowKey(addressOf(slices.Concat(fields[8], fields[27])), addressOf(slices.Concat(fields[12], fields[28])),
		uint8(number(4)), uint16(number(7)), uint16(number(11)), number(2), number(1))
}

// frameKey returns the key of a packet that was sampled. One without addresses has no key of
// them.
func frameKey(frame []byte, size uint64) string {
	p := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.NoCopy)
	var source, destination netip.Addr
	protocol, offset := layers.IPProtocol(0), uint16(0)
	switch l := p.NetworkLayer().(type) {
	case *layers.IPv4:
		source, destination, protocol, offset = addressOf(l.SrcIP), addressOf(l.DstIP), l.Protocol, l.FragOffset
	case *layers.IPv6:
		source, destination, protocol = addressOf(l.SrcIP), addressOf(l.DstIP), l.NextHeader
	}
	if l, ok := p.Layer(layers.LayerTypeIPv6Fragment).(*layers.IPv6Fragment); ok {
		protocol, offset = l.NextHeader, l.FragmentOffset
	}
	upper := p.TransportLayer()
	var start []byte // of it
	if l := p.Layer(gopacket.LayerTypeFragment); l != nil && offset == 0 {
		start = l.LayerContents()
	} else if upper != nil {
		start = upper.LayerContents()
	}
	var ports [2]uint16
	if len(start) >= 4 {
		ports = [2]uint16{binary.BigEndian.Uint16(start), binary.BigEndian.Uint16(start[2:])}
	}
	return flowKey(source, destination, uint8(protocol), ports[0], ports[1], 1, size)
}

// keysOf returns the values of some names in objects of JSON, sorted by object. Ports of
// ICMP count, which tools write in ways of their own, are left out.
func keysOf(t *testing.T, text string, names ...string) (all []string) {
	t.Helper()
	if strings.HasPrefix(text, "[") {
		var objects []json.RawMessage
		if err := json.Unmarshal([]byte(text), &objects); err != nil {
			t.Fatal(err, text)
		}
		text = ""
		for _, o := range objects {
			var line bytes.Buffer
			if err := json.Compact(&line, o); err != nil {
				t.Fatal(err)
			}
			text += line.String() + "\n"
		}
	}
	for line := range strings.Lines(text) {
		var o map[string]any
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatal(err, line)
		}
		var key []string
		for _, name := range names {
			v, ok := o[name]
			if protocol := o["proto"]; !ok || strings.HasSuffix(name, "_port") && (protocol == 1.0 || protocol == 58.0) {
				continue
			}
			key = append(key, fmt.Sprint(v))
		}
		all = append(all, strings.Join(key, " "))
	}
	slices.Sort(all)
	return all
}
