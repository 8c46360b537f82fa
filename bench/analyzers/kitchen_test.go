// SPDX-License-Identifier: Apache-2.0

package analyzers_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const manual = "../../cmd/flowdedup/doc"

// page returns a page of the manual.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(manual, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// blocks returns the blocks of code in a section of the recipes.
func blocks(t *testing.T, heading string) (all []string) {
	t.Helper()
	_, section, found := strings.Cut(page(t, "recipes.md"), "\n"+heading+"\n")
	if !found {
		t.Fatalf("no section %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n#")
	for part := range strings.SplitSeq(section, "\n\n") {
		if code, ok := strings.CutPrefix(strings.Trim(part, "\n"), "    "); ok {
			all = append(all, strings.ReplaceAll(code, "\n    ", "\n"))
		}
	}
	return all
}

// kitchen is a folder in which recipes run. Their captures are there.
type kitchen struct {
	t   *testing.T
	dir string
}

func newKitchen(t *testing.T, programs ...string) *kitchen {
	t.Helper()
	need(t, append(programs, "bash")...)
	k := &kitchen{t, t.TempDir()}
	for name, capture := range map[string]string{"span.pcapng": "router-ordered.pcapng", "mirror.pcap": "mirror-vxlan.pcap"} {
		content, err := os.ReadFile(filepath.Join(capturesDir, capture))
		if err != nil {
			t.Fatal(err)
		}
		k.write(name, string(content))
	}
	return k
}

func (k *kitchen) path(name string) string { return filepath.Join(k.dir, name) }

// write writes an input of a recipe.
func (k *kitchen) write(name, content string) {
	k.t.Helper()
	if err := os.MkdirAll(filepath.Dir(k.path(name)), 0o777); err != nil {
		k.t.Fatal(err)
	}
	if err := os.WriteFile(k.path(name), []byte(content), 0o666); err != nil {
		k.t.Fatal(err)
	}
}

// shell prepares the run of a script, in a locale that every system has: of others bash
// warns.
func (k *kitchen) shell(script string) *exec.Cmd {
	cmd := exec.Command("bash", "-e", "-o", "pipefail", "-c", script)
	cmd.Dir = k.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "PATH="+filepath.Dir(flowdedup)+":"+os.Getenv("PATH"))
	return cmd
}

// cook runs a script to its end, and returns its output.
func (k *kitchen) cook(script string) string {
	k.t.Helper()
	var out bothStreams
	var stderr strings.Builder
	cmd := k.shell(script)
	cmd.Stdout, cmd.Stderr = &out, io.MultiWriter(&stderr, &out)
	if err := cmd.Run(); err != nil {
		k.t.Fatalf("%s: %v\n%s", script, err, stderr.String())
	}
	return out.String()
}

// bothStreams is a program's standard output and standard error. Each has a goroutine
// that writes here.
type bothStreams struct {
	mu sync.Mutex
	strings.Builder
}

func (s *bothStreams) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Builder.Write(p)
}

// captureTruth is the packets and conversations of truth files.
type captureTruth struct {
	Files               []string
	Identity            string
	Ignore              []string
	Across              bool
	Packets, Duplicates int
	Sightings           [][]int
	Conversations       []struct {
		Protocol, Packets int
		Ends              [][2]any
	}
}

func readTruth(t *testing.T, name string) (truth captureTruth) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(capturesDir, name+".truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &truth); err != nil {
		t.Fatal(err)
	}
	return truth
}

// tcp returns the number of packets of each TCP connection.
func (truth *captureTruth) tcp() map[string]int {
	packets := map[string]int{}
	for _, c := range truth.Conversations {
		if c.Protocol == 6 {
			packets[connection(endText(c.Ends[0]), endText(c.Ends[1]))] = c.Packets
		}
	}
	return packets
}

// endText returns an address and a port as the tests write them.
func endText(end [2]any) string { return fmt.Sprintf("%v %v", end[0], end[1]) }

// connection names one by its ends, in any order.
func connection(one, other string) string { return min(one, other) + " " + max(one, other) }

// classic reads a classic capture in little-endian order, and returns the times of its
// packets in microseconds.
func (k *kitchen) classic(name string) (times []uint64) {
	k.t.Helper()
	text, err := os.ReadFile(k.path(name))
	if err != nil {
		k.t.Fatal(err)
	}
	const fileHead, recordHead, micro, nano = 24, 16, 0xa1b2c3d4, 0xa1b23c4d
	if magic := binary.LittleEndian.Uint32(text); magic != micro && magic != nano {
		k.t.Fatalf("%s is no classic pcap: %x", name, magic)
	}
	for i := fileHead; i+recordHead <= len(text); i += recordHead + int(binary.LittleEndian.Uint32(text[i+8:])) {
		times = append(times, uint64(binary.LittleEndian.Uint32(text[i:]))*1e9+uint64(binary.LittleEndian.Uint32(text[i+4:])))
	}
	return times
}
