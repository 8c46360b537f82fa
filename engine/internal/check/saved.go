// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/minio/highwayhash"
)

// The secret, label and limits of the snapshots in checks.
var (
	SavedSecret = engine.Secret{1, 2, 3}
	SavedLabel  = "flow, aes"
	// SavedConfig accepts the result of Saved.
	SavedConfig = snapshot.RestoreConfig{Secret: SavedSecret, Label: SavedLabel}
)

// savedHead is the size of a snapshot before its fields.
const savedHead = 14 * 8

// Snapshotter is any filter that can be saved.
type Snapshotter interface {
	Snapshot(w io.Writer, secret engine.Secret, label string) error
	Close() error
}

// restorer reads filters of one kind.
type restorer[F Snapshotter] func(r io.Reader, c snapshot.RestoreConfig) (F, error)

// Saved returns a filter's snapshot.
func Saved(t testing.TB, s Snapshotter) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.Snapshot(&b, SavedSecret, SavedLabel); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Restart returns the filter that is restored from a snapshot of s.
func Restart[F Snapshotter](t *testing.T, s F, restore restorer[F]) F {
	t.Helper()
	again, err := restore(bytes.NewReader(Saved(t, s)), SavedConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { again.Close() })
	return again
}

// State compares a filter's snapshot with the bytes that it has always had: so older
// snapshots can be restored.
func State(t *testing.T, name string, s Snapshotter, want string) {
	t.Helper()
	sum := sha256.Sum256(Saved(t, s))
	if got := hex.EncodeToString(sum[:8]); got != want {
		t.Errorf("%s: the state is %s, it was %s", name, got, want)
	}
}

// Restarts compares a counter with one that is restored now and then.
func Restarts[K comparable, C interface {
	engine.Counter[K]
	Snapshotter
}](t *testing.T, whole, cut C, restore restorer[C], keys []K) {
	t.Helper()
	rng := rand.New(rand.NewPCG(57, 57))
	for at := 0; at < len(keys); {
		part := keys[at:min(at+rng.IntN(4000), len(keys))]
		want, got := make([]uint64, len(part)/64+1), make([]uint64, len(part)/64+1)
		whole.TestAndSet(want, part)
		cut.TestAndSet(got, part)
		if !slices.Equal(got, want) {
			t.Fatalf("other verdicts from %d on", at)
		}
		at += len(part)
		cut = Restart(t, cut, restore)
		got2, want2 := cut.Counts(), whole.Counts()
		if got2 != want2 {
			t.Fatalf("after %d: %+v, want %+v", at, got2, want2)
		}
	}
}

// Restore checks the properties of all filters that can be saved, with a small one.
func Restore[F Snapshotter](t *testing.T, f F, restore restorer[F]) {
	t.Run("damaged", func(t *testing.T) { checkDamaged(t, Saved(t, f), restore) })
	t.Run("label", func(t *testing.T) { checkLabels(t, f, restore) })
	t.Run("full disk", func(t *testing.T) { checkFullDisk(t, f) })
	t.Run("copy", func(t *testing.T) { CopyOf(t, f, f) })
}

// checkDamaged wants snapshots refused wherever they are cut or changed, and where they
// are of another kind, under another key, or too large.
func checkDamaged[F Snapshotter](t *testing.T, data []byte, restore restorer[F]) {
	try := func(data []byte, c snapshot.RestoreConfig) error {
		f, err := restore(bytes.NewReader(data), c)
		if err == nil {
			f.Close()
		}
		return err
	}
	if err := try(data, SavedConfig); err != nil {
		t.Error(err)
	}
	step := len(data)/400 + 1
	for at := 0; at < len(data); at += step {
		if err := try(data[:at], SavedConfig); !errors.Is(err, snapshot.ErrInvalid) {
			t.Fatalf("cut after %d of %d bytes: %v", at, len(data), err)
		}
		damaged := slices.Clone(data)
		damaged[at] ^= 1 << (at % 8)
		if err := try(damaged, SavedConfig); !errors.Is(err, snapshot.ErrInvalid) {
			t.Fatalf("byte %d of %d changed: %v", at, len(data), err)
		}
	}
	kind := binary.LittleEndian.Uint64(data[16:])
	for _, other := range []uint64{kind - 1, kind + 1} {
		if err := try(Changed(data, 2, other), SavedConfig); !errors.Is(err, snapshot.ErrInvalid) || !strings.Contains(err.Error(), "kind") {
			t.Errorf("as of kind %d: %v", other, err)
		}
	}
	if err := try(data, snapshot.RestoreConfig{Label: SavedLabel}); !errors.Is(err, snapshot.ErrInvalid) || !strings.Contains(err.Error(), "another key") {
		t.Errorf("with another key: %v", err)
	}
	if err := try(data, snapshot.RestoreConfig{Secret: SavedSecret, Label: SavedLabel, Memory: 64}); !errors.Is(err, engine.ErrMemory) {
		t.Errorf("with memory of a line: %v", err)
	}
}

