// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/match"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// inspection has the results of other policies, and recommends a policy.
type inspection struct {
	// OneToOne counts the copies that match one to one, with equal packets and bytes.
	OneToOne uint64 `json:"one_to_one"`
	// Reversed counts records, in addition to the copies, that report the other direction of a
	// flow.
	Reversed uint64 `json:"reversed"`
	// Same are more copies if each input is a point of its own, Directions, Interfaces and
	// Observations if each direction, ingress interface or observation point of an exporter is.
	Same         uint64 `json:"same_exporter"`
	Directions   uint64 `json:"other_direction"`
	Interfaces   uint64 `json:"other_interface"`
	Observations uint64 `json:"other_observation_point"`

	Verdict string   `json:"verdict"`
	Policy  policy   `json:"recommended_policy,omitempty"` // "" for none
	Because []string `json:"reasons"`
	Command string   `json:"command,omitempty"`
}

// question asks a further judge how many copies there are with other settings.
type question int

const (
	oneToOne question = iota
	reversed
	sameExporter
	otherDirection
	otherInterface
	otherObservation
	questions
)

// settings change the run's settings for each question.
var settings = [questions]func(*match.Config){
	oneToOne:         func(c *match.Config) { c.Pairs = &match.Deltas{Start: time.Second, Duration: time.Second} },
	reversed:         func(c *match.Config) { c.Key.Biflow = true },
	sameExporter:     func(c *match.Config) { c.Points = match.Same },
	otherDirection:   func(c *match.Config) { c.Points = match.Direction },
	otherInterface:   func(c *match.Config) { c.Points = match.Interface },
	otherObservation: func(c *match.Config) { c.Points = match.Observation },
}

// inspector has judges in addition to the run's own. Only records with an observation point need
// the last.
type inspector struct {
	judges   []*match.Judge // by question
	observes bool
}

// newInspector makes judges that take this memory together.
func newInspector(cfg match.Config, memory int) (*inspector, error) {
	i := new(inspector)
	for _, set := range settings {
		one := cfg
		one.Memory = memory / int(questions)
		set(&one)
		judge, err := match.New(one)
		if err != nil {
			return nil, errors.Join(err, i.close())
		}
		i.judges = append(i.judges, judge)
	}
	return i, nil
}

func (i *inspector) take(b *records.Batch) {
	i.observes = i.observes || slices.ContainsFunc(b.Records, func(r records.Record) bool { return r.Observation != 0 })
	for n, judge := range i.judges {
		if question(n) != otherObservation || i.observes {
			judge.Judge(b)
		}
	}
}

// close closes the judges that were made.
func (i *inspector) close() error {
	var errs []error
	for _, judge := range i.judges {
		errs = append(errs, judge.Close())
	}
	return errors.Join(errs...)
}

const (
	// fewCopies is the share of records up to which chance may make copies.
	fewCopies = 0.005
	// mostOneToOne is the share of copies from which records match one to one.
	mostOneToOne = 0.98
)

