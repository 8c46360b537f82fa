// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files instead of checking them")

// Hex is a JSON string of hex digits.
type Hex []byte

// UnmarshalText reads hex digits.
func (h *Hex) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

// MarshalText writes hex digits.
func (h Hex) MarshalText() ([]byte, error) {
	return []byte(hex.EncodeToString(h)), nil
}

// Words returns words as little-endian bytes.
func Words(words []uint64) (b Hex) {
	for _, word := range words {
		b = binary.LittleEndian.AppendUint64(b, word)
	}
	return b
}

// vectors returns the path of a file of testdata/vectors, from any package of the module.
func vectors(t testing.TB, name string) string {
	t.Helper()
	for dir := ".."; ; dir = filepath.Join("..", dir) {
		path := filepath.Join(dir, "testdata", "vectors")
		if _, err := os.Stat(path); err == nil {
			return filepath.Join(path, name)
		}
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil || len(dir) > 64 {
			t.Fatal("no testdata/vectors")
		}
	}
}

// ReadVectors reads a file of testdata/vectors.
func ReadVectors(t testing.TB, name string, v any) {
	t.Helper()
	data, err := os.ReadFile(vectors(t, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// CheckGolden compares with the content of a file of testdata/vectors, or writes it there
// with -update.
func CheckGolden(t testing.TB, name string, golden any) {
	t.Helper()
	got, err := json.MarshalIndent(golden, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	name = vectors(t, name)
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("differs from %s:\n%s", name, got)
	}
}

// Pattern is byte i = the low byte of (i*i + 7i) / 4.
func Pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte((i*i + 7*i) / 4)
	}
	return b
}