// checkLabels wants a filter of other elements refused, and labels stored as they are, or
// not.
func checkLabels[F Snapshotter](t *testing.T, f F, restore restorer[F]) {
	long := strings.Repeat("l", snapshot.MaxLabel)
	for _, c := range []struct {
		written, wanted string
		says            string
	}{
		{"", "", ""}, {"src", "src", ""}, {long, long, ""},
		{"flow", "src", `of elements labelled "flow", must be "src"`},
		{"", "src", `labelled "", must be "src"`},
		{long, long[1:], "must be"},
		{"src", long + "l", "at most 64 bytes"},
		{"src", "src\x00", "none of them 0"},
	} {
		var b bytes.Buffer
		if err := f.Snapshot(&b, SavedSecret, c.written); err != nil {
			t.Fatal(err)
		}
		r, err := restore(&b, snapshot.RestoreConfig{Secret: SavedSecret, Label: c.wanted})
		switch {
		case err == nil && c.says == "":
			r.Close()
		case err == nil || c.says == "" || !errors.Is(err, snapshot.ErrInvalid) || !strings.Contains(err.Error(), c.says):
			t.Errorf("%q as %q: %v, want %q", c.written, c.wanted, err, c.says)
		}
	}
	var b bytes.Buffer
	if err := f.Snapshot(&b, SavedSecret, long+"l"); !errors.Is(err, snapshot.ErrInvalid) || b.Len() > 0 {
		t.Errorf("a long label: %v, %d bytes written", err, b.Len())
	}
}

// fullDisk takes the given number of bytes.
type fullDisk int

var errFull = errors.New("disk full")

func (d *fullDisk) Write(b []byte) (int, error) {
	if *d -= fullDisk(len(b)); *d < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func checkFullDisk(t *testing.T, f Snapshotter) {
	size := len(Saved(t, f))
	for _, room := range []int{0, 8, savedHead - 1, savedHead, 300, size / 2, size - 16, size - 1, size} {
		disk := fullDisk(room)
		if err := f.Snapshot(&disk, SavedSecret, SavedLabel); (err != nil) != (room < size) || err != nil && !errors.Is(err, errFull) {
			t.Errorf("%d bytes of room for %d: %v", room, size, err)
		}
	}
}

// SealAgain puts valid seals into a changed snapshot, as an owner of the secret can.
func SealAgain(data []byte) []byte {
	if len(data) < savedHead {
		return data
	}
	data = slices.Clone(data)
	count := binary.LittleEndian.Uint64(data[savedHead-8:])
	head := savedHead + 8*min(count, 1000)
	if uint64(len(data)) < head+32 {
		return data
	}
	key := SavedSecret.SnapshotKey()
	seal, err := highwayhash.New128(key[:])
	if err != nil {
		panic(err)
	}
	seal.Write(data[:head])
	copy(data[head:], seal.Sum(nil))
	seal.Write(data[head:][:16])
	rest := data[head+16:]
	seal.Write(rest[:len(rest)-16])
	copy(rest[len(rest)-16:], seal.Sum(nil))
	return data
}

// Changed returns a copy of a snapshot with another word.
func Changed(data []byte, word int, to uint64) []byte {
	data = slices.Clone(data)
	binary.LittleEndian.PutUint64(data[8*word:], to)
	return data
}

// FuzzRestore takes snapshots with valid seals, beginning with those of some filters: an
// error must be a documented one, and a restored filter must work and give a snapshot of
// the same kind and size. (Data after a snapshot stays unread.)
func FuzzRestore[F Snapshotter](f *testing.F, restore restorer[F], use func(F), filters ...F) {
	for _, filter := range filters {
		f.Add(Saved(f, filter))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < savedHead {
			return
		}
		data = SealAgain(data)
		s, err := restore(bytes.NewReader(data), snapshot.RestoreConfig{Secret: SavedSecret, Label: SavedLabel, Memory: 1 << 16})
		if err != nil {
			if !errors.Is(err, snapshot.ErrInvalid) && !errors.Is(err, engine.ErrMemory) {
				t.Errorf("%v: unexpected kind of error", err)
			}
			return
		}
		defer s.Close()
		if again := Saved(t, s); len(again) > len(data) || !bytes.Equal(again[:savedHead], data[:savedHead]) {
			t.Errorf("a snapshot of %d bytes, it was %d at most", len(again), len(data))
		}
		use(s)
	})
}

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

// Copies copies a filter while it goes on, from element start on: the copy equals the
// filter's state when the copy began, to the last bit, whenever it is written. enter
// makes it take elements from one place of n to another.
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
