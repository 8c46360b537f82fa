// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// waits is the outcome of a run that a signal ends.
const waits = cli.ExitSignal + int(syscall.SIGINT)

// outcomes are the exit codes of a run for each kind of file that has the name. The file stays.
type outcomes struct{ pipe, device, socket, folder int }

// everyFile are runs for each row of the table "Every file" of the manual. NAME is the file. A row
// without runs has tests of its own.
var everyFile = map[string][]struct {
	args string
	of   outcomes
}{
	"input, with `--config`, `--bpf-file`, `--boundary`, `--tls-*` (again for each connection, then regular only)": {
		{"dedup NAME -w out", outcomes{waits, 1, 1, 1}},
		{"dedup in NAME -w out", outcomes{waits, 1, 1, 1}},
		{"inspect NAME", outcomes{waits, 1, 1, 1}},
		{"distinct NAME", outcomes{waits, 1, 1, 1}},
		{"plan --from NAME", outcomes{waits, 1, 1, 1}},
		{"compare in NAME", outcomes{waits, 1, 1, 1}},
		{"verify in NAME", outcomes{waits, 1, 1, 1}},
		{"flows NAME", outcomes{waits, 1, 1, 1}},
		{"flows in --boundary NAME", outcomes{waits, 0, 1, 1}},
		{"dedup in -w out --config NAME", outcomes{waits, 0, 2, 2}},
		{"dedup in -w out --bpf-file NAME", outcomes{waits, 2, 1, 1}},
		{"dedup in -w tcp://127.0.0.1:9 --tls-ca NAME", outcomes{waits, 1, 1, 1}},
		{"dedup in -w tcp://127.0.0.1:9 --tls-cert NAME --tls-key NAME", outcomes{waits, 1, 1, 1}},
	},
	"counts of `--merge`": {{"distinct --merge NAME", outcomes{1, 1, 1, 1}}},
	"output of a run that ends": {
		{"dedup in -w NAME", outcomes{waits, 0, 1, 0}}, // a folder gets a file
		{"dedup in -w out --duplicates NAME", outcomes{waits, 0, 1, 0}},
		{"dedup in -w out --html NAME", outcomes{waits, 0, 1, 1}},
		{"dedup in --removed NAME", outcomes{waits, 0, 1, 1}},
		{"distinct in --csv NAME", outcomes{waits, 0, 1, 1}},
		{"compare in other --only-a NAME", outcomes{waits, 0, 1, 1}},
		{"flows in -w NAME", outcomes{waits, 0, 1, 1}},
	},
	"file in a folder of `-w`, `--duplicates`": {{"dedup in -w NAME/", outcomes{1, 1, 1, 0}}, {"dedup NAME/file -w NAME", outcomes{1, 1, 1, 2}}},
	"`-w` of live": {{"live -i lo -w NAME --duration 300ms", outcomes{waits, 0, 1, 0}}}, // a new file gets a number
	"rotated file": {
		{"dedup in -w NAME --rotate-size 1MB", outcomes{2, 2, 2, 2}},
		{"flows in -w NAME --rotate-size 1MB", outcomes{2, 2, 2, 2}},
	},
	"`--reports`, `-w` of `flows --listen`": {
		{"flows in --of src --reports NAME", outcomes{waits, 0, 1, 1}},
		{"live -i lo --of src --reports NAME --duration 300ms", outcomes{waits, 0, 1, 1}},
	},
	"file of `--save` in a folder": {{"live -i lo --of src --every 1h --reports out --save NAME --key " + saveKey + " --duration 300ms", outcomes{2, 2, 2, 0}}},
	"`--state`": {
		{"live -i lo --state NAME --duration 300ms", outcomes{2, 2, 2, 2}},
		{"live -i lo --state NAME --state-mismatch begin --duration 300ms", outcomes{2, 2, 2, 2}},
		{"flows in --state NAME --state-mismatch begin", outcomes{2, 2, 2, 2}},
	},
	"`.NAME.flowdedup-lock`": {
		{"dedup in -w out .out.flowdedup-lock", outcomes{0, 0, 0, 0}},
		{"dedup in -w out --rotate-size 1MB .out.flowdedup-lock", outcomes{0, 0, 0, 0}},
		{"flows in --state s .s.flowdedup-lock", outcomes{0, 0, 0, 0}},
	},
	"`.NAME.1a2b3c4d.flowdedup-tmp`": {
		{"dedup in -w out .x.1a2b3c4d.flowdedup-tmp", outcomes{0, 0, 0, 0}},
		{"inspect in --html out .out.1a2b3c4d.flowdedup-tmp", outcomes{0, 0, 0, 0}},
	},
	"`.NAME.flowdedup-files`":  {{"dedup in -w out --rotate-size 1MB --rotate-keep 1 .out.flowdedup-files", outcomes{0, 0, 0, 0}}},
	"copy elsewhere":           nil, // TestHomeless of capture/rotate and capture/outfile
	"link of `extcap install`": {{"extcap install --folder NAME/..", outcomes{1, 1, 1, 0}}},
}

