// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// PacketBytes returns the bytes of all packets of a capture, up to damage.
func PacketBytes(t *testing.T, name string) (all [][]byte) {
	t.Helper()
	src, err := pcapfile.Open(name, pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var b capture.Batch
	for {
		if err := src.Next(&b); err != nil {
			return all
		}
		for i := range b.Frames {
			all = append(all, bytes.Clone(b.Data(i)))
		}
	}
}

// NeedTshark skips the test where tshark is missing.
func NeedTshark(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	return path
}

// FieldsOf returns fields of all packets of a capture as tshark shows them, tabs between
// them.
func FieldsOf(t *testing.T, tshark, name string, fields ...string) []string {
	t.Helper()
	args := []string{"-n", "-r", name, "-T", "fields"}
	for _, f := range fields {
		args = append(args, "-e", f)
	}
	var errs bytes.Buffer
	cmd := exec.Command(tshark, args...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tshark %s: %v, %s", name, err, errs.String())
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// CommentsOf returns the comment on each packet of a little-endian pcapng file, "" for
// none.
func CommentsOf(t *testing.T, name string) (all []string) {
	t.Helper()
	file := ReadFile(t, name)
	le := binary.LittleEndian
	for len(file) > 0 {
		n := le.Uint32(file[4:])
		block := file[:n]
		file = file[n:]
		if le.Uint32(block) != 6 {
			continue
		}
		comment := ""
		for options := block[28+(le.Uint32(block[20:])+3)&^3 : n-4]; len(options) >= 4 && le.Uint16(options) != 0; {
			size := le.Uint16(options[2:])
			if le.Uint16(options) == 1 {
				comment += string(options[4:][:size])
			}
			options = options[4+(int(size)+3)&^3:]
		}
		all = append(all, comment)
	}
	return all
}

// FileSize returns the length of a file.
func FileSize(t *testing.T, name string) int64 {
	t.Helper()
	st, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return st.Size()
}
