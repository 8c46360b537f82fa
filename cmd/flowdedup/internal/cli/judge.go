package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/engine/stream"
	"github.com/flowdedup/flowdedup/engine/window"
)

// judgeFlags say what makes a packet a copy.
type judgeFlags struct {
	window          window.Window
	identity        flow.IdentityKind
	identityBytes   int
	ignore          flow.Ignore
	digest          string
	across, refresh bool
	params          dedup.Params
}

// usualMethods are those of a filter of packets for traffic; measuringMethods are there to
// be measured.
var usualMethods = []string{"auto", "timed", "exact"}

func measuringMethods() []string { return append(stream.Methods(), dedup.MethodTimers) }

func (f *judgeFlags) register(fs *pflag.FlagSet) {
	f.window = window.Window{Duration: window.Default}
	fs.Var(newParsed(&f.window, "1ms", "window", parseWindow), "window", "largest distance of copies: 1ms, n:1000, none")
	f.identity = flow.L3
	fs.Var(newParsed(&f.identity, "l3", "kind", flow.ParseIdentityKind), "identity", "what makes packets equal: frame, l3, inner")
	fs.IntVar(&f.identityBytes, "identity-bytes", 0, "compare only the first `N` bytes of the identity (0: all)")
	fs.Var(newParsed(&f.ignore, "", "fields", flow.ParseIgnore), "ignore", "additional fields to ignore: "+flow.FieldNames()+"; none: compare all")
	fs.BoolVar(&f.across, "across", false, "only packets of another interface or input are copies")
	fs.BoolVar(&f.refresh, "refresh", false, "removed packets extend the window")
	fs.Var(newParsed(&f.digest, "aes", "name", oneOf("aes", "highway")), "digest", "keyed digest of the identity: aes, highway")
	f.digest = "aes"
	fs.Var(newParsed(&f.params, "", "names", dedup.ParseParams), "param", "parameters of a method for measurements, as plan prints them: K=3,P=10,Max=3")
	groupCompare.add(fs, "window", "identity", "ignore", "across")
	groupAdvanced.add(fs, "identity-bytes", "refresh", "digest", "param")
}

// completeJudging lets the shell complete the values of these flags and those of
// filters.
func completeJudging(cmd *cobra.Command) {
	completeWords(cmd, map[string][]string{
		"identity": {"frame", "l3", "inner"}, "digest": {"aes", "highway"},
		"ignore": append(strings.Split(flow.FieldNames(), ", "), "none"),
		"method": slices.Concat(usualMethods, measuringMethods()), "window": {"1ms", "100ms", "1s", "n:1000000", "none"},
		"memory": {"l1", "l2", "l3", "64MiB", "1GiB"},
	})
}

func (f *judgeFlags) check(cmd *cobra.Command, c *common) error {
	switch {
	case f.identityBytes < 0:
		return &usageError{errors.New("--identity-bytes must not be negative")}
	case c.method == "exact" && c.memory != 0:
		return &usageError{errors.New("--memory has no meaning with --method exact, which takes what it needs")}
	}
	if err := f.checkMeasuring(cmd, c.method); err != nil {
		return &usageError{err}
	}
	cfg := f.config(cmd, c)
	if err := cfg.CheckMethod(); err != nil {
		return &usageError{fmt.Errorf("--method %s: %w", c.method, err)}
	}
	return nil
}

// checkMeasuring refuses what methods for measurements cannot do.
func (f *judgeFlags) checkMeasuring(cmd *cobra.Command, method string) error {
	stream, timers := stream.IsMethod(method), method == dedup.MethodTimers
	switch {
	case stream && !f.window.None:
		return fmt.Errorf("--method %s remembers recent packets without a window: it needs --window none", method)
	case stream && (f.across || f.refresh):
		return fmt.Errorf("--method %s knows neither where nor when packets were seen: it takes no --across and no --refresh", method)
	case timers && f.window.None:
		return fmt.Errorf("--method %s needs a window of time or of packets: --window 1ms or n:1000", method)
	case timers && f.across:
		return fmt.Errorf("--method %s does not know where packets were seen: it takes no --across", method)
	case timers && cmd.Flags().Changed("fpr"):
		return fmt.Errorf("--method %s keeps no rate of false positives: it follows from --memory, --param and the traffic", method)
	}
	return nil
}

// config returns what the filter is to be; the rate of false positives is the method's
// own choice unless it was asked for.
func (f *judgeFlags) config(cmd *cobra.Command, c *common) dedup.Config {
	fpr := 0.0
	if cmd.Flags().Changed("fpr") {
		fpr = c.fpr
	}
	return dedup.Config{
		Identity: flow.IdentityConfig{Kind: f.identity, Ignore: f.ignore, Bytes: f.identityBytes},
		Digest:   f.digest, Secret: c.secret, Method: c.method, Params: f.params, Window: f.window, Memory: c.memory,
		FPR: fpr, Refresh: f.refresh, Across: f.across, Workers: c.workers,
	}
}
