// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/keys"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/help"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/distinct/top"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
	"github.com/flowdedup/flowdedup/engine/window"
)

// KeyFlags define which distinct keys are counted, and in which windows.
type KeyFlags struct {
	Of           []keys.Kind
	Every        time.Duration
	location     *time.Location
	mask4, mask6 int
	vlan         bool
}

// MaxSlidingSpan is the longest sliding window, as in sliding.Rows.
const MaxSlidingSpan = 366 * day

// Keys that are counted: of packets, and of flow records, which have no hardware addresses.
var (
	KeysOfPackets = []string{"src", "dst", "ip", "pair", "flow", "biflow", "mac"}
	KeysOfRecords = KeysOfPackets[:6]
)

// Flags returns the flags; all are the values of --of, and of its default.
func (f *KeyFlags) Flags(all []string, of ...keys.Kind) []Flag {
	f.Of, f.location, f.mask4, f.mask6 = of, time.UTC, 32, 128
	var words []string
	for _, one := range of {
		words = append(words, one.String())
	}
	return []Flag{
		{Name: "of", Group: GroupCount, To: NewList(&f.Of, strings.Join(words, ","), "keys", parseKeys), Words: all, Help: "what to count: " + strings.Join(all, ", ")},
		{Name: "every", Group: GroupCount, To: NewParsed(&f.Every, "1h", "duration", ParseEvery), Words: []string{"1m", "15m", "1h", "1d"}, Help: "window of counts: 15m, 1h, 1d"},
		ZoneFlag(&f.location, GroupCount, "windows"),
		{Name: "mask4", Group: GroupCount, To: &f.mask4, Help: "count IPv4 prefixes of `N` bits"},
		{Name: "mask6", Group: GroupCount, To: &f.mask6, Help: "count IPv6 prefixes of `N` bits"},
		{Name: "vlan", Group: GroupCount, To: &f.vlan, Help: "count each VLAN on its own"},
	}
}

// Check rejects masks that no address has.
func (f *KeyFlags) Check() error {
	switch {
	case f.mask4 < 1 || f.mask4 > 32:
		return Usagef("--mask4 must be from 1 to 32")
	case f.mask6 < 1 || f.mask6 > 128:
		return Usagef("--mask6 must be from 1 to 128")
	}
	return nil
}

// Counted returns the keys to count.
func (f *KeyFlags) Counted() []keys.Config {
	var all []keys.Config
	for _, of := range f.Of {
		all = append(all, keys.Config{Kind: of, Mask4: f.mask4, Mask6: f.mask6, VLAN: f.vlan})
	}
	return all
}

// Calendar returns the windows.
func (f *KeyFlags) Calendar() calendar.Calendar {
	return calendar.Calendar{Every: f.Every, Location: f.location}
}

func parseKeys(s string) ([]keys.Kind, error) {
	var out []keys.Kind
	seen := map[keys.Kind]bool{}
	for word := range strings.SplitSeq(s, ",") {
		of, err := keys.ParseKind(strings.TrimSpace(word))
		if err != nil {
			return nil, err
		}
		if seen[of] {
			return nil, fmt.Errorf("%s is named twice", word)
		}
		seen[of] = true
		out = append(out, of)
	}
	return out, nil
}

// ZoneFlag returns the flag --tz. what is the thing that has the time zone.
func ZoneFlag(to **time.Location, group help.Group, what string) Flag {
	return Flag{Name: "tz", Group: group, To: NewShown(to, "UTC", "zone", parseZone), Words: []string{"UTC", "Local"}, Help: "time zone of " + what + ": Europe/Berlin"}
}

// CheckZone rejects --tz without a landmark window, --from or --to.
func CheckZone(flags *pflag.FlagSet, w window.Window) error {
	if flags.Changed("tz") && !w.Landmark && !flags.Changed("from") && !flags.Changed("to") {
		return Usagef("--tz is the time zone of landmark windows, --from and --to: it needs --window landmark:1d or the like")
	}
	return nil
}

