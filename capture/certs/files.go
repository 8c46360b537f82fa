// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flowdedup/flowdedup/capture/outfile"
)

// ErrTLS is wrapped by errors about certificates that cannot be used.
var ErrTLS = errors.New("TLS")

const (
	// maxFile is how many bytes a file may have: twenty times the list of all public authorities.
	maxFile = 4 << 20
	// readTime is how long a connection waits for the files. It then gets what was read before.
	readTime = time.Second
)

// Files are the certificates of a side of TLS, in PEM. Nil Files stand for no TLS; zero Files
// have no certificate, and trust the authorities of the system. Methods may be called concurrently.
type Files struct {
	// Warn gets errors of renewed files, and of a certificate that is out of its time, each once.
	// Log gets news. Load sets both to functions that do nothing. They are called on any goroutine.
	Warn func(error)
	Log  func(text string)

	cert, key, authorities string // names of files, or ""
	fixed                  bool   // a pipe can be read only once

	current atomic.Pointer[content] // nil for zero Files
	mu      sync.Mutex
	reading chan struct{} // is closed at the end of the present reading; nil without
	said    string        // the last warning; only the reading uses it
}

// content is what the files hold.
type content struct {
	texts        [3][]byte // of certificate, key and authorities
	certificates []tls.Certificate
	pool         *x509.CertPool // nil for the system's
}

// Load reads the certificate of this side and its key, and the authorities that certificates of
// peers must be signed by. Each name may be empty, but a certificate and its key belong together.
// Load returns nil if all are. Errors wrap ErrTLS.
func Load(cert, key, authorities string) (*Files, error) {
	if cert == "" && key == "" && authorities == "" {
		return nil, nil
	}
	f := &Files{cert: cert, key: key, authorities: authorities, Warn: func(error) {}, Log: func(string) {}}
	for _, name := range f.names() {
		if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
			f.fixed = true
		}
	}
	c, err := f.load()
	if err != nil {
		return nil, err
	}
	f.current.Store(c)
	return f, nil
}

// names returns the names of all files, "" for none.
func (f *Files) names() []string { return []string{f.cert, f.key, f.authorities} }

// load reads all files. It returns the current content if nothing has changed.
func (f *Files) load() (*content, error) {
	c := &content{}
	for i, name := range f.names() {
		if name == "" {
			continue
		}
		var err error
		if c.texts[i], err = f.readFile(name); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrTLS, err)
		}
	}
	if old := f.current.Load(); old != nil && old.equal(c) {
		return old, nil
	}
	if f.cert != "" || f.key != "" {
		pair, err := tls.X509KeyPair(c.texts[0], c.texts[1])
		if err != nil {
			return nil, fmt.Errorf("%w: certificate %s with key %s: %w", ErrTLS, f.cert, f.key, err)
		}
		c.certificates = append(c.certificates, pair)
	}
	if f.authorities != "" {
		c.pool = x509.NewCertPool()
		if !c.pool.AppendCertsFromPEM(c.texts[2]) {
			return nil, fmt.Errorf("%w: %s holds no certificate in PEM", ErrTLS, f.authorities)
		}
	}
	return c, nil
}

func (c *content) equal(other *content) bool {
	return slices.EqualFunc(c.texts[:], other.texts[:], bytes.Equal)
}

// readFile reads a file, which may be a pipe only where it is read once.
func (f *Files) readFile(name string) ([]byte, error) {
	if f.fixed {
		return Read(name)
	}
	return read(name, outfile.OpenRegular)
}

// Read reads a file in PEM, of at most 4 MiB. It waits for the writer of a pipe. Parsers of PEM pass
// over a block without an end, so they would take a list of authorities that is only half written:
// that is an error here.
func Read(name string) ([]byte, error) { return read(name, os.Open) }

