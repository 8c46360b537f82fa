// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/flowdedup/flowdedup/engine/hubclient/natslink"
)

// Errors about servers.
var (
	// ErrServer is wrapped by errors of starting the embedded server.
	ErrServer = errors.New("NATS server")
	// ErrSilent says that there is no server.
	ErrSilent = fmt.Errorf("%w: none answers", ErrServer)
	// ErrVersion is about a server that is too old.
	ErrVersion = fmt.Errorf("%w: too old", ErrServer)
	// ErrRefused is about a server that refuses the hub's key.
	ErrRefused = fmt.Errorf("%w: does not take the key", ErrServer)
)

const (
	// pingEvery and maxPings find a dead connection within three seconds. The defaults of
	// NATS take six minutes.
	pingEvery = time.Second
	maxPings  = 2
	// startTime bounds the start of a server, and the making of a connection.
	startTime = 10 * time.Second
)

// Logger takes warnings and news worth logging. Its methods may be called from any
// goroutine.
type Logger interface {
	Log(text string)
	Warn(text string)
}

// Server is a NATS server within this process. It authenticates clients by their NKeys:
// the hub may use all subjects, a site only its own.
type Server struct {
	folder   *Folder
	settings Settings
	options  *server.Options
	server   *server.Server
	auth     authenticator
	log      Logger
	bad      badRequests // that the server has denied
	closed   chan struct{}
	sweeps   sync.WaitGroup
	answers  string // key with which hubs answer sites
	swept    swept
}

// StartServer starts a server with the keys of a folder, and TLS if certificates is not
// nil. Errors wrap ErrServer or ErrFolder.
func StartServer(f *Folder, s Settings, certificates *tls.Config, log Logger) (*Server, error) {
	host, portText, err := net.SplitHostPort(s.Listen)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrServer, err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return nil, fmt.Errorf("%w: port %q is no number", ErrServer, portText)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	if host == "" {
		host = "0.0.0.0"
	}
	all, err := f.access(s)
	if err != nil {
		return nil, err
	}
	one := &Server{folder: f, settings: s, auth: authenticator{now: time.Now, log: newServerLog(log)}, log: log, answers: all[1].key, closed: make(chan struct{})}
	one.auth.setUsers(all)
	one.options = &server.Options{
		ServerName: "flowdedup-hub", Host: host, Port: port, NoSigs: true, TLSConfig: certificates,
		PingInterval: pingEvery, MaxPingsOut: maxPings, WriteDeadline: 2 * time.Second, MaxSubs: hubSubscriptions, MaxConn: maxClients,
		CustomClientAuthentication: &one.auth, AlwaysEnableNonce: true,
		JetStream: true, StoreDir: f.at("jetstream"), JetStreamMaxMemory: -1, JetStreamMaxStore: -1,
		DisableJetStreamBanner: true,
	}
	// The port may be taken: the server only logs this.
	probe, err := net.Listen("tcp", net.JoinHostPort(host, portText))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrServer, err)
	}
	if err := probe.Close(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrServer, err)
	}
	if one.server, err = server.NewServer(one.options); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrServer, err)
	}
	one.server.SetLoggerV2(&clientLog{one, newServerLog(log), newServerLog(log)}, false, false, false)
	one.server.Start()
	if !one.server.ReadyForConnections(startTime) {
		one.Close()
		return nil, fmt.Errorf("%w: it does not start within %v", ErrServer, startTime)
	}
	one.sweeps.Go(one.watch)
	return one, nil
}

// URL returns an address of the server for this machine.
func (s *Server) URL() string { return s.server.ClientURL() }

// Reload takes the present keys of the folder: sites without a key any more are
// disconnected.
func (s *Server) Reload() error {
	all, err := s.folder.access(s.settings)
	if err != nil {
		return err
	}
	s.disconnect(s.auth.setUsers(all))
	return nil
}

// Ban disconnects a site that sends without end, or subscribes to more than it can use, and refuses
// its connections for a while.
func (s *Server) Ban(site string) {
	ids, span := s.auth.ban(site)
	if span == 0 {
		return
	}
	s.log.Warn(fmt.Sprintf("site %s is banned for %v, as it does far more than sensors do", site, span))
	s.disconnect(ids)
}

// Bans returns the bans of sites, by their names.
func (s *Server) Bans() map[string]Ban { return s.auth.bans() }

