package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/report"
	"github.com/flowdedup/flowdedup/engine"
)

// dedupFlags are the flags of "flowdedup dedup".
type dedupFlags struct {
	common
	output, duplicates string
	rotate             rotateFlags
	window             engine.Window
	identity           flow.Kind
	identityBytes      int
	ignore             flow.Mask
	digest             string
	across, refresh    bool
}

func newDedup(e *env) *cobra.Command {
	f := &dedupFlags{}
	cmd := &cobra.Command{
		Use:   "dedup [flags] INPUT...",
		Short: "Remove duplicate packets from captures",
		Long: `Remove duplicate packets from pcap and pcapng captures, plain or compressed
(gzip, zstd, lz4); - is standard input or output. Without -w packets are only
counted. Several inputs are merged in time order.

A packet is a duplicate when the latest kept packet of equal identity lies
within the window, before or after it. Removed packets do not extend the
window (--refresh lets them), so nothing is silenced for ever.

Identities:
  l3     from the outermost IP header on, without TTL or hop limit, DSCP, ECN
         and IPv4 header checksum: copies seen on another VLAN or behind a
         router are found. Frames without IP are compared as a whole.
  frame  the whole frame with its original length
  inner  like l3, after opening GRE, ERSPAN, VXLAN, GENEVE, GTP-U, IP-in-IP

The output keeps the input's format, and in pcapng every block and option.
With --rotate-size or --rotate-every it is several files with the time of their
first packet in their names, each of which can be read alone.`,
		Example: `  # what a SPAN port delivered twice; count only
  flowdedup dedup span.pcap

  # write the survivors and the removed packets
  flowdedup dedup span.pcapng -w clean.pcapng --duplicates copies.pcapng

  # the last day of a long capture, an hour a file
  flowdedup dedup - -w clean.pcapng --rotate-every 1h --rotate-keep 24

  # two taps of one link: only a packet from the other tap is a copy
  flowdedup dedup --across --window 50ms tap-a.pcap tap-b.pcap -w link.pcapng

  # in a pipe
  zcat big.pcap.gz | flowdedup dedup - -w - | zeek -r -`,
		Args: inputsRequired,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, e, args) },
	}
	f.register(cmd)
	return cmd
}

func (f *dedupFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVarP(&f.output, "write", "w", "", "write the packets kept to `FILE`, - for standard output")
	fs.StringVar(&f.duplicates, "duplicates", "", "write the packets removed to `FILE`")
	f.rotate.register(fs)
	f.window = engine.Window{Duration: engine.DefaultWindow}
	fs.Var(newParsed(&f.window, "1ms", "window", engine.ParseWindow), "window", "a duration, n:1000 packets, or none for the whole input")
	f.identity = flow.L3
	fs.Var(newParsed(&f.identity, "l3", "kind", flow.ParseKind), "identity", "what makes packets equal: frame, l3, inner")
	fs.IntVar(&f.identityBytes, "identity-bytes", 0, "compare only the first `N` bytes of the identity (0: all)")
	fs.Var(newParsed(&f.ignore, "", "fields", flow.ParseMask), "ignore", "leave more out: "+flow.FieldNames()+"; none leaves nothing out")
	fs.BoolVar(&f.across, "across", false, "only a packet seen on another interface or in another input is a copy")
	fs.BoolVar(&f.refresh, "refresh", false, "let removed packets extend the window")
	fs.Var(newParsed(&f.digest, "aes", "name", oneOf("aes", "highway")), "digest", "keyed digest of the identity: aes, highway")
	f.digest = "aes"
	methods := append([]string{"auto", "timed", "exact"}, engine.StreamMethods()...)
	f.common.register(fs, methods...)
	completeWords(cmd, map[string][]string{
		"identity": {"frame", "l3", "inner"}, "digest": {"aes", "highway"},
		"method": methods, "window": {"1ms", "100ms", "1s", "n:1000000", "none"},
		"memory": {"l1", "l2", "l3", "64MiB", "1GiB"},
	})
}

