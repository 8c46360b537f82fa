// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/records/export"
	"github.com/flowdedup/flowdedup/capture/records/match"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// A state file holds
//
//	the bytes FLOWRECS
//	version, 1, and the length of the header, in 64 bits each, little-endian
//	SHA-256 of the header
//	the header, a JSON object
//	the remembered flows, sealed under the secret
const (
	stateMagic   = "FLOWRECS"
	stateVersion = 1
	statePrefix  = len(stateMagic) + 8 + 8 + sha256.Size
	// maxStateHeader bounds the memory that a damaged length can take.
	maxStateHeader = 256 << 20
)

// stateHeader is the content of a state file without flows.
type stateHeader struct {
	Saved     time.Time
	Secret    []byte          // the random key of the run
	Judge     json.RawMessage // of match.Judge.Save
	Templates json.RawMessage `json:",omitempty"`
}

// state saves a run to a file. A goroutine writes while the run goes on.
type state struct {
	cfg     *config
	last    time.Time // when the last save began
	content bytes.Buffer
	written chan error // nil unless a file is being written
	failed  string     // why it could not be saved the last time, or ""
	lock    *outfile.Lock
}

// openState keeps other runs from the state file.
func openState(cfg *config) (*state, error) {
	if err := outfile.CheckState(cfg.State, stateMagic); errors.Is(err, outfile.ErrNotState) { // before anything is made next to it
		return nil, fmt.Errorf("--state %w", err)
	} else if err != nil {
		return nil, fmt.Errorf("--state: %w", err)
	}
	lock, err := outfile.LockName(cfg.State)
	if err != nil {
		return nil, fmt.Errorf("--state: %w", err)
	}
	return &state{cfg: cfg, last: time.Now(), lock: lock}, nil
}

// errState is wrapped by errors about the content of a state file.
var errState = match.ErrState

// resume restores the templates, the secret and the judge of the state file. Without a file the judge
// is nil. A file that does not fit is set aside, if config.BeginAnew says so.
func (s *state) resume(messages *export.Reader) (*match.Judge, error) {
	cfg := s.cfg
	given := cfg.Match.Secret
	judge, err := resumeFrom(cfg, messages)
	switch {
	case err == nil:
		return judge, nil
	case !errors.Is(err, errState):
		return nil, fmt.Errorf("--state: %w", err)
	case !cfg.BeginAnew:
		return nil, fmt.Errorf("--state %s: %w; remove it, or give --state-mismatch begin, to begin anew", cfg.State, err)
	}
	aside, failed := outfile.SetAside(cfg.State)
	if failed != nil {
		return nil, errors.Join(err, failed)
	}
	cfg.Log.Warn("the state does not fit, so the run begins anew", "error", err, "kept", aside)
	cfg.Match.Secret = given
	return nil, nil
}

// resumeFrom restores the state file, if it exists. Errors about its content wrap errState.
func resumeFrom(cfg *config, messages *export.Reader) (*match.Judge, error) {
	file, err := outfile.OpenState(cfg.State, stateMagic)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	judge, err := restore(cfg, messages, bufio.NewReaderSize(file, 1<<20))
	for _, doubt := range []error{export.ErrState, snapshot.ErrInvalid, engine.ErrMemory} {
		if errors.Is(err, doubt) {
			return nil, fmt.Errorf("%w: %w", errState, err)
		}
	}
	return judge, err
}

// restore restores a run. Flows keep the memory that they were saved with, as their places
// depend on it.
func restore(cfg *config, messages *export.Reader, in io.Reader) (judge *match.Judge, err error) {
	h, err := readHeader(in)
	if err != nil {
		return nil, err
	}
	if len(h.Secret) != len(engine.Secret{}) {
		return nil, fmt.Errorf("%w: it is damaged", errState)
	}
	cfg.Match.Secret = engine.Secret(h.Secret)
	if judge, err = match.New(cfg.Match); err != nil {
		return nil, err
	}
	want := judge.Bytes()
	if err = judge.Restore(h.Judge, in, max(want, layout.MemoryBudget())); err == nil && messages != nil && h.Templates != nil {
		err = messages.Restore(bytes.NewReader(h.Templates))
	}
	if err != nil {
		return nil, errors.Join(err, judge.Close())
	}
	if got := judge.Bytes(); got != want {
		cfg.Log.Warn("flows keep the memory that they were saved with: remove the state to change it", "state", cfg.State, "bytes", got)
	}
	return judge, nil
}

