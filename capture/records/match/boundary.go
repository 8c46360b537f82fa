// SPDX-License-Identifier: Apache-2.0

package match

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"

	"github.com/flowdedup/flowdedup/capture/records"
)

// Boundary says which interfaces of exporters lead out of a network. It decides about each
// record by itself. It keeps flows that enter by an external interface, and flows from an internal
// to an external interface. Flows between internal interfaces were counted where they entered, so
// they are copies. Records about interfaces that are not listed are unchecked.
type Boundary struct {
	external map[boundaryInterface]bool
}

type boundaryInterface struct {
	exporter netip.Addr
	index    uint32
}

// ReadBoundary reads lines of an exporter's address, the number of an interface (ifIndex) and
// the word external or internal. It skips empty lines and lines that begin with #.
func ReadBoundary(in io.Reader) (*Boundary, error) {
	b := &Boundary{map[boundaryInterface]bool{}}
	scanner := bufio.NewScanner(in)
	for n := 1; scanner.Scan(); n++ {
		words := strings.Fields(strings.ReplaceAll(scanner.Text(), ",", " "))
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if err := b.add(words); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return b, scanner.Err()
}

func (b *Boundary) add(words []string) error {
	if len(words) != 3 || words[2] != "external" && words[2] != "internal" {
		return fmt.Errorf("want an exporter's address, the number of an interface, and external or internal: %q", strings.Join(words, " "))
	}
	exporter, err := netip.ParseAddr(words[0])
	if err != nil {
		return err
	}
	index, err := strconv.ParseUint(words[1], 10, 32)
	if err != nil {
		return fmt.Errorf("%q is no number of an interface", words[1])
	}
	key := boundaryInterface{exporter.Unmap(), uint32(index)}
	if before, ok := b.external[key]; ok && before != (words[2] == "external") {
		return fmt.Errorf("interface %d of %s is listed as both external and internal", index, exporter)
	}
	b.external[key] = words[2] == "external"
	return nil
}

func (b *Boundary) judge(s *timedRecord) (uint32, records.Verdict) {
	in, knownIn := b.external[boundaryInterface{s.Record.Point.Exporter, s.Ingress}]
	out, knownOut := b.external[boundaryInterface{s.Record.Point.Exporter, s.Egress}]
	switch {
	case in:
		return 0, records.Keep
	case !knownIn || !knownOut:
		return 0, records.Unchecked
	case out:
		return 0, records.Keep
	}
	return 0, records.Copy
}

func (b *Boundary) fetch([]uint64)     {}
func (b *Boundary) rank(uint32, uint8) {}

// Bytes returns 0: nothing is remembered.
func (b *Boundary) Bytes() int { return 0 }

// Close does nothing.
func (b *Boundary) Close() error { return nil }
