package hub

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/flowdedup/flowdedup/engine/cluster/slice"
)

// Config says how to run a hub.
type Config struct {
	Name     string // of this hub among others
	URL      string // of the NATS server
	Folder   *Folder
	Settings Settings
	// Memory and Limit are the bytes of all slices: at first, and at most.
	Memory, Limit int
	Log           Logger
	// Reload, if not nil, is called when somebody has changed the keys in the folder.
	Reload func() error
	Dial   []nats.Option // beside those that hubs always need
}

// Hub answers for slices until Close.
type Hub struct {
	name     string
	settings Settings
	folder   *Folder
	log      Logger
	conn     *nats.Conn
	memory   int
	limit    int
	reload   func() error
	started  time.Time
	fence    uint64
	keyCheck uint64 // what sites show their key by
	reports  reports
	rates    rates
	done     chan struct{}
	group    sync.WaitGroup

	mu     sync.Mutex
	owners map[int]*owner
}

// Start connects to the server, and answers for all slices. Errors wrap ErrServer,
// ErrFolder or slice.ErrConfig.
func Start(cfg Config) (*Hub, error) {
	seed, err := cfg.Folder.HubSeed()
	if err != nil {
		return nil, err
	}
	fence, err := cfg.Folder.Fence()
	if err != nil {
		return nil, err
	}
	h := &Hub{
		name: cfg.Name, settings: cfg.Settings, folder: cfg.Folder, log: cfg.Log, reload: cfg.Reload, fence: fence,
		memory: cfg.Memory / cfg.Settings.Slices, limit: cfg.Limit / cfg.Settings.Slices,
		keyCheck: cfg.Settings.token("any", "").KeyCheck(), started: time.Now(), owners: map[int]*owner{}, done: make(chan struct{}),
	}
	if h.conn, err = connect(cfg.URL, "flowdedup-hub "+cfg.Name, seed, cfg.Log, cfg.Dial...); err != nil {
		return nil, err
	}
	if err := h.begin(); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// begin subscribes all subjects.
func (h *Hub) begin() error {
	for number := range h.settings.Slices {
		if err := h.own(number); err != nil {
			return err
		}
	}
	if err := h.subscribeReports(); err != nil {
		return err
	}
	if err := h.subscribeControl(); err != nil {
		return err
	}
	h.group.Go(h.follow)
	return h.conn.Flush()
}

// own begins to answer for a slice, as it was saved last.
func (h *Hub) own(number int) error {
	cfg := slice.Config{Window: h.settings.Window(), Memory: h.memory, Limit: h.limit, Slices: h.settings.Slices}
	s, err := h.restore(cfg, number)
	if err != nil {
		return err
	}
	o := &owner{hub: h, number: number, fence: h.fence, slice: s, lags: map[string]*lag{}}
	if err := o.subscribe(); err != nil {
		return errors.Join(err, s.Close())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.owners[number] = o
	return nil
}

// sliceFile returns the file of a saved slice.
func (h *Hub) sliceFile(number int) string {
	return filepath.Join(slicesFolder, fmt.Sprintf("%d-s%03d.slice", h.settings.Epoch, number))
}

// slicesFolder is the part of a Folder that holds saved slices.
const slicesFolder = "slices"

// restore returns a slice as it was saved, or an empty one.
func (h *Hub) restore(cfg slice.Config, number int) (*slice.Slice, error) {
	data, err := os.ReadFile(h.folder.at(h.sliceFile(number)))
	if errors.Is(err, fs.ErrNotExist) {
		return slice.New(cfg)
	} else if err != nil {
		return nil, err
	}
	s, err := slice.Restore(cfg, data)
	if errors.Is(err, slice.ErrSnapshot) {
		h.log.Warn(fmt.Sprintf("%s: %v: slice %d starts empty", h.folder.at(h.sliceFile(number)), err, number))
		return slice.New(cfg)
	}
	return s, err
}

// save saves a slice.
func (h *Hub) save(o *owner) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return h.folder.write(h.sliceFile(o.number), o.slice.Save(nil))
}

// Close answers what has arrived, saves the slices, and ends the connection.
func (h *Hub) Close() error {
	close(h.done)
	h.group.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	err := os.MkdirAll(h.folder.at(slicesFolder), 0o700)
	for _, o := range h.owners {
		err = errors.Join(err, o.stop(), h.save(o), o.slice.Close())
	}
	h.conn.Close()
	return err
}
