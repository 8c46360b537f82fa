// SPDX-License-Identifier: Apache-2.0

package hubclient

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// someRequest returns a request of n digests, with times that are up to step from each
// other, 0 for none.
func someRequest(n int, step int32) Request {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	r := Request{Op: TestAndSet, Times: step > 0, K: 4, Epoch: 7, Seq: rng.Uint64(), Time: rng.Uint64(), Deadline: 20, Digests: []uint64{}, Deltas: []int32{}}
	at := int32(0)
	for i := range n {
		r.Digests = append(r.Digests, rng.Uint64()&digestMask)
		if step > 0 {
			r.Deltas = append(r.Deltas, at)
			at += []int32{step - 1, -step, int32(rng.Uint32()) % step}[min(i, 2)]
		}
	}
	return r
}

func TestRequestRoundTrip(t *testing.T) {
	got := Request{Digests: make([]uint64, 1), Deltas: make([]int32, 1)}
	for _, n := range []int{0, 1, 7, 1024, MaxDigests} {
		for _, c := range []struct {
			step int32
			size int
		}{{0, 7}, {1, 8}, {1 << 7, 8}, {1<<7 + 1, 9}, {1 << 15, 9}, {1<<15 + 1, 11}, {math.MaxInt32, 11}} {
			want := someRequest(n, c.step)
			want.Remaining = n%2 > 0
			msg := want.Append([]byte("before"))[len("before"):]
			if len(msg) != requestHeader+n*c.size && n != 1 {
				t.Errorf("%d digests, steps of %d: %d bytes, want %d", n, c.step, len(msg), requestHeader+n*c.size)
			}
			got.Digests = append(got.Digests, 0) // not nil
			if err := got.Decode(msg); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%d digests, steps of %d: %v, or another request", n, c.step, err)
			}
		}
	}
	msg := got.Append(nil)
	if allocs := testing.AllocsPerRun(10, func() {
		if err := got.Decode(msg); err != nil {
			t.Fatal(err)
		}
		msg = got.Append(msg[:0])
	}); allocs != 0 {
		t.Errorf("%v allocations a message", allocs)
	}
}

// TestRequestLayout compares the layout with bytes that were written by hand.
func TestRequestLayout(t *testing.T) {
	r := Request{Op: Chain, Times: true, K: 5, Epoch: 0x01020304, Seq: 0x1112131415161718, Time: 0x2122232425262728, Deadline: 0x31323334,
		Digests: []uint64{0x4142434445464748, 0x51525354555657}, Deltas: []int32{0x6162, 0x6160}}
	want := []byte{
		'F', 'D', 3, 4, 2, 0, 5, 0, 4, 3, 2, 1, 2, 0, 0, 0,
		0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,
		0x34, 0x33, 0x32, 0x31,
	}
	msg := r.Append(nil)
	body := []byte{0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x57, 0x56, 0x55, 0x54, 0x53, 0x52, 0x51, 0x62, 0x61, 0xfe, 0xff}
	if !bytes.Equal(msg[:36], want) || !bytes.Equal(msg[40:], body) {
		t.Errorf("%x", msg)
	}
}

func TestRequestErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(msg []byte) []byte
		want   error
	}{
		{"empty", func(m []byte) []byte { return nil }, errLength},
		{"a header cut short", func(m []byte) []byte { return m[:39] }, errLength},
		{"another protocol", func(m []byte) []byte { m[0] = 'G'; return m }, ErrMessage},
		{"another version", func(m []byte) []byte { m[2] = 1; return m }, ErrVersion},
		{"no operation", func(m []byte) []byte { m[3] = 0; return m }, errField},
		{"an unknown operation", func(m []byte) []byte { m[3] = 6; return m }, errField},
		{"an unknown flag", func(m []byte) []byte { m[4] = 8; return m }, errField},
		{"a reserved byte", func(m []byte) []byte { m[7] = 1; return m }, errField},
		{"too many digests", func(m []byte) []byte { m[12], m[13] = 1, 0x40; return m }, errField},
		{"all digests", func(m []byte) []byte { m[15] = 0xff; return m }, errField},
		{"a digest missing", func(m []byte) []byte { return m[:len(m)-8] }, errLength},
		{"a byte more", func(m []byte) []byte { return append(m, 0) }, errLength},
		{"times without a flag", func(m []byte) []byte { m[4] = 0; return m }, errLength},
		{"a changed bit", func(m []byte) []byte { m[50] ^= 1; return m }, errChecksum},
	} {
		r := someRequest(10, 1000)
		var got Request
		if err := got.Decode(c.damage(r.Append(nil))); !errors.Is(err, c.want) || !errors.Is(err, ErrMessage) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func TestReply(t *testing.T) {
	var got Reply
	for _, want := range []Reply{
		{N: 0, Copies: []byte{}},
		{N: 9, Seq: 1 << 60, Epoch: 3, Fencing: 1 << 50, Unchecked: 7, Copies: []byte{0xff, 1}},
		{Status: NotOwner, N: 9, Seq: 4, Copies: []byte{}},
		{N: 9, Copies: []byte{5, 1}, Remaining: []uint16{7, 0, 0xffff, 0, 0, 0, 0, 0, 300}},
	} {
		msg := want.Append(nil)
		if err := got.Decode(msg); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
	for _, c := range []struct {
		name   string
		damage func(msg []byte) []byte
		want   error
	}{
		{"empty", func(m []byte) []byte { return nil }, errLength},
		{"another protocol", func(m []byte) []byte { m[1] = 0; return m }, ErrMessage},
		{"another version", func(m []byte) []byte { m[2] = 9; return m }, ErrVersion},
		{"an unknown status", func(m []byte) []byte { m[3] = 7; return m }, errField},
		{"too many digests", func(m []byte) []byte { m[7] = 1; return m }, errField},
		{"a bitmap cut short", func(m []byte) []byte { return m[:len(m)-1] }, errLength},
		{"a bitmap too long", func(m []byte) []byte { return append(m, 0) }, errLength},
		{"a bitmap with a refusal", func(m []byte) []byte { m[3] = byte(Stale); return m }, errLength},
		{"an entry for no copy", func(m []byte) []byte { return append(m, make([]byte, 20)...) }, errLength},
		{"bits of no digest", func(m []byte) []byte { m[len(m)-1] = 2; return m }, errField},
	} {
		r := Reply{N: 9, Copies: []byte{0xff, 1}}
		if err := got.Decode(c.damage(r.Append(nil))); !errors.Is(err, c.want) || !errors.Is(err, ErrMessage) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func FuzzRequest(f *testing.F) {
	for i, n := range []int{0, 1, 20, 3, 9} {
		r := someRequest(n, []int32{0, 100, 1000, 1 << 20, math.MaxInt32}[i])
		f.Add(r.Append(nil))
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		var r Request
		if err := r.Decode(msg); err != nil {
			if !errors.Is(err, ErrMessage) {
				t.Error(err)
			}
			return
		}
		// Steps may be longer than they need be. Append never makes them so.
		again, read := r.Append(nil), Request{}
		err := read.Decode(again)
		if len(again) > len(msg) || err != nil || !slices.Equal(read.Digests, r.Digests) || !slices.Equal(read.Deltas, r.Deltas) {
			t.Errorf("%x is read as %+v, and again as %+v: %v", msg, r, read, err)
		}
	})
}

func FuzzReply(f *testing.F) {
	r := Reply{N: 9, Copies: []byte{0xff, 1}}
	f.Add(r.Append(nil))
	r.Remaining = make([]uint16, 9)
	f.Add(r.Append(nil))
	r.Status = Overloaded
	f.Add(r.Append(nil))
	f.Fuzz(func(t *testing.T, msg []byte) {
		var r Reply
		if err := r.Decode(msg); err != nil {
			if !errors.Is(err, ErrMessage) {
				t.Error(err)
			}
			return
		}
		if !bytes.Equal(r.Append(nil), msg) {
			t.Errorf("%x is read as %+v", msg, r)
		}
	})
}

func TestSliceOf(t *testing.T) {
	for _, c := range []struct {
		digest uint64
		slices int
		want   int
	}{
		{0, 64, 0}, {^uint64(0), 64, 63}, {1 << 63, 64, 32}, {1<<63 - 1, 64, 31}, {^uint64(0), 1, 0}, {^uint64(0) >> 32, 1000, 0},
	} {
		if got := sliceOf(c.digest, c.slices); got != c.want {
			t.Errorf("slice of %x of %d: %d, want %d", c.digest, c.slices, got, c.want)
		}
	}
}
