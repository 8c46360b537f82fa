// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestRotationSparesInputs gives outputs that remove their oldest files names that inputs, other
// outputs and files of somebody else have. All inputs are there afterwards.
func TestRotationSparesInputs(t *testing.T) {
	for _, c := range []struct {
		format string // of the inputs' names
		args   string
		code   int
		says   string
	}{
		{"cap-20060102T150405.000Z.pcap", "dedup IN -w cap.pcap --rotate-every 1h --rotate-keep 2", cli.ExitUsage, "of the input cap-1970"},
		{"cap-20060102-150405.pcap", "dedup IN -w cap-%Y%m%d-%H%M%S.pcap --rotate-every 1h --rotate-keep 2", cli.ExitUsage, "of the input cap-1970"},
		{"cap-20060102-150405.pcap", "dedup IN -w cap-%Y%m%d-%H%M%S.pcap --rotate-every 1h --rotate-keep-bytes 1KiB", cli.ExitUsage, "of the input cap-1970"},
		{"cap-20060102-150405.pcap", "dedup IN -w ./../here/cap-%s.pcap --duplicates cap-%F-%T.pcap --rotate-every 1h --rotate-keep 2", cli.ExitDone, ""},
		{"cap-20060102-150405.pcap", "dedup -r LINK -w cap-%Y%m%d-%H%M%S.pcap --rotate-every 1h --rotate-keep 1", cli.ExitUsage, "of the input link"},
		{"cap-20060102-150405.pcap", "dedup -r HARD -w cap-%Y%m%d-%H%M%S.pcap --rotate-every 1h --rotate-keep 1", cli.ExitDone, ""},
		{"cap-20060102-150405.pcap", "dedup IN -w cap-%Y%m%d-%H%M%S.pcap --rotate-every 1h", cli.ExitDone, ""}, // it removes nothing
		{"in-20060102.pcap", "dedup IN -w out-%H.pcap --duplicates out-%M.pcap --rotate-every 1h", cli.ExitUsage, "could get the names"},
		{"in-20060102.pcap", "dedup IN -w out-%H.html --html out-01.html --rotate-every 1h", cli.ExitUsage, "could get the names"},
		{"cap-20060102-150405.pcap", "flows IN -w cap-%Y%m%d-%H%M%S.pcap --rotate-every 1h --rotate-keep 2", cli.ExitUsage, "of the input cap-1970"},
		{"cap-20060102-150405.pcap", "live -i lo --filter udp -w cap-%H.pcap --state cap-07.pcap --rotate-every 1h", cli.ExitUsage, "could get the names"},
	} {
		t.Run(c.args, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "here")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			t.Chdir(dir)
			inputs := map[string]string{}
			var names []string
			for hour := range 6 {
				name := time.Unix(int64(hour)*3600, 0).UTC().Format(c.format)
				inputs[name] = string(clitest.HourlyPcap(6 + hour))
				if err := os.WriteFile(name, []byte(inputs[name]), 0o600); err != nil {
					t.Fatal(err)
				}
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
			if err := os.Symlink(names[0], "link"); err != nil {
				t.Skip(err)
			}
			if err := os.Link(names[0], "hard"); err != nil {
				t.Skip(err)
			}
			var args []string
			for _, arg := range strings.Fields(c.args) {
				switch arg {
				case "IN":
					args = append(args, names...)
				case "LINK", "HARD":
					args = append(args, strings.ToLower(arg))
				default:
					args = append(args, arg)
				}
			}
			_, stderr, code := clitest.Run(args...)
			if code != c.code || !strings.Contains(stderr, c.says) {
				t.Errorf("exit code %d, want %d with %q: %s", code, c.code, c.says, stderr)
			}
			for name, content := range inputs {
				if now, err := os.ReadFile(name); err != nil || string(now) != content {
					t.Errorf("%s: %d bytes, %v", name, len(now), err)
				}
			}
		})
	}
}

// TestRotationPrunes files of the run before, also without its flags, and none of somebody else.
func TestRotationPrunes(t *testing.T) {
	for _, name := range []string{"cap.pcap", "cap.pcapng.zst", "cap-%Y%m%d-%H.pcap"} {
		dir := t.TempDir()
		in := clitest.WriteInput(t, filepath.Join(t.TempDir(), "in.pcap"), clitest.HourlyPcap(9))
		args := []string{in, "-w", filepath.Join(dir, name), "--rotate-every", "1h"}
		clitest.RunDedup(t, cli.ExitDone, args...)
		stem, _, _ := strings.Cut(name, "-")
		first, err := filepath.Glob(filepath.Join(dir, strings.TrimSuffix(strings.TrimSuffix(stem, ".pcapng.zst"), ".pcap")+"-*"))
		if err != nil || len(first) != 9 {
			t.Fatalf("%q, %v", first, err)
		}
		stranger := strings.Replace(first[2], "1970", "1969", 1)
		if err := os.WriteFile(stranger, []byte("somebody's"), 0o600); err != nil {
			t.Fatal(err)
		}
		copied := strings.Replace(first[3], "1970", "1968", 1)
		if err := os.WriteFile(copied, clitest.ReadFile(t, first[3]), 0o600); err != nil {
			t.Fatal(err)
		}
		clitest.RunDedup(t, cli.ExitDone, append(args, "--rotate-keep", "2")...)
		left, err := filepath.Glob(filepath.Join(dir, "cap*"))
		if err != nil || len(left) != 4 || !slices.Contains(left, stranger) || !slices.Contains(left, copied) {
			t.Errorf("%s: %q, %v", name, left, err)
		}
		if fmt.Sprint(left[2:]) == fmt.Sprint(first[:2]) {
			t.Errorf("%s: the oldest are left: %q", name, left)
		}
	}
}
