package monitor

import (
	"context"
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

// Server shows a run over HTTP: /metrics to Prometheus, /healthz to whatever watches
// it, and / to people. Methods may be called concurrently.
type Server struct {
	http   http.Server
	addr   net.Addr
	served chan error // what serving ended with

	mu      sync.Mutex
	history history
	losses  losses
	updated time.Time // when the last status came; zero before
}

// Timeouts of the server: nobody may hold its connections for long.
const (
	headTimeout    = 5 * time.Second
	writeTimeout   = 30 * time.Second
	idleTimeout    = 2 * time.Minute
	closeTimeout   = 2 * time.Second
	maxHeaderBytes = 16 << 10
)

// Listen serves on addr, which is host:port, or :port or port for loopback only. It
// returns an error that wraps [ErrAddress] for another form of addr, and the
// system's error if it cannot listen there. Stop it with Close.
func Listen(addr string) (*Server, error) {
	full, err := address(addr)
	if err != nil {
		return nil, err
	}
	l, err := listen(full)
	if err != nil {
		return nil, err
	}
	s := &Server{addr: l.Addr(), served: make(chan error, 1)}
	handler := s.handler()
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
	return s, nil
}

// Addr is where the server listens, with the port that it was given for port 0.
func (s *Server) Addr() net.Addr { return s.addr }

// Update takes the next status. What it points to must not be changed any more.
func (s *Server) Update(status live.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history.add(&status)
	s.updated = time.Now()
	s.losses.add(s.updated, lossesOf(&status))
}

// Close ends the server: what is being answered has two seconds to end. It returns
// what ended the serving before, if anything did. Call it once.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close() // those who did not listen
	}
	if err := <-s.served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// last is the last status, nil before the first.
func (s *Server) last() *live.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.last
}

// metrics answers with the metrics of the run and those of the process.
func (s *Server) metrics() http.HandlerFunc {
	ofRun := runMetrics()
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", metricsType)
		if status := s.last(); status != nil {
			_ = writeMetrics(w, ofRun, status) // who has gone needs no answer
		}
		_ = writeMetrics(w, processMetrics(), nil)
	}
}

// handler answers the requests that are meant for the server.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", limitConcurrency(s.metrics()))
	mux.HandleFunc("GET /healthz", limitConcurrency(s.serveHealth))
	mux.HandleFunc("GET /{$}", limitConcurrency(s.servePage))
	return withSecurityHeaders(mux)
}

// maxConcurrent is how many requests to a path are answered at a time.
const maxConcurrent = 8

// limitConcurrency answers only so many requests at a time.
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

// withSecurityHeaders keeps what is answered from being shown in another page, or being taken for
// something else than it says.
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

// onlyHost answers requests to one name, to localhost and to addresses. A page from
// elsewhere can have a name of its own lead to this host, once it was loaded, and then
// may read what the operator's browser gets here; but it can take none of these for its
// own. Whoever sends no name is no browser.
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

// ErrAddress is returned, wrapped, for an address that cannot be understood.
var ErrAddress = errors.New("not an address to listen on")

// loopback is where addresses without a host listen.
const loopback = "127.0.0.1"

// address completes host:port, :port or port. Whoever wants to be reached from
// elsewhere has to name a host, such as 0.0.0.0.
func address(addr string) (string, error) {
	if _, err := strconv.ParseUint(addr, 10, 64); err == nil {
		addr = ":" + addr
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("--listen %q: %w; write it as 127.0.0.1:9469 or 9469", addr, ErrAddress)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", fmt.Errorf("--listen %s: %w; its port must be a number from 0 to 65535", addr, ErrAddress)
	}
	if host == "" {
		host = loopback
	}
	return net.JoinHostPort(host, port), nil
}

// listen opens the port of a complete address. Errors say what to do.
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
	// What net says of the address again is left out.
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return nil, fmt.Errorf("--listen %s: %w%s", full, err, hint)
}
