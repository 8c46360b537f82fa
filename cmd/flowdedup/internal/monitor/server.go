package monitor

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
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
	headTimeout  = 5 * time.Second
	writeTimeout = 30 * time.Second
	idleTimeout  = 2 * time.Minute
	closeTimeout = 2 * time.Second
	mostHead     = 16 << 10
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
		MaxHeaderBytes: mostHead,
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
	mux.HandleFunc("GET /metrics", limited(s.metrics()))
	mux.HandleFunc("GET /healthz", limited(s.serveHealth))
	mux.HandleFunc("GET /{$}", limited(s.servePage))
	return secured(mux)
}
