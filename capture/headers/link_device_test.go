// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// tsharkOpens has the cases in which tshark finds the datagram too.
func tsharkOpens(c *linkCase) bool {
	for _, other := range []string{
		"arista 802.2", "9200", "edsa", "realtek", "brcm", "dsa", "netanalyzer transparent", "netanalyzer, short", "juniper without link",
	} {
		if strings.HasPrefix(c.Name, other) {
			return false
		}
	}
	return c.Ip != nil
}

// TestDevicesByTshark compares the addresses of the cases with the addresses that tshark finds.
func TestDevicesByTshark(t *testing.T) {
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("tshark is not here: ", err)
	}
	var taps []tap
	var want []string
	for i := range deviceCases {
		c := &deviceCases[i]
		if !tsharkOpens(c) {
			continue
		}
		taps = append(taps, tap{Link: c.Link, Data: join(c.Head, c.Ip)})
		address := "10.0.0.1\t"
		if c.Ip[0]>>4 == 6 {
			address = "\t2001:db8::1"
		}
		want = append(want, address)
	}
	var b capture.Batch
	for _, s := range taps {
		b.Append(capture.Frame{Interface: b.AppendInterface(capture.Interface{LinkType: s.Link})}, s.Data)
	}
	name := filepath.Join(t.TempDir(), "devices.pcapng")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := pcapfile.NewWriter(file, pcapfile.WriterOptions{})
	if err := w.Write(&b, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("tshark", "-r", name, "-T", "fields", "-e", "ip.src", "-e", "ipv6.src").Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(string(bytes.TrimRight(out, "\n")), "\n")
	if !slices.Equal(got, want) {
		for i, c := range taps {
			if i >= len(got) || got[i] != want[i] {
				t.Errorf("link type %v, %x: tshark finds %q, want %q", c.Link, c.Data, got[min(i, len(got)-1)], want[i])
			}
		}
	}
}