// answer puts the findings into words.
func (i *inspector) answer(cfg *config, s *summary) *inspection {
	copies := func(q question) uint64 { return i.judges[q].Counts().Copies }
	more := func(q question) uint64 { return max(copies(q), s.Copies) - s.Copies }
	a := &inspection{
		OneToOne: copies(oneToOne), Reversed: more(reversed), Same: more(sameExporter), Directions: more(otherDirection),
		Interfaces: more(otherInterface), Observations: more(otherObservation), Because: []string{},
	}
	because := func(format string, args ...any) { a.Because = append(a.Because, fmt.Sprintf(format, args...)) }
	switch {
	case s.RecordsIn == 0:
		a.Verdict = "there are no records"
		return a
	case len(cfg.Inputs) > 1 && float64(a.Same) > fewCopies*float64(s.RecordsIn):
		a.Verdict = fmt.Sprintf("%.1f %% of the records are of an exporter that is in another input, too: several collectors stored it", 100*float64(a.Same)/float64(s.RecordsIn))
		a.Policy, a.Command = byOwner, command(cfg, without(cfg.Flags, "point"), "--point", "same")
		because("--point same makes each input a point of its own: what an exporter sent to several collectors counts once")
		return a
	case float64(max(a.Directions, a.Interfaces, a.Observations)) > fewCopies*float64(s.RecordsIn):
		point, what, n := match.Direction, "direction", a.Directions
		if a.Interfaces > n {
			point, what, n = match.Interface, "ingress interface", a.Interfaces
		}
		if a.Observations > n {
			point, what, n = match.Observation, "observation point", a.Observations
		}
		a.Verdict = fmt.Sprintf("%.1f %% of the records report what the same exporter reported before for another %s", 100*float64(n)/float64(s.RecordsIn), what)
		a.Policy, a.Command = byOwner, command(cfg, without(cfg.Flags, "point"), "--point", point.String())
		because("--point %s makes each %s of an exporter a point of its own, so that each flow counts once", point, what)
		return a
	case len(s.Points) == 1:
		a.Verdict = "one point reports all flows, and none of them for two directions, interfaces or observation points"
		because("copies are between points: exporters with another address or observation domain, or inputs whose records name no exporter")
		because("exporters on one host with equal domains are one point: give each its own domain, or an input of its own with --point same")
		return a
	case float64(s.Copies) <= fewCopies*float64(s.RecordsIn):
		a.Verdict = "hardly any record reports what another point reported before"
	default:
		a.Verdict = fmt.Sprintf("%.1f %% of the records report what another point reported before: traffic counts %.2f times",
			100*float64(s.Copies)/float64(s.RecordsIn), float64(s.BytesIn)/max(1, float64(s.BytesIn-s.CopiedBytes)))
		a.Policy, a.Command = byOwner, command(cfg, cfg.Flags)
		because("owner needs no equal records, and follows flows that change their path")
		if float64(a.OneToOne) >= mostOneToOne*float64(s.Copies) {
			because("record would do as well: copies have the packets and bytes of their originals")
		}
	}
	if s.Sampled > 0 {
		a.Policy, a.Command = "", command(cfg, cfg.Flags, "--boundary", "edges.txt")
		because("%d %s of sampled packets: matching is wrong for these, so list the external interfaces in a file for --boundary", s.Sampled, show.Word(s.Sampled, "record is", "records are"))
	}
	if float64(a.Reversed) > fewCopies*float64(s.RecordsIn) {
		because("%d more report the other direction of a flow: use --flow-key biflow if these exporters report both directions in one record, and not if each sees one direction", a.Reversed)
	}
	return a
}

// repeated returns the flags that the recommended command needs, too.
func repeated(fs *pflag.FlagSet) (words []string) {
	fs.Visit(func(g *pflag.Flag) {
		switch g.Name {
		case "format", "map", "time-format", "inner", "tunnel", "flow-key", "point", "nat", "prefer", "owner-timeout", "memory":
			words = append(words, "--"+g.Name+"="+g.Value.String())
		}
	})
	return words
}

// command returns the command to run, with flags of this run and others: on the same inputs, or
// between exporters and a collector.
func command(cfg *config, flags []string, others ...string) string {
	words := []string{"flowdedup", "flows"}
	for _, at := range cfg.Listen {
		words = append(words, "--listen", strings.TrimPrefix(at.String(), "[::]"))
	}
	for _, at := range cfg.Streams {
		words = append(words, "--listen", at.String())
	}
	words = slices.Concat(show.AppendInputs(words, cfg.Inputs), flags, others)
	if cfg.live() {
		words = append(words, "--to", "udp://COLLECTOR:2055")
	} else {
		words = append(words, "-w", "once.ndjson")
	}
	return show.CommandLine(words)
}

// without returns the flags except the flag of that name.
func without(flags []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(flags), func(flag string) bool { return strings.HasPrefix(flag, "--"+name+"=") })
}