// readHeader reads all before the flows. Errors about the content wrap errState.
func readHeader(in io.Reader) (*stateHeader, error) {
	prefix := make([]byte, statePrefix)
	if _, err := io.ReadFull(in, prefix); err != nil || string(prefix[:len(stateMagic)]) != stateMagic {
		return nil, fmt.Errorf("%w: it is not a state of flows", errState)
	}
	le := binary.LittleEndian
	if version := le.Uint64(prefix[8:]); version != stateVersion {
		return nil, fmt.Errorf("%w: it has version %d, and this program reads version %d", errState, version, stateVersion)
	}
	var header bytes.Buffer
	n := le.Uint64(prefix[16:])
	if n > maxStateHeader {
		return nil, fmt.Errorf("%w: it is damaged", errState)
	}
	if _, err := io.CopyN(&header, in, int64(n)); err != nil || sha256.Sum256(header.Bytes()) != [sha256.Size]byte(prefix[24:]) {
		return nil, fmt.Errorf("%w: it is damaged", errState)
	}
	h := new(stateHeader)
	if err := json.Unmarshal(header.Bytes(), h); err != nil {
		return nil, fmt.Errorf("%w: %w", errState, err)
	}
	return h, nil
}

// encode puts the state of a run into the buffer.
func (s *state) encode(judge *match.Judge, messages *export.Reader) error {
	h := stateHeader{Saved: time.Now(), Secret: s.cfg.Match.Secret[:]}
	var flows, templates bytes.Buffer
	var err error
	if h.Judge, err = judge.Save(&flows); err != nil {
		return err
	}
	if messages != nil {
		if err := messages.Save(&templates); err != nil {
			return err
		}
		h.Templates = templates.Bytes()
	}
	header, err := json.Marshal(&h)
	if err != nil {
		return err
	}
	le, sum := binary.LittleEndian, sha256.Sum256(header)
	to := &s.content
	to.Reset()
	to.Write(le.AppendUint64(le.AppendUint64([]byte(stateMagic), stateVersion), uint64(len(header))))
	to.Write(sum[:])
	to.Write(header)
	to.Write(flows.Bytes())
	return nil
}

// save saves the state if it is time. The run does not wait for the disk.
func (s *state) save(now time.Time, judge *match.Judge, messages *export.Reader) {
	select {
	case err := <-s.written:
		s.written = nil
		s.note(err)
	default:
	}
	if s.written != nil || now.Sub(s.last) < s.cfg.StateEvery {
		return
	}
	s.last = now
	if err := s.encode(judge, messages); err != nil {
		s.note(err)
		return
	}
	s.written = make(chan error, 1)
	go func() { s.written <- s.write() }()
}

// note remembers whether the state was saved.
func (s *state) note(err error) {
	if s.failed = ""; err != nil {
		s.failed = err.Error()
		s.cfg.Log.Warn("the state was not saved: " + s.failed)
	}
}

// write writes the buffer. An older file stays until all is written.
func (s *state) write() error {
	file, err := outfile.CreateState(context.Background(), s.cfg.State, stateMagic)
	if err != nil {
		return err
	}
	if _, err := file.Write(s.content.Bytes()); err != nil {
		return errors.Join(err, file.Discard())
	}
	return file.Commit()
}

// saveLast saves the state at the end of a run.
func (s *state) saveLast(judge *match.Judge, messages *export.Reader) error {
	if s.written != nil {
		<-s.written // replaced by the next
	}
	if err := s.encode(judge, messages); err != nil {
		return err
	}
	return s.write()
}
