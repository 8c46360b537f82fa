package cli

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
)

// TestProfile checks what --for sets, and that flags count more.
func TestProfile(t *testing.T) {
	type settings struct {
		flow   bool
		strip  string
		ignore flow.Fields
	}
	const sums = flow.L4Checksum
	usual := flow.Ignore{}.Apply(flow.L3)
	for _, c := range []struct {
		line string
		want settings
	}{
		{"--for suricata -w a", settings{true, "vlan", usual | sums}},
		{"--for zeek -w a", settings{true, "", usual | sums}},
		{"--for arkime -w a", settings{true, "", usual}},
		{"--for wireshark -w a", settings{true, "", usual}},
		{"--for suricata --keep first -w a", settings{false, "vlan", usual | sums}},
		{"--for suricata --keep first --strip vlan,mpls -w a", settings{false, "vlan mpls", usual | sums}},
		{"--for suricata --strip mpls -w a", settings{true, "mpls", usual | sums}},
		{"--for suricata --within vlan -w a", settings{true, "", usual | sums}},
		{"--for suricata --ignore tcp-seq -w a", settings{true, "vlan", usual | flow.TCPSeq}},
		{"--for suricata --identity frame -w a", settings{true, "vlan", flow.Ignore{}.Apply(flow.Frame)}},
		{"--for suricata --decap -w a", settings{true, "vlan tunnel", usual | sums}},
		{"--for wireshark --mark -w a.pcapng", settings{true, "", usual}},
		{"--for suricata", settings{false, "", usual | sums}},
		{"--for zeek --prefer first -w a", settings{true, "", usual}},
	} {
		for _, command := range []string{"dedup", "live"} {
			got, err := profiled(t, command, c.line)
			if err != nil {
				t.Errorf("%s %s: %v", command, c.line, err)
				continue
			}
			choice := got.Choice
			if is := (settings{choice.Flow, strings.Join(choice.Strip, " "), got.Identity.Ignore.Apply(got.Identity.Kind)}); is != c.want {
				t.Errorf("%s %s: %+v, want %+v", command, c.line, is, c.want)
			}
		}
	}
}

// TestProfileNone checks that --for none changes nothing.
func TestProfileNone(t *testing.T) {
	for _, command := range []string{"dedup", "live"} {
		for _, line := range []string{"", "-w a", "-w a --mark", "--keep first --strip mpls -w a", "--window none"} {
			want, wantErr := profiled(t, command, line)
			got, err := profiled(t, command, "--for none "+line)
			if (err == nil) != (wantErr == nil) || got.Choice.Flow != want.Choice.Flow || !slices.Equal(got.Choice.Strip, want.Choice.Strip) || got.Identity != want.Identity {
				t.Errorf("%s %s: %+v, %v, want %+v, %v", command, line, got.Choice, err, want.Choice, wantErr)
			}
		}
	}
}

// TestProfileLearn checks that a run that learns what copies are still writes them for its
// reader.
func TestProfileLearn(t *testing.T) {
	got, err := profiled(t, "live", "--learn 1m --for suricata --forward eth9")
	if err != nil || !got.Choice.Flow || !slices.Equal(got.Choice.Strip, []string{"vlan"}) {
		t.Errorf("%+v, %v", got.Choice, err)
	}
}

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
		out, errs, code := run(append([]string{"dedup", in}, wordsOf(c.line)...)...)
		if code != ExitUsage || out != "" || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q, want %q", c.line, code, out, errs, c.want)
		}
	}
	for _, c := range []struct{ line, want string }{
		{"--for suricata --snaplen 96 -w a", "--snaplen 96"},
		{"--for zeek -s 1513 -w a", "--snaplen 1513"},
		{"--for zeek -s 1514 -w a", ""}, {"--for suricata -s 0 -w a", ""}, {"--for wireshark -s 96 -w a", ""},
	} {
		_, err := profiled(t, "live", c.line)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("live %s: %v, want %q", c.line, err, c.want)
		}
	}
}

// flowConfig is what --for can change.
type flowConfig struct {
	Choice   dedup.Choice
	Identity flow.IdentityConfig
}

// profiled returns the configuration of a command line after its check.
func profiled(t *testing.T, command, line string) (c flowConfig, err error) {
	t.Helper()
	if command == "live" {
		f, cmd, err := parseKeepLive(t, line)
		if err != nil {
			return c, err
		}
		d := f.config(cmd).Dedup
		return flowConfig{d.Choice, d.Identity}, nil
	}
	f, cmd := &dedupFlags{}, &cobra.Command{}
	f.register(cmd)
	if err := cmd.ParseFlags(wordsOf(line)); err != nil {
		return c, err
	}
	if err := f.check(cmd, []string{bundled("router-plain.pcapng")}); err != nil {
		return c, err
	}
	d := f.compareFlags.config(cmd, &f.Common)
	f.keepFlags.complete(&d)
	return flowConfig{d.Choice, d.Identity}, nil
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
		if err := json.Unmarshal([]byte(out), &s); code != ExitDone || err != nil {
			t.Fatalf("exit code %d, %v: %s", code, err, errs)
		}
		r := &s.Recommendation
		if !strings.Contains(r.Command, c.want) || r.For != c.reader || r.Keep != "flow" || slices.Contains(r.Strip, "vlan") != (c.reader == "suricata") {
			t.Errorf("%s, %s: %+v", c.reader, c.capture, r)
		}
		words := strings.Fields(r.Command)
		words[slices.Index(words, "-w")+1] = filepath.Join(t.TempDir(), "clean.pcapng")
		if _, errs, code := run(words[1:]...); code != ExitDone {
			t.Errorf("%s: exit code %d: %s", r.Command, code, errs)
		}
	}
}

// TestInspectFor checks that --for of inspect still takes a duration.
func TestInspectFor(t *testing.T) {
	f, cmd := &inspectFlags{}, &cobra.Command{}
	f.register(cmd)
	if err := cmd.ParseFlags([]string{"-i", "lo", "--for", "7s"}); err != nil || f.length != 7*time.Second || f.reader.isSet() {
		t.Errorf("%v, %v, %+v", err, f.length, f.reader)
	}
	if _, errs, code := run("inspect", bundled("router-plain.pcapng"), "--for", "1m"); code != ExitUsage || !strings.Contains(errs, "-i") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// TestLiveWindow checks the default window: longer where the host gives the times.
func TestLiveWindow(t *testing.T) {
	for _, c := range []struct {
		line string
		want time.Duration
	}{
		{"", 10 * time.Millisecond}, {"--hardware-time", 10 * time.Millisecond}, {"--window 1ms", time.Millisecond},
		{"--window 50ms --hardware-time", 50 * time.Millisecond},
	} {
		f, _, err := parseKeepLive(t, c.line)
		if err != nil || f.window.Duration != c.want {
			t.Errorf("%s: %v, %v, want %v", c.line, f.window, err, c.want)
		}
	}
	f := &liveFlags{}
	f.Conf.Interfaces, f.Conf.HardwareTime = []string{"eth0", "eth1"}, true
	card := func(name string) bool { return name != "eth1" }
	if f.cardTimes(card) {
		t.Error("eth1 has no times of its card")
	}
	f.Conf.Interfaces = []string{"eth0"}
	if !f.cardTimes(card) {
		t.Error("eth0 has times of its card")
	}
	if f.Conf.HardwareTime = false; f.cardTimes(card) {
		t.Error("times of the card were not asked for")
	}
}
