// SPDX-License-Identifier: Apache-2.0

package live

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
)

// TestProfile checks what --for sets, and that flags count more.
func TestProfile(t *testing.T) {
	type settings struct {
		flow   bool
		strip  string
		ignore identity.Fields
	}
	const sums = identity.L4Checksum
	usual := identity.Ignore{}.Apply(identity.L3)
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
		{"--for suricata --ignore tcp-seq -w a", settings{true, "vlan", usual | identity.TCPSeq}},
		{"--for suricata --identity frame -w a", settings{true, "vlan", identity.Ignore{}.Apply(identity.Frame)}},
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
		if err != nil || f.Window.Duration != c.want {
			t.Errorf("%s: %v, %v, want %v", c.line, f.Window, err, c.want)
		}
	}
	f := &flags{}
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
	d, err := dedupConfig(wordsOf(line))
	return flowConfig{d.Choice, d.Identity}, err
}

// dedupConfig returns the configuration of a command line of dedup, which has the same groups
// of flags.
func dedupConfig(words []string) (d dedup.Config, err error) {
	var (
		c       cli.Common
		compare dedup.CompareFlags
		keep    dedup.KeepFlags
		reader  dedup.ForFlag
		output  string
	)
	cmd := &cobra.Command{}
	fs := cmd.Flags()
	fs.StringVarP(&output, "write", "w", "", "")
	cli.Define(cmd, compare.Flags(), keep.Flags(), []cli.Flag{reader.Flag()}, c.MethodFlags(dedup.UsualMethods))
	if err := cmd.ParseFlags(words); err != nil {
		return d, err
	}
	if err := errors.Join(reader.Apply(fs, &compare, &keep, output != ""),
		compare.Check(cmd, &c), keep.Check(fs, &compare, output, false)); err != nil {
		return d, err
	}
	d = compare.Config(cmd, &c)
	keep.Complete(&d)
	return d, nil
}

// flowConfig is what --for can change.
type flowConfig struct {
	Choice   dedup.Choice
	Identity identity.Config
}

// TestProfileCuts checks that cutting packets is wrong usage for a reader of whole ones.
func TestProfileCuts(t *testing.T) {
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