const saveKey = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

// TestEveryFile has files of all kinds where the manual's table has files: runs end as the table says,
// or wait and end by a signal, and what is no file of theirs stays.
func TestEveryFile(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root makes devices and captures")
	}
	page := string(clitest.ReadFile(t, "../../doc/outputs.md"))
	_, page, _ = strings.Cut(page, "\n## Every file\n")
	page, _, _ = strings.Cut(page, "\n## ")
	var rows []string
	for _, row := range regexp.MustCompile(`(?m)^\| (.+?) \|`).FindAllStringSubmatch(page, -1)[1:] {
		rows = append(rows, row[1])
		if _, ok := everyFile[row[1]]; !ok {
			t.Errorf("no runs for the row of %s", row[1])
		}
	}
	for row, runs := range everyFile {
		if !slices.Contains(rows, row) {
			t.Errorf("the table has no row of %s", row)
		}
		for _, run := range runs {
			for kind, want := range map[string]int{"pipe": run.of.pipe, "device": run.of.device, "socket": run.of.socket, "folder": run.of.folder} {
				t.Run(run.args+"/"+kind, func(t *testing.T) {
					t.Parallel()
					testEveryFile(t, strings.Fields(run.args), kind, want)
				})
			}
		}
	}
}

func testEveryFile(t *testing.T, args []string, kind string, want int) {
	dir, err := os.MkdirTemp("", "e") // short, as names of sockets are
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	name := "name"
	if last := len(args) - 1; strings.HasPrefix(args[last], ".") {
		name, args = args[last], args[:last]
	}
	at := filepath.Join(dir, name)
	if err := makeKind(at, kind); err != nil {
		t.Skip(err)
	}
	before, err := os.Lstat(at)
	if err != nil {
		t.Fatal(err)
	}
	for _, capture := range []string{"in", "other"} {
		if err := os.WriteFile(filepath.Join(dir, capture), clitest.ReadFile(t, clitest.Bundled("router-plain.pcapng")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := clitest.Program(t, args...)
	for i, arg := range cmd.Args {
		cmd.Args[i] = strings.ReplaceAll(arg, "NAME", name)
	}
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer killed.Stop()
	if want == waits {
		awaitSleep(t, cmd.Process.Pid)
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Error(err)
		}
	}
	if code := clitest.ExitCode(t, cmd.Wait()); code != want {
		t.Errorf("exit code %d, want %d: %s", code, want, &stderr)
	}
	if now, err := os.Lstat(at); err != nil || !os.SameFile(now, before) || now.Mode() != before.Mode() {
		t.Errorf("it became %v, %v", now, err)
	}
}

// makeKind makes a file that is no regular file.
func makeKind(name, kind string) error {
	switch kind {
	case "pipe":
		return syscall.Mkfifo(name, 0o600)
	case "device": // as the null device
		return syscall.Mknod(name, syscall.S_IFCHR|0o600, 1<<8|3)
	case "socket":
		l, err := net.Listen("unix", name)
		if err != nil {
			return err
		}
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		return l.Close()
	}
	return errors.Join(os.Mkdir(name, 0o700), os.WriteFile(filepath.Join(name, "file"), nil, 0o600))
}
