package live

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/distinct"
	"github.com/flowdedup/flowdedup/engine"
)

// A state file holds
//
//	the bytes FLOWSTAT
//	version, 2, and the length of the header, in 64 bits each, little-endian
//	the header, a JSON object
//	the snapshots of the filter and of counters, one behind the other
//	SHA-256 of all before
//
// The sum tells damage; snapshots are sealed under the secret as well.
const (
	stateMagic   = "FLOWSTAT"
	stateVersion = 2
	statePrefix  = len(stateMagic) + 8 + 8
)

// ErrState is what errors about the content of a state file wrap.
var ErrState = errors.New("cannot be resumed")

// setting is a flag that a state depends on.
type setting struct{ Flag, Value string }

// stateHeader is what a state file says beside snapshots.
type stateHeader struct {
	Saved    time.Time
	Settings []setting
	// Secret is the key that the run drew, nil where --key gave it.
	Secret []byte `json:",omitempty"`
	Begin  time.Time
	Books  dedup.SavedBooks
	// Names are those of the interfaces at Books.Points.
	Names   []string
	Reasons Reasons
	Open    distinct.Saved
}

// write writes a state file, and returns how long it is.
func (h *stateHeader) write(w io.Writer, snapshots io.WriterTo) (int64, error) {
	header, err := json.Marshal(h)
	if err != nil {
		return 0, err
	}
	le := binary.LittleEndian
	head := le.AppendUint64(le.AppendUint64([]byte(stateMagic), stateVersion), uint64(len(header)))
	sum := sha256.New()
	both := io.MultiWriter(w, sum)
	if _, err := both.Write(append(head, header...)); err != nil {
		return 0, err
	}
	size, err := snapshots.WriteTo(both)
	if err != nil {
		return 0, err
	}
	_, err = w.Write(sum.Sum(nil))
	return int64(len(head)+len(header)+sha256.Size) + size, err
}

// decodeState returns the header of a state file and a reader of its snapshots. Errors
// wrap ErrState.
func decodeState(content []byte) (*stateHeader, io.Reader, error) {
	le := binary.LittleEndian
	if len(content) < statePrefix+sha256.Size || string(content[:len(stateMagic)]) != stateMagic {
		return nil, nil, fmt.Errorf("%w: it is not a state file", ErrState)
	}
	if version := le.Uint64(content[8:]); version != stateVersion {
		return nil, nil, fmt.Errorf("%w: it has version %d, and this program reads version %d", ErrState, version, stateVersion)
	}
	body, sum := content[:len(content)-sha256.Size], content[len(content)-sha256.Size:]
	if got := sha256.Sum256(body); !bytes.Equal(got[:], sum) {
		return nil, nil, fmt.Errorf("%w: it is damaged", ErrState)
	}
	length := le.Uint64(content[16:])
	if length > uint64(len(body)-statePrefix) {
		return nil, nil, fmt.Errorf("%w: it is damaged", ErrState)
	}
	h := &stateHeader{}
	if err := json.Unmarshal(body[statePrefix:][:length], h); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	return h, bytes.NewReader(body[statePrefix+int(length):]), nil
}

// readState reads a state file; without one it returns nothing.
func readState(name string) (*stateHeader, io.Reader, error) {
	content, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return decodeState(content)
}

// fits returns an error unless the state is of a run with the same settings, and of
// the same key, where one was given.
func (h *stateHeader) fits(settings []setting, given *engine.Secret) error {
	for i, s := range settings {
		if i >= len(h.Settings) || h.Settings[i].Flag != s.Flag {
			return fmt.Errorf("%w: it is of another kind of run", ErrState)
		}
		if was := h.Settings[i].Value; was != s.Value {
			return fmt.Errorf("%w: it was saved with %s %s, and this run has %s", ErrState, s.Flag, orNone(was), orNone(s.Value))
		}
	}
	switch {
	case given == nil && h.Secret == nil:
		return fmt.Errorf("%w: it was saved with --key: give the same key", ErrState)
	case given != nil && h.Secret != nil && !bytes.Equal(h.Secret, given[:]):
		return fmt.Errorf("%w: it was saved under another key than --key", ErrState)
	case h.Secret != nil && len(h.Secret) != len(engine.Secret{}):
		return fmt.Errorf("%w: it is damaged", ErrState)
	}
	return nil
}

func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return value
}
