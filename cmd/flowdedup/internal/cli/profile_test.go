package cli_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
)

// TestProfileRefused checks that flags which would make a reader blind are wrong usage, and
// that the error names the flag and the reader.
func TestProfileRefused(t *testing.T) {
	in := bundled("router-plain.pcapng")
	for _, c := range []struct{ line, want string }{
		{"--for snort -w a", "must be one of suricata, zeek, arkime, wireshark, none"},
		{"--for zek -w a", "did you mean zeek?"},
		{"--for suricata --keep first --strip mpls -w a", "--for suricata: --keep first"},
		{"--for suricata --mark -w a.pcapng", "--for suricata: --mark"},
		{"--for zeek --mark -w a.pcapng", "--for zeek: --mark"},
		{"--for arkime --mark -w a.pcapng", "--for arkime: --mark"},
		{"--for arkime --window none -w a", "--for arkime: --window none"},
		{"--for zeek --refresh -w a", "--for zeek: --refresh"},
		{"--for zeek --ignore l4-checksum --prefer first -w a", "--for zeek: --prefer first"},
	} {
		out, errs, code := run(append([]string{"dedup", in}, cli.WordsOf(c.line)...)...)
		if code != exitUsage || out != "" || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q, want %q", c.line, code, out, errs, c.want)
		}
	}
}

// TestProfileInspect checks that the recommended command is for the reader.
func TestProfileInspect(t *testing.T) {
	for _, c := range []struct{ reader, capture, want string }{
		{"suricata", "router-ordered.pcapng", "--identity l3 --window 1ms --for suricata -w"},
		{"wireshark", "router-ordered.pcapng", "--identity l3 --window 1ms --for wireshark -w"},
		{"zeek", "mirror-vxlan.pcap", "--identity inner --window 1ms --for zeek "},
		{"arkime", "mirror-vxlan.pcap", "--identity inner --window 1ms --ignore l4-checksum --for arkime "},
	} {
		out, errs, code := run("inspect", "--json", "--for", c.reader, bundled(c.capture))
		var s struct {
			Recommendation struct {
				For, Keep, Command string
				Strip, Ignore      []string
			}
		}
		if err := json.Unmarshal([]byte(out), &s); code != exitDone || err != nil {
			t.Fatalf("exit code %d, %v: %s", code, err, errs)
		}
		r := &s.Recommendation
		if !strings.Contains(r.Command, c.want) || r.For != c.reader || r.Keep != "flow" || slices.Contains(r.Strip, "vlan") != (c.reader == "suricata") {
			t.Errorf("%s, %s: %+v", c.reader, c.capture, r)
		}
		words := strings.Fields(r.Command)
		words[slices.Index(words, "-w")+1] = filepath.Join(t.TempDir(), "clean.pcapng")
		if _, errs, code := run(words[1:]...); code != exitDone {
			t.Errorf("%s: exit code %d: %s", r.Command, code, errs)
		}
	}
}

// TestInspectForCaptures checks that captures have no duration.
func TestInspectForCaptures(t *testing.T) {
	if _, errs, code := run("inspect", bundled("router-plain.pcapng"), "--for", "1m"); code != exitUsage || !strings.Contains(errs, "-i") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
