// SPDX-License-Identifier: Apache-2.0

package counts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/flowdedup/flowdedup/engine/distinct/countfile"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

const (
	// maxFiles bounds the files of a window, of each of which a union takes 128 KiB, and
	// maxOfSite those of one site in it.
	maxFiles  = 1500
	maxOfSite = 64
	// maxWindows bounds the memory of a store.
	maxWindows = 10_000
	// settleTime is how long no file of a window has come when its union is made.
	settleTime = 2 * time.Second
	// expireTime is how long a file that is coming may stand still.
	expireTime = time.Minute

	ending       = ".counts"
	unionFile    = "union.json"
	incoming     = "incoming"
	untimed      = "untimed"
	windowLayout = "20060102T150405.999999999Z"
)

// Logger takes what is worth a warning, from any goroutine.
type Logger interface{ Warn(text string) }

// Config configures Open.
type Config struct {
	Folder string
	Limit  int64 // bytes of all files
	// Key is the value of countfile.KeySetting that all files must have.
	Key string
	Log Logger
	// Settle is how long no file of a window has come when its union is made; 0 is 2 s.
	Settle time.Duration
	// Expire is how long a file that is coming may stand still before it is forgotten; 0 is a
	// minute.
	Expire time.Duration
}

// Store keeps files of counts until Close. Its methods are for any goroutine.
type Store struct {
	cfg    Config
	cancel context.CancelFunc
	wake   chan struct{}
	done   chan struct{}

	mu      sync.Mutex
	windows []*window // by end, then by begin
	uploads map[string]*upload
	bytes   int64 // of all files, without those that are coming
	refused uint64
	evicted evictions
	warned  time.Time // when warnOften last warned
}

// often is how long warnOften is silent.
const often = time.Minute

// warnOften warns of what fails again with each try, as on a full disk: at most once a minute.
func (s *Store) warnOften(text string) {
	if now := time.Now(); now.Sub(s.warned) >= often {
		s.warned = now
		s.cfg.Log.Warn(text)
	}
}

// window is a window with the files of its sites.
type window struct {
	folder     string
	start, end int64 // as in countfile
	files      []file
	bytes      int64
	rows       []Row     // of the union, nil if it was never made
	changed    time.Time // when the last file came; zero if the rows are those of all files
}

// file is what a site has of a window. A site may have several.
type file struct {
	name  string // within the folder of the window
	site  string
	bytes int64
}

// Open opens a store, and makes its folder if there is none.
func Open(cfg Config) (*Store, error) {
	if cfg.Settle == 0 {
		cfg.Settle = settleTime
	}
	if cfg.Expire == 0 {
		cfg.Expire = expireTime
	}
	s := &Store{cfg: cfg, wake: make(chan struct{}, 1), done: make(chan struct{}), uploads: map[string]*upload{}}
	if err := os.RemoveAll(filepath.Join(cfg.Folder, incoming)); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(cfg.Folder, incoming), 0o700); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(cfg.Folder)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if start, end, ok := parseFolder(e.Name()); ok && e.IsDir() {
			if err := s.load(e.Name(), start, end); err != nil {
				return nil, err
			}
		}
	}
	if err := s.evictWindows(0, math.MaxInt64); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go s.work(ctx)
	return s, nil
}

// Close ends the store. Files that are coming begin anew.
func (s *Store) Close() error {
	s.cancel()
	<-s.done
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for site := range s.uploads {
		err = errors.Join(err, s.drop(site))
	}
	return err
}

// folderOf returns the name of the folder of a window: its begin and its length.
func folderOf(start, end int64) string {
	if start == math.MinInt64 {
		return untimed
	}
	return time.Unix(0, start).UTC().Format(windowLayout) + "+" + strconv.FormatInt(end-start, 10)
}

// parseFolder reads what folderOf returns.
func parseFolder(name string) (start, end int64, ok bool) {
	if name == untimed {
		return math.MinInt64, math.MinInt64, true
	}
	begin, length, _ := strings.Cut(name, "+")
	at, err := time.Parse(windowLayout, begin)
	n, err2 := strconv.ParseInt(length, 10, 64)
	if err != nil || err2 != nil {
		return 0, 0, false
	}
	return at.UnixNano(), at.UnixNano() + n, true
}

// load reads what a window has.
func (s *Store) load(folder string, start, end int64) error {
	entries, err := os.ReadDir(filepath.Join(s.cfg.Folder, folder))
	if err != nil {
		return err
	}
	w := s.window(start, end)
	for _, e := range entries {
		site, _, _ := strings.Cut(e.Name(), ".")
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(e.Name(), ending) || !hubclient.ValidName(site) {
			continue
		}
		w.files = append(w.files, file{e.Name(), site, info.Size()})
		w.bytes += info.Size()
		s.bytes += info.Size()
	}
	w.changed = time.Now()
	var known union
	text, err := os.ReadFile(filepath.Join(s.cfg.Folder, folder, unionFile))
	if err == nil && json.Unmarshal(text, &known) == nil && slices.Equal(known.Files, w.names()) {
		w.rows, w.changed = known.Rows, time.Time{}
	}
	return nil
}

// names returns the names of the files, sorted.
func (w *window) names() (names []string) {
	for _, f := range w.files {
		names = append(names, f.name)
	}
	slices.Sort(names)
	return names
}

// window returns the window with these bounds, and makes it if there is none.
func (s *Store) window(start, end int64) *window {
	at, found := slices.BinarySearchFunc(s.windows, [2]int64{start, end}, func(w *window, b [2]int64) int {
		return cmp.Or(cmp.Compare(w.end, b[1]), cmp.Compare(w.start, b[0]))
	})
	if !found {
		s.windows = slices.Insert(s.windows, at, &window{folder: folderOf(start, end), start: start, end: end})
	}
	return s.windows[at]
}

// path returns the path of a file of a window.
func (s *Store) path(w *window, name string) string {
	return filepath.Join(s.cfg.Folder, w.folder, name)
}

// open opens a file of a window under the name of its site. The caller closes it.
func (s *Store) open(w *window, name string) (*countfile.File, *os.File, error) {
	return openFile(s.path(w, name))
}

func openFile(path string) (*countfile.File, *os.File, error) {
	from, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := from.Stat()
	if err == nil {
		var f *countfile.File
		if f, err = countfile.Open(path, from, info.Size()); err == nil {
			f.Name = "the file of " + f.Sensor
			return f, from, nil
		}
	}
	return nil, nil, errors.Join(err, from.Close())
}

// Files returns the paths of the files in the folder of a store, of windows that end after
// a time.
func Files(folder string, after time.Time) (paths []string, err error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	for _, e := range entries {
		_, end, ok := parseFolder(e.Name())
		if !ok || end <= after.UnixNano() && !after.IsZero() {
			continue
		}
		names, err := filepath.Glob(filepath.Join(folder, e.Name(), "*"+ending))
		if err != nil {
			return nil, err
		}
		paths = append(paths, names...)
	}
	return paths, nil
}

// errRefused is what errors about a file wrap that is not taken.
var errRefused = errors.New("refused")

func refusal(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errRefused, fmt.Sprintf(format, args...))
}
