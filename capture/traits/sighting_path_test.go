// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// TestPathPoints numbers the paths of an interface, with or without a look at each frame
// before, and hashes them where they count.
func TestPathPoints(t *testing.T) {
	frame := ether(iana.TypeIPv4, ip4(1, iana.ProtoUDP, udp(1, 2, make([]byte, 40))))
	b := new(capture.Batch)
	b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet, FCSLen: 4})
	var want []string
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		data, iface := frame, uint32(r.IntN(2))
		switch r.IntN(4) {
		case 0:
			data = prp(frame, 14, 0xa+r.IntN(2), r.IntN(3))
		case 1:
			data = hsr(frame, r.IntN(2), r.IntN(3))
		}
		if iface == 1 {
			data = join(data, "\x00\x01\x02\x03")
		}
		b.Append(capture.Frame{Interface: iface}, data)
		path, _ := headers.PathOf(b, len(b.Frames)-1)
		if at := CapturePointOf(b, len(b.Frames)-1); at != (CapturePoint{Interface: iface, Path: path}) {
			t.Fatalf("seen at %+v, want interface %d, path %v", at, iface, path)
		}
		want = append(want, fmt.Sprint(iface, path))
	}
	numbers := make([]uint32, len(want))
	NewCapturePoints(nil).Number(numbers, b, 0)
	same(t, "numbers", want, numbers)
	for i, w := range want {
		want[i] = w[1:] // only the path
	}
	reader := NewSightingReader(SightingConfig{Fields: PointLAN, Seed: 3})
	hashes := slices.Clone(reader.Points(b, 0, len(want)))
	same(t, "hashes", want, hashes)
	ids := identity.New(identity.Config{})
	s := Sightings{make([]uint64, len(want)), make([]uint64, len(want)), make([]uint64, len(want))}
	reader.ReadIdentities(s, b, 0, ids.FromFrames(make([]headers.Protocol, len(want)), b, 0))
	if !slices.Equal(s.Point, hashes) {
		t.Error("identities have other points")
	}
}

// same checks that elements of got are equal where elements of want are.
func same[T comparable](t *testing.T, what string, want []string, got []T) {
	t.Helper()
	there, back := map[string]T{}, map[T]string{}
	for i, w := range want {
		if _, ok := there[w]; !ok {
			there[w] = got[i]
		}
		if _, ok := back[got[i]]; !ok {
			back[got[i]] = w
		}
		if there[w] != got[i] || back[got[i]] != w {
			t.Fatalf("%s: %q has %v and %v, which is of %q, too", what, w, got[i], there[w], back[got[i]])
		}
	}
}
