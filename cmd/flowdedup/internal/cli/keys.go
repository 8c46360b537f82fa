package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// keyFlags say which distinct keys to count, and in which windows.
type keyFlags struct {
	of           []flow.KeyKind
	every        time.Duration
	location     *time.Location
	mask4, mask6 int
	vlan         bool
}

// register adds the flags; of is the default of --of.
func (f *keyFlags) register(fs *pflag.FlagSet, of ...flow.KeyKind) {
	f.of = of
	var words []string
	for _, one := range of {
		words = append(words, one.String())
	}
	fs.Var(newParsed(&f.of, strings.Join(words, ","), "keys", parseKeys), "of", "what to count: src, dst, ip, pair, flow, biflow, mac")
	f.every = time.Hour
	fs.Var(newParsed(&f.every, "1h", "duration", parseEvery), "every", "window of counts: 15m, 1h, 1d")
	f.location = time.UTC
	fs.Var(newParsed(&f.location, "UTC", "zone", parseZone), "tz", "time zone of windows: Europe/Berlin")
	fs.IntVar(&f.mask4, "mask4", 32, "count IPv4 prefixes of `N` bits")
	fs.IntVar(&f.mask6, "mask6", 128, "count IPv6 prefixes of `N` bits")
	fs.BoolVar(&f.vlan, "vlan", false, "count keys of each VLAN apart")
	groupCount.add(fs, "of", "every", "tz", "mask4", "mask6", "vlan")
}

func completeKeys(cmd *cobra.Command) {
	completeWords(cmd, map[string][]string{
		"of":    {"src", "dst", "ip", "pair", "flow", "biflow", "mac"},
		"every": {"1m", "15m", "1h", "1d"}, "tz": {"UTC", "Local"},
	})
}

func (f *keyFlags) check() error {
	switch {
	case f.mask4 < 1 || f.mask4 > 32:
		return &usageError{errors.New("--mask4 must be from 1 to 32")}
	case f.mask6 < 1 || f.mask6 > 128:
		return &usageError{errors.New("--mask6 must be from 1 to 128")}
	}
	return nil
}

func (f *keyFlags) keys() []flow.KeyConfig {
	var keys []flow.KeyConfig
	for _, of := range f.of {
		keys = append(keys, flow.KeyConfig{Kind: of, Mask4: f.mask4, Mask6: f.mask6, VLAN: f.vlan})
	}
	return keys
}

func (f *keyFlags) calendar() calendar.Calendar {
	return calendar.Calendar{Every: f.every, Location: f.location}
}

func parseKeys(s string) ([]flow.KeyKind, error) {
	var out []flow.KeyKind
	seen := map[flow.KeyKind]bool{}
	for word := range strings.SplitSeq(s, ",") {
		of, err := flow.ParseKeyKind(strings.TrimSpace(word))
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

func parseZone(s string) (*time.Location, error) {
	loc, err := time.LoadLocation(s)
	if err != nil || s == "" {
		return nil, errors.New("must be a time zone such as UTC, Local or Europe/Berlin")
	}
	return loc, nil
}
