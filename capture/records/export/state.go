// SPDX-License-Identifier: Apache-2.0

package export

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/flowdedup/flowdedup/capture/records"
)

// ErrState is wrapped by errors about the input of Restore.
var ErrState = errors.New("bad state of templates")

// stateVersion changes when older programs could not read the state.
const stateVersion = 1

// state outlasts a run: without it, records wait for minutes until exporters send their
// templates again.
type state struct {
	Version int           `json:"version"`
	Sources []savedSource `json:"sources"` // the last used last
}

type savedSource struct {
	sourceKey
	Boot      int64           `json:"boot,omitempty"`
	Interval  uint32          `json:"interval,omitempty"`
	Samplers  []sampler       `json:"samplers,omitempty"`
	Templates []savedTemplate `json:"templates,omitempty"`
}

type savedTemplate struct {
	ID      uint16 `json:"id"`
	Options bool   `json:"options,omitempty"`
	Scopes  int    `json:"scopes,omitempty"`
	// Fields are number, length and enterprise of each.
	Fields [][3]uint32 `json:"fields"`
}

// Save writes the templates and the sampling intervals of all exporters, as JSON.
func (r *Reader) Save(w io.Writer) error {
	st := state{Version: stateVersion}
	for s := range r.sources.backward {
		saved := savedSource{sourceKey: s.key, Boot: s.boot, Interval: s.interval, Samplers: s.samplers}
		for id, t := range s.templates {
			if !t.missing {
				saved.Templates = append(saved.Templates, saveTemplate(id, t))
			}
		}
		if len(saved.Templates) > 0 || s.interval != 0 || len(s.samplers) > 0 || s.boot != 0 {
			st.Sources = append(st.Sources, saved)
		}
	}
	return json.NewEncoder(w).Encode(&st)
}

func saveTemplate(id uint16, t *template) savedTemplate {
	saved := savedTemplate{ID: id, Options: t.options, Scopes: t.scopes}
	for _, f := range t.fields {
		saved.Fields = append(saved.Fields, [3]uint32{uint32(f.id), uint32(f.length), f.enterprise})
	}
	return saved
}

// Restore reads the output of Save, up to the end of from, and adds the state that is not
// known yet. Errors wrap ErrState, and nothing is added then.
func (r *Reader) Restore(from io.Reader) error {
	var st state
	if err := json.NewDecoder(from).Decode(&st); err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	if st.Version != stateVersion {
		return fmt.Errorf("%w: version %d, not %d", ErrState, st.Version, stateVersion)
	}
	for i := range st.Sources {
		if err := st.Sources[i].check(); err != nil {
			return err
		}
	}
	for i := range st.Sources {
		r.restore(&st.Sources[i])
	}
	return nil
}

// check returns an error for numbers that no template has.
func (saved *savedSource) check() error {
	for _, t := range saved.Templates {
		if t.ID < firstData || len(t.Fields) == 0 || t.Scopes < 0 || t.Scopes > len(t.Fields) {
			return fmt.Errorf("%w: template %d", ErrState, t.ID)
		}
		for _, f := range t.Fields {
			if f[0] > 0xffff || f[1] > 0xffff {
				return fmt.Errorf("%w: template %d has a field %d of %d bytes", ErrState, t.ID, f[0], f[1])
			}
		}
	}
	return nil
}

func (r *Reader) restore(saved *savedSource) {
	s := r.sourceOf(saved.sourceKey)
	s.boot, s.interval = cmp.Or(s.boot, saved.Boot), cmp.Or(s.interval, saved.Interval)
	for _, it := range saved.Samplers {
		s.setSampler(it.ID, it.Interval)
	}
	for _, t := range saved.Templates {
		if s.templates[t.ID] != nil {
			continue
		}
		fields := make([]field, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = field{id: uint16(f[0]), length: uint16(f[1]), enterprise: f[2]}
		}
		s.learn(t.ID, newTemplate(fields, t.Scopes, t.Options, saved.Kind == records.NetFlow9))
	}
	s.messages = max(s.messages, known) // it was worth saving
	r.settle(s)
}
