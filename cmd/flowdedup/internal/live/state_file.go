// SPDX-License-Identifier: Apache-2.0

package live

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
)

// A state file holds
//
//	the bytes FLOWSTAT
//	version, 5, and the length of the header, in 64 bits each, little-endian
//	the header, a JSON object
//	the snapshots of the filter and of counters
//	SHA-256 of all before
//
// The sum detects damage. Snapshots are sealed under the secret as well.
const (
	stateMagic   = "FLOWSTAT"
	stateVersion = 5
	statePrefix  = len(stateMagic) + 8 + 8
	stateBuffer  = 1 << 20 // of reading
)

// errState is wrapped by errors about the content of a state file.
var errState = errors.New("cannot be resumed")

// setting is a flag that a state depends on, and its value.
type setting struct{ Flag, Value string }

// stateHeader is the content of a state file without snapshots.
type stateHeader struct {
	Saved    time.Time
	Settings []setting
	// Secret is the random key of the run, nil if --key gave it.
	Secret []byte `json:",omitempty"`
	Begin  time.Time
	Stats  dedup.SavedStats
	// Names are the names of the interfaces of Stats.Points.
	Names []string
	Diffs traits.Counts
	Open  windows.Saved
}

// write writes a state file and returns its size.
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

// readState returns the header of a state file and a reader of its snapshots. It reads
// the file twice, in little memory. Errors about the content wrap errState.
func readState(file *os.File) (*stateHeader, io.Reader, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	return decodeState(file, info.Size())
}

// decodeState is readState for a file of a known size.
func decodeState(file io.ReaderAt, size int64) (*stateHeader, io.Reader, error) {
	le := binary.LittleEndian
	prefix := make([]byte, statePrefix)
	if _, err := file.ReadAt(prefix, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	body := size - sha256.Size
	if body < int64(statePrefix) || string(prefix[:len(stateMagic)]) != stateMagic {
		return nil, nil, fmt.Errorf("%w: it is not a state file", errState)
	}
	if version := le.Uint64(prefix[8:]); version != stateVersion {
		return nil, nil, fmt.Errorf("%w: it has version %d, and this program reads version %d", errState, version, stateVersion)
	}
	if err := checkSum(file, body); err != nil {
		return nil, nil, err
	}
	length := le.Uint64(prefix[16:])
	if length > uint64(body)-uint64(statePrefix) {
		return nil, nil, fmt.Errorf("%w: it is damaged", errState)
	}
	header := make([]byte, length)
	if _, err := file.ReadAt(header, int64(statePrefix)); err != nil {
		return nil, nil, err
	}
	h := &stateHeader{}
	if err := json.Unmarshal(header, h); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errState, err)
	}
	from := int64(statePrefix) + int64(length)
	return h, bufio.NewReaderSize(io.NewSectionReader(file, from, body-from), stateBuffer), nil
}

// checkSum returns an error unless the first size bytes of a file have the sum that
// follows them.
func checkSum(file io.ReaderAt, size int64) error {
	want, sum := make([]byte, sha256.Size), sha256.New()
	if _, err := file.ReadAt(want, size); err != nil {
		return err
	}
	if _, err := io.CopyBuffer(sum, io.NewSectionReader(file, 0, size), make([]byte, stateBuffer)); err != nil {
		return err
	}
	if !bytes.Equal(sum.Sum(nil), want) {
		return fmt.Errorf("%w: it is damaged", errState)
	}
	return nil
}

// setting returns the value of a flag, "" if it has none.
func (h *stateHeader) setting(flag string) string {
	for _, s := range h.Settings {
		if s.Flag == flag {
			return s.Value
		}
	}
	return ""
}

// fits returns an error unless the state was saved with the same settings, and with the
// given secret unless that is nil.
func (h *stateHeader) fits(settings []setting, given *engine.Secret) error {
	if len(h.Settings) > len(settings) {
		return fmt.Errorf("%w: it is from another kind of run", errState)
	}
	for i, s := range settings {
		was := "" // of a flag that the program which saved it did not have
		if i < len(h.Settings) {
			if h.Settings[i].Flag != s.Flag {
				return fmt.Errorf("%w: it is from another kind of run", errState)
			}
			was = h.Settings[i].Value
		}
		if was != s.Value && s.Flag != memoryFlag {
			return fmt.Errorf("%w: it was saved with %s %s, and this run has %s", errState, s.Flag, orNone(was), orNone(s.Value))
		}
	}
	switch {
	case given == nil && h.Secret == nil:
		return fmt.Errorf("%w: it was saved with --key: give the same key", errState)
	case given != nil && h.Secret != nil && !bytes.Equal(h.Secret, given[:]):
		return fmt.Errorf("%w: it was saved with another --key", errState)
	case h.Secret != nil && len(h.Secret) != len(engine.Secret{}):
		return fmt.Errorf("%w: it is damaged", errState)
	}
	return nil
}

func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return value
}

// ifaceNames keeps the names of the interfaces of the capture points of a run. The next
// run may find them under other indices.
type ifaceNames struct{ names []string }

// of returns the names of a list of points that only grows. The name is "" for a point
// without an index, and for an interface that vanished before it was looked up.
func (p *ifaceNames) of(points []traits.CapturePoint) []string {
	for _, at := range points[len(p.names):] {
		name := ""
		if at.Index != 0 {
			if i, err := net.InterfaceByIndex(int(at.Index)); err == nil {
				name = i.Name
			}
		}
		p.names = append(p.names, name)
	}
	return p.names[:len(points):len(points)]
}

// resume takes the names of the points of the previous run, and returns the points with
// the current indices of their interfaces. An interface that is gone keeps its index. If
// that index now belongs to a different interface, no packet matches the point any more.
func (p *ifaceNames) resume(points []traits.CapturePoint, names []string) ([]traits.CapturePoint, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	indices, taken := map[string]uint32{}, map[uint32]bool{}
	for _, i := range interfaces {
		indices[i.Name], taken[uint32(i.Index)] = uint32(i.Index), true
	}
	now := make([]traits.CapturePoint, min(len(points), len(names)))
	for n := range now {
		at, name := points[n], names[n]
		index, there := indices[name]
		switch {
		case name == "":
		case there:
			at.Index = index
		case taken[at.Index]:
			at, name = traits.CapturePoint{}, ""
		}
		now[n], p.names = at, append(p.names, name)
	}
	return now, nil
}

// forget keeps the numbers of the points of the previous run from being given again. Peers
// come in a different order each time.
func (p *ifaceNames) forget(points []traits.CapturePoint) []traits.CapturePoint {
	p.names = make([]string, len(points))
	return make([]traits.CapturePoint, len(points))
}
