package cli

import (
	"bufio"
	"encoding/binary"
	"io"
	"strings"
	"testing"
	"time"
)

// hourlyPcap makes a capture of IPv4 headers, one an hour.
func hourlyPcap(hours int) []byte {
	le := binary.LittleEndian
	data := le.AppendUint32(nil, 0xa1b2c3d4)
	data = append(data, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	data = le.AppendUint32(le.AppendUint32(data, 65535), 101)
	for i := range hours {
		data = le.AppendUint32(le.AppendUint32(data, uint32(i*3600)), 0)
		data = le.AppendUint32(le.AppendUint32(data, 20), 20)
		data = append(data, 0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, byte(i>>8), byte(i), 10, 0, 0, 2)
	}
	return data
}

// TestDistinctStreams reads what is known of a pipe that stays open: windows that closed
// since others needed their place, and first sightings.
func TestDistinctStreams(t *testing.T) {
	for _, c := range []struct {
		args string
		want string // begins a line
	}{
		{"", "│ 1970-01-02 00:00:00Z to 1970-01-02 01:00:00Z │ src "},
		{"--json", `{"window_start":"1970-01-02T00:00:00.000000000Z","window_end":"1970-01-02T01:00:00.000000000Z","of":"src","family":"ipv4","distinct":1,`},
		{"--quiet --csv -", "1970-01-02T00:00:00.000000000Z,1970-01-02T01:00:00.000000000Z,src,ipv4,1,"},
		{"--list --quiet", "1970-01-09T07:00:00.000000000Z\tsrc\t10.0.0.199\n"},
		{"--list --json", `{"window_start":"1970-01-09T07:00:00.000000000Z","of":"dst","value":"10.0.0.2",`},
	} {
		t.Run(c.args, func(t *testing.T) {
			cmd := program(t, append([]string{"distinct", "-"}, strings.Fields(c.args)...)...)
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }).Stop()
			if _, err := stdin.Write(hourlyPcap(200)); err != nil {
				t.Fatal(err)
			}
			found := false
			lines := bufio.NewReader(stdout)
			for !found && err == nil {
				var line string
				line, err = lines.ReadString('\n')
				found = strings.HasPrefix(line, c.want)
			}
			if !found {
				t.Errorf("no line %q: %v", c.want, err)
			}
			stdin.Close()
			_, _ = io.Copy(io.Discard, lines)
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDistinctWindowName takes the name that --every had.
func TestDistinctWindowName(t *testing.T) {
	for _, span := range [][]string{{"none"}, {"15m"}, {"1h", "--slide", "10m"}} {
		args := []string{"distinct", "--json", "--key", strings.Repeat("07", 32), bundled("router-plain.pcapng")}
		want, errs, code := run(append(append(args, "--every"), span...)...)
		got, _, _ := run(append(append(args, "--window"), span...)...)
		if code != exitDone || errs != "" || got == "" || got != want {
			t.Errorf("%q: exit code %d, stderr %q: %q, want %q", span, code, errs, got, want)
		}
	}
}
