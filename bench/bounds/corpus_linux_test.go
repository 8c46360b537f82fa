// SPDX-License-Identifier: Apache-2.0

package bounds

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// found is a file that is there already, or its content.
func found(name string, of subject, content []byte) input {
	return input{name, of, func(c *capture, _ int64) { _, _ = c.Write(content) }}
}

// damaged returns captures of this project with wrong bytes, lengths and ends.
func damaged(t *testing.T, n int) (all []input) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(20, 26))
	for i := range n {
		name := []string{"router-in.pcap", "router-vlan.pcapng", "router-any-sll.pcap.gz", "mirror-vxlan.pcap"}[i%4]
		content, err := os.ReadFile(bundled(name))
		if err != nil {
			t.Fatal(err)
		}
		switch at := rnd.IntN(len(content) - 4); i / 4 % 4 {
		case 0:
			content = content[:at]
		case 1:
			content[at] ^= 1 << rnd.IntN(8)
		default:
			at = at / 4 * 4
			if i%2 == 0 {
				at = 4 * rnd.IntN(64) // in the headers
			}
			le.PutUint32(content[at:], []uint32{0, 1, 1<<31 - 1, 1 << 31, 1<<32 - 4, 1<<32 - 1}[rnd.IntN(6)])
		}
		all = append(all, found(fmt.Sprintf("damaged-%03d-%s", i, name), packets, content))
	}
	return all
}

// bundled is a capture of this project.
func bundled(name string) string { return filepath.Join("..", "..", "testdata", "pcaps", name) }

// shared returns the files of FLOWDEDUP_SHARED/hostile, where that folder is given.
func shared(t *testing.T) (all []input) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(os.Getenv("FLOWDEDUP_SHARED"), "hostile", "*.pcap*"))
	if err != nil || os.Getenv("FLOWDEDUP_SHARED") == "" {
		return nil
	}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found(filepath.Base(name), packets, content))
	}
	return all
}

// corpora returns the findings of fuzz targets: each byte string as a packet, as a
// message of an exporter, and as a file.
func corpora(t *testing.T, folders ...string) (all []input) {
	t.Helper()
	var found [][]byte
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.Contains(path, string(filepath.Separator)+"fuzz"+string(filepath.Separator)) {
				return err
			}
			text, err := os.ReadFile(path)
			found = append(found, literals(string(text))...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(found) == 0 {
		t.Fatalf("no corpus in %q", folders)
	}
	as := func(write func(c *capture, i int, content []byte)) func(*capture, int64) {
		return func(c *capture, _ int64) {
			c.section()
			c.iface(1)
			c.iface(101) // packets of IP
			for i, content := range found {
				write(c, i, content)
			}
		}
	}
	return []input{
		{"corpus-packets.pcapng", packets, as(func(c *capture, i int, content []byte) {
			content = content[:min(len(content), 1<<18)]
			c.packet(0, begin+uint64(i), content)
			c.packet(1, begin+uint64(i), content)
		})},
		{"corpus-messages.pcapng", records, as(func(c *capture, i int, content []byte) {
			c.export(i%7, begin+uint64(i), content[:min(len(content), 60_000)])
		})},
		{"corpus.ndjson", records, func(c *capture, _ int64) {
			for _, content := range found {
				_, _ = c.Write(append(content, '\n'))
			}
		}},
	}
}

// literals returns the strings of a file of a corpus.
func literals(text string) (all [][]byte) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(strings.TrimSpace(line), ")")
		for _, kind := range []string{"[]byte(", "string("} {
			if quoted, ok := strings.CutPrefix(line, kind); ok {
				if content, err := strconv.Unquote(quoted); err == nil {
					all = append(all, []byte(content))
				}
			}
		}
	}
	return all
}

// fuzzCache is the folder of the findings of go test -fuzz on this machine.
func fuzzCache(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "fuzz")
}
