// SPDX-License-Identifier: Apache-2.0

// Package goflow has goflow2 decode the messages of flow exporters for tests. goflow2 runs in
// a process of its own, the command of bench/peers, as no other package here needs it.
package goflow

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Message is a message of an exporter.
type Message struct {
	From string // each exporter has its own templates
	Data []byte
}

// Decoded is a message as goflow2 decodes it.
type Decoded struct {
	// Records are the fields of each record, by the numbers of information elements. Records of
	// NetFlow v5 have the addresses, ports, protocol and counters.
	Records []map[uint16][]byte
	Samples []Sample // of sFlow
	// Error is what goflow2 cannot decode, "" if it decodes all. Untemplated is the same for a
	// template that is not known.
	Error       string
	Untemplated bool
}

// Sample is a packet that was sampled: its first bytes, and its length in bytes.
type Sample struct {
	Header []byte
	Length uint32
}

// Decoder is a running goflow2, for one goroutine.
type Decoder struct {
	messages *json.Encoder
	answers  *json.Decoder
}

// folder is the module of goflow2, whose dependencies are there: it was compiled.
var folder = sync.OnceValues(func() (string, error) {
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(filepath.Dir(strings.TrimSpace(string(mod))), "bench", "peers")
	build := exec.Command("go", "build", "-o", os.DevNull, "./goflow2")
	build.Dir = dir
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, text)
	}
	return dir, nil
})

// Need skips a test if goflow2 cannot be built, as without a network if it was not downloaded
// before.
func Need(t testing.TB) {
	t.Helper()
	if _, err := folder(); err != nil {
		t.Skip("no goflow2: ", err)
	}
}

// Start starts goflow2, which ends with the test.
func Start(t testing.TB) *Decoder {
	t.Helper()
	Need(t)
	cmd := exec.Command("go", "run", "./goflow2")
	cmd.Dir, _ = folder() // Need has the error
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // its input ends, and so does it
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	return &Decoder{json.NewEncoder(in), json.NewDecoder(out)}
}

// Decode decodes a message that an exporter sent.
func (d *Decoder) Decode(t testing.TB, from string, data []byte) (answer Decoded) {
	t.Helper()
	if err := d.messages.Encode(Message{from, data}); err != nil {
		t.Fatal(err)
	}
	if err := d.answers.Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return answer
}
