// SPDX-License-Identifier: Apache-2.0

package extcap_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab/labtest"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// wiresharkScript captures through an extcap program in namespaces of its own: $1 is the
// folder of the program, $2 the folder of Wireshark.
const wiresharkScript = `
mount --bind "$1" "$2" && ip link set lo up && tshark -D || exit
ping -q -i 0.2 -c 1000 127.0.0.1 >/dev/null &
tshark -i flowdedup-lo -f icmp -o extcap.flowdedup_lo.window:1s -c 6 -a duration:120 -T fields -e icmp.seq -e icmp.type
kill $!
`

// TestWireshark lets tshark list the interfaces, and capture through one of which the
// kernel delivers each packet twice.
func TestWireshark(t *testing.T) {
	if testing.Short() {
		t.Skip("tshark takes seconds to list interfaces")
	}
	labtest.Enter(t)
	for _, tool := range []string{"tshark", "unshare", "ping", "tcpdump"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("needs " + tool)
		}
	}
	folders, err := exec.Command("tshark", "-G", "folders").Output()
	if err != nil {
		t.Fatal(err)
	}
	_, folder, _ := strings.Cut(string(folders), "Extcap path:")
	folder, _, _ = strings.Cut(strings.TrimSpace(folder), "\n")
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		t.Skip("tshark has no folder of extcap programs")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	wrapper := fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", clitest.AsProgram, exe)
	if err := os.WriteFile(filepath.Join(dir, "flowdedup-extcap"), []byte(wrapper), 0o700); err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	cmd := exec.Command("unshare", "-mn", "sh", "-c", wiresharkScript, "sh", dir, folder)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "flowdedup-lo (lo without duplicates)") {
		t.Fatalf("%v: %s%s", err, out, errs.String())
	}
	seen := map[string]int{}
	for line := range strings.Lines(string(out)) {
		if sequence, kind, is := strings.Cut(strings.TrimSpace(line), "\t"); is {
			seen[sequence+" "+kind]++
		}
	}
	if len(seen) != 6 {
		t.Errorf("six different packets were expected: %v\n%s", seen, errs.String())
	}
}