// disconnect disconnects clients.
func (s *Server) disconnect(ids []uint64) {
	for _, id := range ids {
		_ = s.server.DisconnectClientByID(id) // it may have gone
	}
}

// Repair opens the store of JetStream again. After a disk error a stream accepts nothing
// more, even when the disk has room again. Without room Repair returns the error, and
// leaves the store as it is.
func (s *Server) Repair() error {
	probe, err := os.CreateTemp(s.folder.at(""), "room-")
	if err != nil {
		return fmt.Errorf("%w: %w", ErrServer, err)
	}
	_, err = probe.Write(make([]byte, repairRoom))
	if err = errors.Join(err, probe.Close(), os.Remove(probe.Name())); err != nil {
		return fmt.Errorf("%w: %w", ErrServer, err)
	}
	if err := s.server.DisableJetStream(); err != nil {
		return fmt.Errorf("%w: %w", ErrServer, err)
	}
	store := &server.JetStreamConfig{StoreDir: s.options.StoreDir, MaxMemory: -1, MaxStore: -1, CompressOK: true}
	if err := s.server.EnableJetStream(store); err != nil {
		return fmt.Errorf("%w: %w", ErrServer, err)
	}
	return nil
}

// repairRoom is the free space, in bytes, that the store needs to be opened again.
const repairRoom = 1 << 20

// Close stops the server, and waits until it has stopped.
func (s *Server) Close() {
	close(s.closed)
	s.sweeps.Wait()
	s.server.Shutdown()
	s.server.WaitForShutdown()
}

// trust returns an option for servers that use TLS: their certificate must be from the CA
// of the settings or a certificate that the system trusts, and for the host name that sites use.
func (s *Settings) trust() nats.Option {
	config := &tls.Config{MinVersion: tls.VersionTLS13}
	if u, err := url.Parse(s.SiteURL()); err == nil {
		config.ServerName = u.Hostname()
	}
	if s.CA != "" {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM([]byte(s.CA))
	}
	return func(o *nats.Options) error {
		o.TLSConfig = config // no effect where the server uses none
		return nil
	}
}

// connect connects to a server, with the hub's key.
func connect(url, name string, seed []byte, log Logger, more ...nats.Option) (*nats.Conn, error) {
	keys, err := nkeys.FromSeed(seed)
	if err != nil {
		return nil, fmt.Errorf("%w: the hub's key: %w", ErrFolder, err)
	}
	public, err := keys.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("%w: the hub's key: %w", ErrFolder, err)
	}
	messages, resubscriber := newServerLog(log), &natslink.Resubscriber{}
	opts := append([]nats.Option{
		nats.Name(name), nats.Nkey(public, keys.Sign), nats.Timeout(startTime), nats.PingInterval(pingEvery),
		nats.MaxPingsOutstanding(maxPings), nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort(), nats.ReconnectWait(250 * time.Millisecond),
		nats.ErrorHandler(func(conn *nats.Conn, _ *nats.Subscription, err error) {
			resubscriber.Failed(conn, err)
			messages.warn(err.Error())
		}),
	}, more...)
	conn, err := nats.Connect(url, opts...)
	switch {
	case err == nil:
		return conn, checkVersion(conn)
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrNkeysNotSupported):
		return nil, fmt.Errorf("%w: of %s: if that is the hub's own server, --state names another folder than the hub's; else add the users that 'flowdedup-hub users' prints to its configuration", ErrRefused, url)
	}
	if errors.Is(err, nats.ErrNoServers) {
		return nil, fmt.Errorf("%w at %s", ErrSilent, url)
	}
	return nil, fmt.Errorf("%w: %s: %w", ErrServer, url, err)
}

// leastMinor is the oldest minor version of NATS 2 that hubs work with.
const leastMinor = 11

// checkVersion checks the version of a connection's server, and closes the connection if
// it is too old.
func checkVersion(conn *nats.Conn) error {
	version := conn.ConnectedServerVersion()
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err == nil && (major > 2 || major == 2 && minor >= leastMinor) {
		return nil
	}
	conn.Close()
	return fmt.Errorf("%w: version %s, want 2.%d or later", ErrVersion, version, leastMinor)
}

// Dial returns the options by which the hub connects to its own server within the
// process.
func (s *Server) Dial() []nats.Option { return []nats.Option{nats.InProcessServer(s.server)} }
