package check

import (
	"bytes"
	"errors"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"io"
	"testing"
)

func Never() bool { return false }

// StartCopy records the snapshots of filters, and begins to copy them.
func StartCopy(t *testing.T, c *snapshot.Copy, filters ...Snapshotter) {
	t.Helper()
	c.Reset()
	for _, f := range filters {
		if err := f.Snapshot(c, SavedSecret, SavedLabel); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Reserve(c.Lines(), Never); err != nil {
		t.Fatal(err)
	}
	if !c.Start() {
		t.Fatal("no room")
	}
}

func Copied(t *testing.T, c *snapshot.Copy) []byte {
	t.Helper()
	var b bytes.Buffer
	if n, err := c.WriteTo(&b); err != nil || n != int64(b.Len()) {
		t.Fatalf("%d of %d bytes, %v", n, b.Len(), err)
	}
	return b.Bytes()
}

// Copies copies a filter while it goes on, from element start on: what comes out is what
// it held when each copy began, to the last bit, whenever it is written. enter has it take
// elements from one place of n to another.
func Copies(t *testing.T, f Snapshotter, start, n int, enter func(from, to int)) {
	t.Helper()
	var copies snapshot.Copy
	rounds, parts, at := 0, 0, start
	for enter(0, at); at+40_000 < n; rounds++ {
		want := Saved(t, f)
		StartCopy(t, &copies, f)
		for {
			enter(at, at+3000)
			at += 3000
			parts++
			if copies.Copy(0) || at+10_000 > n {
				break
			}
		}
		for !copies.Copy(0) {
		}
		if !bytes.Equal(Copied(t, &copies), want) {
			t.Errorf("round %d: another copy", rounds)
		}
	}
	if parts < 3*rounds {
		t.Errorf("%d parts in %d rounds: that tests little", parts, rounds)
	}
	if err := copies.Close(); err != nil {
		t.Error(err)
	}
}

// CopyOf copies filters, and writes them without a copy, one behind the other, and closes
// them meanwhile.
func CopyOf(t *testing.T, all ...Snapshotter) {
	var c, direct snapshot.Copy
	var want bytes.Buffer
	for _, f := range all {
		want.Write(Saved(t, f))
		if err := f.Snapshot(&direct, SavedSecret, SavedLabel); err != nil {
			t.Fatal(err)
		}
	}
	for _, to := range []io.Writer{&want, &direct} {
		to.Write([]byte("between"))
	}
	if !bytes.Equal(Copied(t, &direct), want.Bytes()) {
		t.Error("not copied: others than of Snapshot")
	}
	StartCopy(t, &c, all...)
	c.Write([]byte("between"))
	for _, f := range all {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	for !c.Copy(0) {
	}
	if !bytes.Equal(Copied(t, &c), want.Bytes()) {
		t.Error("copied: others than of Snapshot")
	}
	for room := 0; room < want.Len(); room += 997 {
		disk := fullDisk(room)
		n, err := c.WriteTo(&disk)
		if !errors.Is(err, errFull) || n > int64(room) {
			t.Fatalf("%d bytes, %v", n, err)
		}
	}
	if err := errors.Join(c.Close(), c.Close()); err != nil {
		t.Error(err)
	}
}

// PacketCopies copies a packet filter while it goes on.
func PacketCopies(t *testing.T, f interface {
	engine.PacketFilter
	Snapshotter
}) {
	t.Helper()
	s := RandomPackets(61, 40_000, Clocks(100_000)["jumps"])
	var c snapshot.Copy
	at := 0
	next := func(n int) {
		part := s.Part(at, at+n)
		part.Verdicts(f, 300)
		at += n
	}
	next(10_000)
	for round := range 3 {
		want := Saved(t, f)
		StartCopy(t, &c, f)
		parts := 1
		for next(700 * (1 - round%2)); !c.Copy(0) && parts < 12; next(700) {
			parts++
		}
		next(1000)
		for !c.Copy(0) {
		}
		if got := Copied(t, &c); !bytes.Equal(got, want) {
			t.Errorf("round %d: another copy", round)
		}
		if parts < 5 {
			t.Errorf("%d parts: that tests nothing", parts)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