func (f *dedupFlags) check() error {
	switch {
	case f.identityBytes < 0:
		return &usageError{errors.New("--identity-bytes must not be negative")}
	case capture.SameOutput(f.output, f.duplicates):
		return &usageError{errors.New("-w and --duplicates name the same file")}
	case f.method == "exact" && f.memory != 0:
		return &usageError{errors.New("--memory has no meaning with --method exact, which takes what it needs")}
	}
	if err := f.rotate.check(f.output, f.duplicates); err != nil {
		return err
	}
	return f.checkStream()
}

// checkStream refuses what methods without a window cannot do.
func (f *dedupFlags) checkStream() error {
	switch {
	case !engine.IsStreamMethod(f.method):
		return nil
	case !f.window.None:
		return &usageError{fmt.Errorf("--method %s remembers recent packets without a window: it needs --window none", f.method)}
	case f.across || f.refresh:
		return &usageError{fmt.Errorf("--method %s knows neither where nor when packets were seen: it takes no --across and no --refresh", f.method)}
	}
	return nil
}

func (f *dedupFlags) run(cmd *cobra.Command, e *env, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	if err := f.finish(cmd.Flags()); err != nil {
		return err
	}
	e.quiet = f.quiet
	if !cmd.Flags().Changed("fpr") {
		f.fpr = 0 // what the method takes
	}
	bar := newProgress(e, &f.common)
	defer bar.close()
	summary, err := dedup.Run(cmd.Context(), dedup.Config{
		Inputs: args, Input: f.inputs(e, bar), Output: f.output, Duplicates: f.duplicates, Rotate: f.rotate.options(),
		Identity: flow.IdentityConfig{Kind: f.identity, Ignore: f.ignore.Apply(f.identity), Bytes: f.identityBytes},
		Digest:   f.digest, Secret: f.secret, Method: f.method, Window: f.window, Memory: f.memory,
		FPR: f.fpr, Refresh: f.refresh, Across: f.across, Workers: f.workers,
	})
	bar.close()
	f.warnForgotten(e, &summary)
	return errors.Join(judge(err, summary.PacketsIn, summary.Damaged), f.lost(err), f.print(e, &summary, err))
}

// lost tells of an output that went with another one whose reader left early:
// that is no failure unless the run had more to do.
func (f *dedupFlags) lost(err error) error {
	if f.output == "" || f.duplicates == "" || !errors.Is(err, dedup.ErrOutput) || !errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return fmt.Errorf("-w %s and --duplicates %s are not complete: the reader of one of them left", f.output, f.duplicates)
}

// warnForgotten tells what was forgotten, and how much memory would have been enough.
func (f *dedupFlags) warnForgotten(e *env, s *dedup.Summary) {
	switch {
	case s.EvictedLive > 0 && s.SuggestedMemory == 0:
		e.warn(fmt.Errorf("%d packets were forgotten for newer ones, so duplicates may remain", s.EvictedLive))
	case s.EvictedLive > 0:
		e.warn(fmt.Errorf("%d packets were forgotten before their window ended, so duplicates may remain: use --memory %s or more",
			s.EvictedLive, report.Size(s.SuggestedMemory)))
	}
	if s.SkippedBlocks > 0 {
		e.warn(fmt.Errorf("%d pcapng blocks could not be carried over into the merged output", s.SkippedBlocks))
	}
}

// print writes the summary where the packets do not go. Nothing is printed for
// a run that ended before it read anything, or could not write what it read.
func (f *dedupFlags) print(e *env, s *dedup.Summary, err error) error {
	nothingRead := s.PacketsIn == 0 && err != nil && !errors.Is(err, context.Canceled)
	if s.Method == "" || nothingRead || errors.Is(err, dedup.ErrOutput) {
		return nil
	}
	w := e.stdout
	if capture.IsStdout(f.output) || capture.IsStdout(f.duplicates) {
		w = e.stderr
	}
	return f.printTo(w, s)
}

func (f *dedupFlags) printTo(w io.Writer, s *dedup.Summary) error {
	switch {
	case f.json:
		return report.DedupJSON(w, s)
	case f.quiet:
		return nil
	}
	return report.DedupText(w, s, f.output != "")
}
