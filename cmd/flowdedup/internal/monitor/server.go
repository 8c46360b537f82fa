package monitor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
)

// Server shows a run over HTTP: /metrics for Prometheus, /healthz for health checks, and
// / for people. Methods may be called concurrently.
type Server struct {
	web

	mu      sync.Mutex
	history history
	losses  losses
	updated time.Time // when the last status came; zero before
}

// Limits on connections, so that no client holds one for long.
const (
	headTimeout    = 5 * time.Second
	writeTimeout   = 30 * time.Second
	idleTimeout    = 2 * time.Minute
	closeTimeout   = 2 * time.Second
	maxHeaderBytes = 16 << 10
)

// Listen serves on addr: host:port, or :port or port for loopback only. It returns an
// error that wraps [ErrAddress] if addr has another form, and the system's error if it
// cannot listen. The caller must call Close.
func Listen(addr string) (*Server, error) {
	s := new(Server)
	return s, s.listen("--listen", addr, s.handler())
}

// web serves HTTP. The zero value serves nothing.
type web struct {
	http   http.Server
	addr   net.Addr
	served chan error // what serving ended with
}

// listen begins to serve; see Listen. Errors name the flag that the address is of.
func (s *web) listen(flag, addr string, handler http.Handler) error {
	full, err := address(addr)
	if err != nil {
		return fmt.Errorf("%s %w", flag, err)
	}
	l, err := listen(full)
	if err != nil {
		return fmt.Errorf("%s %w", flag, err)
	}
	s.addr, s.served = l.Addr(), make(chan error, 1)
	if tcp, ok := s.addr.(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
		handler = onlyHost(full, handler)
	}
	s.http = http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headTimeout, ReadTimeout: headTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes,
	}
	go func() { s.served <- s.http.Serve(l) }()
	return nil
}

// Addr returns the address of the server, with the port that the system chose for port 0.
func (s *web) Addr() net.Addr { return s.addr }

// Update takes the next status. The caller must not change what it points to afterwards.
func (s *Server) Update(status live.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history.add(&status)
	s.updated = time.Now()
	s.losses.add(s.updated, lossesOf(&status))
}

// Close stops the server. Answers in progress get two seconds to end. Close returns the
// error that ended serving before, if any. Call it once.
func (s *web) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close() // cuts off clients that did not finish
	}
	if err := <-s.served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// last returns the last status, nil before the first.
func (s *Server) last() *live.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.last
}

// metrics answers with the metrics of the run and of the process.
func (s *Server) metrics() http.HandlerFunc {
	ofRun := runMetrics()
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", metricsType)
		if status := s.last(); status != nil {
			_ = writeMetrics(w, ofRun, status) // an error means that the client left
		}
		_ = writeMetrics(w, processMetrics(), nil)
	}
}

// handler returns the handler of all paths.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", limitConcurrency(s.metrics()))
	mux.HandleFunc("GET /healthz", limitConcurrency(s.serveHealth))
	mux.HandleFunc("GET /{$}", limitConcurrency(s.servePage))
	return withSecurityHeaders(mux)
}

// maxConcurrent is how many requests per path are answered at a time.
const maxConcurrent = 8

// limitConcurrency answers at most maxConcurrent requests at a time, and others with 503.
func limitConcurrency(h http.HandlerFunc) http.HandlerFunc {
	places := make(chan struct{}, maxConcurrent)
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
			h(w, r)
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, fmt.Sprintf("%d requests to %s are being answered", maxConcurrent, r.URL.Path), http.StatusServiceUnavailable)
		}
	}
}

// withSecurityHeaders sets headers that keep answers from being framed by another page,
// or taken for another type of content.
func withSecurityHeaders(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Content-Security-Policy":      "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Referrer-Policy":              "no-referrer",
			"X-Content-Type-Options":       "nosniff",
			"X-Frame-Options":              "DENY",
		} {
			w.Header().Set(name, value)
		}
		h.ServeHTTP(w, r)
	})
}

