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
	// maxFiles bounds the files of a window: a union takes 128 KiB for each. maxOfSite
	// bounds one site's files in a window.
	maxFiles  = 1500
	maxOfSite = 64
	// maxWindows bounds the windows of a store, and so its memory.
	maxWindows = 10_000
	// settleTime is the time without a new file after which a window's union is made.
	settleTime = 2 * time.Second
	// expireTime is how long an upload may stand still.
	expireTime = time.Minute

	ending       = ".counts"
	unionFile    = "union.json"
	incoming     = "incoming"
	untimed      = "untimed"
	windowLayout = "20060102T150405.999999999Z"
)

// Logger takes warnings, from any goroutine.
type Logger interface{ Warn(text string) }

// Config configures Open.
type Config struct {
	Folder string
	Limit  int64 // bytes of all files
	// Key is the value of countfile.KeySetting that all files must have.
	Key string
	Log Logger
	// Settle is the time without a new file after which a window's union is made; 0 is
	// 2 s.
	Settle time.Duration
	// Expire is how long an upload may stand still before it is dropped; 0 is a minute.
	Expire time.Duration
	// Windows is the most windows that are kept; 0 is 10,000.
	Windows int
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
	bytes   int64 // bytes of all files, without uploads
	refused uint64
	evicted evictions
	warned  time.Time // when warnOften last warned
}

// often is how long warnOften is silent.
const often = time.Minute

// warnOften warns at most once a minute of a failure that each try repeats, such as a
// full disk.
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
	changed    time.Time // time of the last file; zero if the rows include all files
}

// file is a site's file of a window. A site may have several.
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
	if cfg.Windows == 0 {
		cfg.Windows = maxWindows
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

// Close ends the store. Uploads begin anew.
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

// parseFolder parses the result of folderOf.
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

// load reads the files and rows of a window.
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

// errRefused is wrapped by the errors of refused files.
var errRefused = errors.New("refused")

func refusal(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errRefused, fmt.Sprintf(format, args...))
}
