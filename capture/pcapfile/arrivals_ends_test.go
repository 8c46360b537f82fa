// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
)

// TestArrivalsStop ends captures that would last for ever, and reports which expect more.
func TestArrivalsStop(t *testing.T) {
	a := NewArrivals([]string{"in"}, time.Hour)
	asked := make(chan bool, 2)
	done := a.Expect(func() { asked <- true })
	fed(t, a, "x", pcapOf(1))
	if all, err := nextPackets(t, a); err != nil {
		t.Fatal(all, err)
	}
	a.Stop()
	a.Stop()
	if _, err := allPackets(t, a); err != io.EOF {
		t.Error(err)
	}
	if len(asked) != 1 {
		t.Error("asked", len(asked), "times to end")
	}
	done()
	closed := make(chan bool, 1)
	a.Add(Arrival{Source: closing{closed: closed}})
	if len(closed) != 1 {
		t.Error("a capture that came after the end was not closed")
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// closing is a Source that records that it was closed.
type closing struct {
	capture.Source
	closed chan bool
}

func (c closing) Close() error {
	c.closed <- true
	return nil
}

// TestArrivalsErrors delivers what the others have, and returns all errors at the end.
func TestArrivalsErrors(t *testing.T) {
	a := NewArrivals([]string{"in"}, 0)
	done := a.Expect(func() {})
	broken, sound := fed(t, a, "broken", pcapOf(1)), fed(t, a, "sound", pcapOf(2))
	broken.CloseWithError(errors.New("pulled"))
	sound.Close()
	done()
	all, err := allPackets(t, a)
	var failed *capture.ReadError
	if len(all) != 2 || !errors.As(err, &failed) || failed.Input != "broken" || failed.Offset != 44 {
		t.Errorf("%v, %v", all, err)
	}
}

// TestRemote bounds records, and decompresses nothing.
func TestRemote(t *testing.T) {
	long := binary.LittleEndian.AppendUint32(nil, 5) // statistics
	long = binary.LittleEndian.AppendUint32(long, maxRemoteRecord+4)
	for name, data := range map[string][]byte{
		"block":  append(capture.AppendSectionHeader(nil), long...),
		"gzip":   {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"tls":    {0x16, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"header": append(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, capture.BlockSectionHeader), maxRemoteRecord+4), 0x4d, 0x3c, 0x2b, 0x1a),
	} {
		src, err := NewReader(io.MultiReader(bytes.NewReader(data), noise{}), name, Options{Remote: true})
		if err == nil {
			_, err = allPackets(t, src)
		}
		if !errors.Is(err, capture.ErrNotSupported) && !errors.Is(err, capture.ErrUnknownFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// noise is bytes without end.
type noise struct{}

func (noise) Read(p []byte) (int, error) { return len(p), nil }

// TestArrivalsNothing returns without packets when there are none for a time.
func TestArrivalsNothing(t *testing.T) {
	a := NewArrivals([]string{"in"}, time.Hour)
	a.SetIdle(time.Millisecond)
	x := fed(t, a, "x", pcapOf())
	for range 5 {
		if all, err := nextPackets(t, a); len(all) > 0 || err != nil {
			t.Fatal(all, err)
		}
	}
	_, _ = x.Write(pcapOf(7)[24:])
	x.Close()
	if all, err := allPackets(t, a); err != io.EOF || len(all) != 1 {
		t.Error(all, err)
	}
	if c := a.Counts(); len(c) != 1 || c[0] != (ArrivalCounts{Packets: 1}) {
		t.Error(c)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