// onlyHost answers requests for one name, for localhost and for IP addresses. It stops
// DNS rebinding: a page from elsewhere can point its own name at this host and read the
// answers through the operator's browser, but it cannot use one of these names. A request
// without a name does not come from a browser.
func onlyHost(name string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := hostOf(r.Host)
		if asked == "" || asked == "localhost" || asked == hostOf(name) || net.ParseIP(asked) != nil {
			h.ServeHTTP(w, r)
			return
		}
		http.Error(w, "This is not the host that was asked for: take its address, localhost, or the name in --listen.", http.StatusMisdirectedRequest)
	})
}

// hostOf returns the name or address in a Host header, in lower case and without a port.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	host, _, _ = strings.Cut(host, "%") // the zone of an address
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// ErrAddress is wrapped by errors about an address that cannot be parsed.
var ErrAddress = errors.New("not an address to listen on")

// loopback is the host of addresses without one.
const loopback = "127.0.0.1"

// address completes host:port, :port or port. To be reached from other hosts, the user
// has to name a host such as 0.0.0.0.
func address(addr string) (string, error) {
	if _, err := strconv.ParseUint(addr, 10, 64); err == nil {
		addr = ":" + addr
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("%q: %w; write it as 127.0.0.1:9469 or 9469", addr, ErrAddress)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", fmt.Errorf("%s: %w; its port must be a number from 0 to 65535", addr, ErrAddress)
	}
	if host == "" {
		host = loopback
	}
	return net.JoinHostPort(host, port), nil
}

// listen opens a complete address. Its errors say what to do.
func listen(full string) (net.Listener, error) {
	l, err := net.Listen("tcp", full)
	if err == nil {
		return l, nil
	}
	hint := ""
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		hint = "; another program has this port, choose another one"
	case errors.Is(err, syscall.EACCES):
		hint = "; choose a port above 1023"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		hint = "; this host has no such address"
	}
	// The address stands in the message already.
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return nil, fmt.Errorf("%s: %w%s", full, err, hint)
}

// maxAge is how old the last status may be. A healthy run sends one per second.
const maxAge = 10 * time.Second

// health is the answer of /healthz.
type health struct {
	Status     string   `json:"status"` // "ok" or "failing"
	AgeSeconds float64  `json:"age_seconds"`
	Reasons    []string `json:"reasons,omitempty"`
}

// health derives the health of the run from its last status.
func (s *Server) health() health {
	s.mu.Lock()
	status, updated := s.history.last, s.updated
	losing := s.losses.recent(time.Now())
	s.mu.Unlock()
	if status == nil {
		return health{Status: "failing", Reasons: []string{"no status yet"}}
	}
	waited := time.Since(updated)
	h := health{Status: "ok", AgeSeconds: float64(waited.Milliseconds()) / 1e3, Reasons: append(failures(status), losing...)}
	if waited > maxAge {
		h.Reasons = append(h.Reasons, fmt.Sprintf("no status for %s", waited.Round(time.Second)))
	}
	if len(h.Reasons) > 0 {
		h.Status = "failing"
	}
	return h
}

// failures names the outputs that have failed.
func failures(s *live.Status) []string {
	var out []string
	for i := range s.Outputs {
		if o := &s.Outputs[i]; o.Failed != "" {
			out = append(out, fmt.Sprintf("output %s: %s", o.Name, o.Failed))
		}
	}
	if f := s.Forward; f != nil && f.Failed != "" {
		out = append(out, fmt.Sprintf("forward %s: %s", f.Interface, f.Failed))
	}
	if s.State != nil && s.State.Failed != "" {
		out = append(out, fmt.Sprintf("state %s: %s", s.State.Name, s.State.Failed))
	}
	return out
}

// serveHealth answers with one line, and with status 503 if something fails.
func (s *Server) serveHealth(w http.ResponseWriter, _ *http.Request) {
	h := s.health()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if h.Status != "ok" {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(&h) // an error means that the client left
}