// parseZone reads a time zone: also local, utc and europe/berlin.
func parseZone(s string) (*time.Location, error) {
	before := ' '
	title := strings.Map(func(r rune) rune {
		if !unicode.IsLetter(before) {
			r = unicode.ToUpper(r)
		}
		before = r
		return r
	}, strings.ToLower(s))
	for _, name := range []string{s, strings.ToUpper(s), title} {
		if loc, err := time.LoadLocation(name); err == nil && s != "" {
			return loc, nil
		}
	}
	return nil, errors.New("must be a time zone such as UTC, Local or Europe/Berlin")
}

// SaveFlags say where counters are saved.
type SaveFlags struct {
	To, Sensor string
	SetLimit   float64 // 0 for none
}

// Flags returns the flags. what is the name of --save's value, needs are further rules for it.
func (s *SaveFlags) Flags(what string, needs ...string) []Flag {
	needs = append(needs, "key hub merge: all sensors need the same key: --key $(openssl rand -hex 32), once")
	return []Flag{
		{Name: "save", Group: GroupOutput, To: &s.To, Needs: needs, Not: []string{"every=none: it needs several windows: --every 1h, not none"}, Help: "save the counters of each window to `" + what + "`, for distinct --merge; needs --key"},
		{Name: "sensor", Group: GroupOutput, To: NewParsed(&s.Sensor, "", "name", parseSensor), Needs: []string{"save: it names this sensor in those files"}, Not: []string{"hub: files of --save are named after the site"}, Help: "`NAME` of this sensor in files of --save"},
		{Name: "set-limit", Group: GroupAdvanced, To: NewParsed(&s.SetLimit, "", "N", ParseAmount), Help: "remember at most this many keys of a window: 10M; beyond, estimate in 16 KiB"},
	}
}

// isSensor reports whether s is the name of a sensor, which is a part of names of files.
func isSensor(s string) bool {
	const most, letters = 64, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	return s != "" && len(s) <= most && strings.Contains(letters, s[:1]) && strings.Trim(s, letters+"._-") == ""
}

// parseSensor reads the name of a sensor.
func parseSensor(s string) (string, error) {
	if !isSensor(s) {
		return "", errors.New("must be up to 64 letters, digits, dots, dashes and underscores")
	}
	return s, nil
}

// Check rejects outputs that cannot hold a file of counts.
func (s *SaveFlags) Check() error {
	if outfile.IsStdout(s.To) {
		return Usagef("--save needs a file, as --merge reads it in several places")
	}
	return nil
}

// CheckFolder is Check for a folder that gets a file for each window. The run makes it.
func (s *SaveFlags) CheckFolder() error {
	if info, err := os.Stat(s.To); s.To != "" && err == nil && !info.IsDir() {
		return Usagef("--save: %s is no folder: name one, for one file a window", s.To)
	}
	return s.Check()
}

// HostSensor returns the name of this host as the name of a sensor.
func HostSensor() string {
	name, err := os.Hostname()
	if err != nil || !isSensor(name) {
		return "sensor"
	}
	return name
}

// TopFlags define rankings of the elements that are counted.
type TopFlags struct {
	n  int
	by string
}

// mostTop is the longest ranking.
const mostTop = 1000

// topBy are the names of what rankings are by.
var topBy = []string{top.Packets: "packets", top.Bytes: "bytes"}

// Flags returns the flags. of says what has rankings, not which flags have none, as Flag.Not does.
func (f *TopFlags) Flags(of string, needs []string, not ...string) []Flag {
	return []Flag{
		{Name: "top", Group: GroupCount, To: NewParsed(&f.n, "", "N", parseTop), Words: []string{"10"}, Needs: needs, Not: not, Help: "also print the `N` elements with the most packets, of " + of},
		{Name: "top-by", Group: GroupCount, To: NewParsed(&f.by, topBy[top.Packets], "what", OneOf(topBy...)), Words: topBy, Needs: []string{"top"}, Help: "what --top ranks by: packets, bytes"},
	}
}

// Given reports whether rankings are wanted.
func (f *TopFlags) Given() bool { return f.n > 0 }

// Complete adds the rankings to what is counted.
func (f *TopFlags) Complete(cfg *windows.Config) {
	cfg.Top, cfg.TopBy = f.n, top.By(slices.Index(topBy, f.by))
}

func parseTop(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > mostTop {
		return 0, fmt.Errorf("must be from 1 to %d", mostTop)
	}
	return n, nil
}
