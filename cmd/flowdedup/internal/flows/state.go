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

// state saves a run to a file. One goroutine writes while the run goes on.
type state struct {
	name    string
	every   time.Duration
	last    time.Time // when the last save began
	content bytes.Buffer
	written chan error // nil unless a file is being written
	failed  string     // why it could not be saved the last time, or ""
	lock    *outfile.Lock
}

// takeLock keeps other runs from the file.
func (s *state) takeLock() (err error) {
	s.lock, err = outfile.LockName(s.name)
	return err
}

// Close lets another run use the file.
func (s *state) Close() error { return s.lock.Unlock() }

// errState is wrapped by errors about the content of a state file.
var errState = match.ErrState

// resume restores the state file, if there is one, and the secret. A file that does not fit is
// set aside, if config.BeginAnew says so.
func (r *runner) resume() error {
	r.state = &state{name: r.cfg.State, every: r.cfg.StateEvery, last: time.Now()}
	err := outfile.CheckState(r.cfg.State, stateMagic) // before anything is made next to it
	if err == nil {
		err = r.state.takeLock()
	}
	if err != nil {
		r.state = nil // it is not saved either
		if errors.Is(err, outfile.ErrNotState) {
			return fmt.Errorf("--state %w", err)
		}
		return fmt.Errorf("--state: %w", err)
	}
	r.inputs = append(r.inputs, r.state)
	given := r.cfg.Match.Secret
	err = r.resumeFrom(r.cfg.State)
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, errState):
		return fmt.Errorf("--state: %w", err)
	case !r.cfg.BeginAnew:
		return fmt.Errorf("--state %s: %w; remove it, or give --state-mismatch begin, to begin anew", r.cfg.State, err)
	}
	aside, failed := outfile.SetAside(r.cfg.State)
	if failed != nil {
		return errors.Join(err, failed)
	}
	r.cfg.Log.Warn("the state does not fit, so the run begins anew", "error", err, "kept", aside)
	r.cfg.Match.Secret = given
	if r.judge == nil {
		return nil
	}
	err, r.judge = r.judge.Close(), nil
	return err
}

// resumeFrom restores a state file, if it exists. Errors about its content wrap errState.
func (r *runner) resumeFrom(name string) error {
	file, err := outfile.OpenState(name, stateMagic)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	err = r.restore(bufio.NewReaderSize(file, 1<<20))
	for _, doubt := range []error{export.ErrState, snapshot.ErrInvalid, engine.ErrMemory} {
		if errors.Is(err, doubt) {
			return fmt.Errorf("%w: %w", errState, err)
		}
	}
	return err
}

// restore restores a run. Flows keep the memory that they were saved with, as their places
// depend on it.
func (r *runner) restore(in io.Reader) error {
	h, err := readHeader(in)
	if err != nil {
		return err
	}
	if len(h.Secret) != len(engine.Secret{}) {
		return fmt.Errorf("%w: it is damaged", errState)
	}
	r.cfg.Match.Secret = engine.Secret(h.Secret)
	if r.judge, err = match.New(r.cfg.Match); err != nil {
		return err
	}
	want := r.judge.Bytes()
	if err := r.judge.Restore(h.Judge, in, max(want, layout.MemoryBudget())); err != nil {
		return err
	}
	if got := r.judge.Bytes(); got != want {
		r.cfg.Log.Warn("flows keep the memory that they were saved with: remove the state to change it", "state", r.cfg.State, "bytes", got)
	}
	if r.messages == nil || h.Templates == nil {
		return nil
	}
	return r.messages.Restore(bytes.NewReader(h.Templates))
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

// encode puts the state of the run into the buffer.
func (r *runner) encode() error {
	h := stateHeader{Saved: time.Now(), Secret: r.cfg.Match.Secret[:]}
	var flows, templates bytes.Buffer
	var err error
	if h.Judge, err = r.judge.Save(&flows); err != nil {
		return err
	}
	if r.messages != nil {
		if err := r.messages.Save(&templates); err != nil {
			return err
		}
		h.Templates = templates.Bytes()
	}
	header, err := json.Marshal(&h)
	if err != nil {
		return err
	}
	le, sum := binary.LittleEndian, sha256.Sum256(header)
	to := &r.state.content
	to.Reset()
	to.Write(le.AppendUint64(le.AppendUint64([]byte(stateMagic), stateVersion), uint64(len(header))))
	to.Write(sum[:])
	to.Write(header)
	to.Write(flows.Bytes())
	return nil
}

// save saves the state if it is time. The run does not wait for the disk.
func (r *runner) save(now time.Time) {
	s := r.state
	if s == nil {
		return
	}
	select {
	case err := <-s.written:
		s.written = nil
		r.noteSaved(err)
	default:
	}
	if s.written != nil || now.Sub(s.last) < s.every {
		return
	}
	s.last = now
	if err := r.encode(); err != nil {
		r.noteSaved(err)
		return
	}
	s.written = make(chan error, 1)
	go func() { s.written <- s.write() }()
}

// noteSaved notes whether the state was saved.
func (r *runner) noteSaved(err error) {
	if r.state.failed = ""; err != nil {
		r.state.failed = err.Error()
		r.cfg.Log.Warn("the state was not saved: " + r.state.failed)
	}
}

// write writes the buffer. An older file stays until all is written.
func (s *state) write() error {
	file, err := outfile.CreateState(context.Background(), s.name, stateMagic)
	if err != nil {
		return err
	}
	if _, err := file.Write(s.content.Bytes()); err != nil {
		return errors.Join(err, file.Discard())
	}
	return file.Commit()
}

// saveLast saves the state at the end of a run.
func (r *runner) saveLast() error {
	if r.state == nil || r.reader == nil {
		return nil
	}
	if r.state.written != nil {
		<-r.state.written // replaced by the next
	}
	if err := r.encode(); err != nil {
		return err
	}
	return r.state.write()
}