func read(name string, open func(string) (*os.File, error)) ([]byte, error) {
	file, err := open(name)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	err = errors.Join(err, file.Close())
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxFile:
		return nil, fmt.Errorf("%s has more than %d MiB", name, maxFile>>20)
	case bytes.Count(text, []byte("-----BEGIN ")) != bytes.Count(text, []byte("-----END ")):
		return nil, fmt.Errorf("%s ends within a block of PEM", name)
	}
	return text, nil
}

// now returns what the files hold now, or what they held when they could be used last.
func (f *Files) now() *content {
	if f.current.Load() == nil {
		return &content{}
	}
	f.mu.Lock()
	if f.reading == nil {
		f.reading = make(chan struct{})
		go f.renew(f.reading)
	}
	done := f.reading
	f.mu.Unlock()
	timer := time.NewTimer(readTime)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C: // a folder on a network, for instance
	}
	return f.current.Load()
}

// renew reads the files again.
func (f *Files) renew(done chan struct{}) {
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.reading = nil
		close(done)
	}()
	old := f.current.Load()
	c, err := old, error(nil)
	if !f.fixed {
		c, err = f.load()
	}
	if err == nil && c != old && old.outOfTime(f.cert) == nil {
		err = c.outOfTime(f.cert)
	}
	if err != nil {
		f.warn(fmt.Errorf("%w; the earlier certificates stay", err))
		return
	}
	if c != old {
		f.current.Store(c)
		f.Log("TLS: certificates were renewed: " + strings.TrimSpace(strings.Join(f.names(), " ")))
	}
	f.warn(c.outOfTime(f.cert))
}

// warn passes a warning on unless it equals the last warning. Nil stands for no warning.
func (f *Files) warn(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != f.said && err != nil {
		f.Warn(err)
	}
	f.said = text
}

// outOfTime returns an error if the own certificate, from the file of a name, is not valid now.
func (c *content) outOfTime(name string) error {
	if len(c.certificates) == 0 {
		return nil
	}
	switch leaf, now := c.certificates[0].Leaf, time.Now(); {
	case now.After(leaf.NotAfter):
		return fmt.Errorf("%w: certificate %s has expired at %s", ErrTLS, name, leaf.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("%w: certificate %s is valid only from %s on", ErrTLS, name, leaf.NotBefore.UTC().Format(time.RFC3339))
	}
	return nil
}

// Failure returns an error if the certificate of this side is not valid now.
func (f *Files) Failure() error {
	if f == nil {
		return nil
	}
	return f.now().outOfTime(f.cert)
}

// Expiry returns the file of the certificate of this side, and when the certificate expires. The
// name is "" without a certificate.
func (f *Files) Expiry() (name string, at time.Time) {
	if f == nil || f.cert == "" {
		return "", time.Time{}
	}
	return f.cert, f.now().certificates[0].Leaf.NotAfter
}

// Server returns the configuration of a side that listens, of a least version of TLS such as
// tls.VersionTLS12. It asks for certificates only if there are authorities. Nothing of an earlier
// connection spares a peer the proof of its certificate. The error is for Files without a certificate.
func (f *Files) Server(least uint16) (*tls.Config, error) {
	if f.cert == "" {
		return nil, fmt.Errorf("%w: a side that listens needs a certificate and its key", ErrTLS)
	}
	f.now() // which warns of a certificate that has expired
	config := &tls.Config{MinVersion: least, SessionTicketsDisabled: true}
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		c, of := f.now(), &tls.Config{MinVersion: least, SessionTicketsDisabled: true}
		if of.Certificates = c.certificates; c.pool != nil {
			of.ClientAuth, of.ClientCAs = tls.RequireAndVerifyClientCert, c.pool
		}
		return of, nil
	}
	return config, nil
}

// Client returns the configuration of a connection to a host, whose name is verified.
func (f *Files) Client(host string) *tls.Config {
	c := f.now()
	return &tls.Config{Certificates: c.certificates, RootCAs: c.pool, ServerName: host, MinVersion: tls.VersionTLS12}
}
