// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"fmt"
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/flowdedup/flowdedup/asm/digest"
	benchlab "github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/engine/hubclient"
	"github.com/flowdedup/flowdedup/engine/hubclient/natslink"
)

// natsServer builds the program of the NATS project once.
var natsServer = sync.OnceValues(func() (string, error) {
	dir, err := programs()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "nats-server")
	if out, err := exec.Command("go", "build", "-o", path, "github.com/nats-io/nats-server/v2").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build nats-server: %w: %s", err, out)
	}
	return path, nil
})

// outside is a NATS server and a hub that uses it, each a process of its own.
type outside struct {
	t               *testing.T
	dir, address    string
	nats, hub       string // programs
	server, running *process
}

// newOutside makes the folder of a hub that knows of a server, and of two sites.
func newOutside(t *testing.T) *outside {
	t.Helper()
	path, err := natsServer()
	if err != nil {
		t.Fatal(err)
	}
	o := &outside{t: t, dir: t.TempDir(), address: "127.0.0.1:" + benchlab.FreePort(t), nats: path, hub: filepath.Join(filepath.Dir(path), "flowdedup-hub")}
	return o
}

func (o *outside) path(name string) string { return filepath.Join(o.dir, name) }

// startServer starts the server with a configuration, again if it was there.
func (o *outside) startServer(configuration string) {
	o.t.Helper()
	name := o.path("nats.conf")
	if err := os.WriteFile(name, fmt.Appendf(nil, "listen: %q\n%s", o.address, configuration), 0o600); err != nil {
		o.t.Fatal(err)
	}
	o.server = startProcess(o.t, exec.Command(o.nats, "-c", name))
	o.server.wait("Server is ready")
}

// startHub starts the hub, again if it was there.
func (o *outside) startHub() {
	o.t.Helper()
	o.running = startProcess(o.t, o.hubCommand())
	o.running.wait("sensors connect")
}

func (o *outside) hubCommand() *exec.Cmd {
	return exec.Command(o.hub, "--state", o.path("hub"), "--nats", "nats://"+o.address, "--http", "none", "--slices", "4",
		"--memory", "16MiB", "--journal")
}

// fails wants the hub to end with one line that has a text, and exit code 1.
func (o *outside) fails(want string) {
	o.t.Helper()
	p := startProcess(o.t, o.hubCommand())
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		o.t.Fatal("the hub goes on: ", p.stderr.String())
	}
	if text := p.stderr.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, want) || p.cmd.ProcessState.ExitCode() != 1 {
		o.t.Errorf("exit code %d, %q, want %q", p.cmd.ProcessState.ExitCode(), text, want)
	}
}

// run runs a command of the hub to its end.
func (o *outside) run(args ...string) string {
	o.t.Helper()
	out, err := exec.Command(o.hub, append(args, "--state", o.path("hub"))...).Output()
	if err != nil {
		o.t.Fatal(args, err)
	}
	return string(out)
}

func (o *outside) token(site string) hubclient.Token {
	o.t.Helper()
	token, err := hubclient.DecodeToken(o.run("join-token", site))
	if err != nil {
		o.t.Fatal(err)
	}
	return token
}

// ask has a site ask about packets, and returns how many are copies.
func (o *outside) ask(site string, packets int, at int64) (copies int) {
	o.t.Helper()
	c := join(o.t, o.token(site), hubclient.ClientConfig{Wait: 30 * time.Second, Block: true})
	digests, times := make([]digest.Digest, packets), make([]int64, packets)
	for i := range digests {
		digests[i][0], times[i] = uint64(i)*0x9e3779b97f4a7c15, at
	}
	var a hubclient.Answers
	c.Ask(&a, digests, times, make([]uint64, (packets+63)/64))
	if c.Wait(&a); a.Unchecked > 0 {
		o.t.Errorf("site %s: %d unchecked", site, a.Unchecked)
	}
	for _, word := range a.Copies {
		copies += bits.OnesCount64(word)
	}
	return copies
}

// TestExternalServer has a hub use a NATS server that is a process of its own, with a
// configuration that has the users that flowdedup-hub prints, and journals in its JetStream.
// The hub says what the server lacks. After kill -9 of the server, and of the hub, it knows
// what it knew.
func TestExternalServer(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 20 s")
	}
	o := newOutside(t)
	o.fails("none answers at nats://" + o.address)
	for _, site := range []string{"a", "b", "c", "d"} {
		o.token(site)
	}
	users, store := o.run("users"), fmt.Sprintf("jetstream { store_dir: %q }\n", o.path("store"))
	for _, c := range []struct{ configuration, want string }{
		{"authorization { user: x, password: y }", "flowdedup-hub users"},
		{store, "flowdedup-hub users"},
		{users, "JetStream, which hubs need"},
	} {
		o.startServer(c.configuration)
		o.fails(c.want)
		o.server.kill()
	}
	o.startServer(store + users)
	o.startHub()
	o.confined()
	const packets = 3000
	at := time.Now().UnixNano()
	if n := o.ask("a", packets, at); n != 0 {
		t.Errorf("%d copies at the first site", n)
	}
	if n := o.ask("b", packets, at); n != packets {
		t.Errorf("%d copies of %d at another site", n, packets)
	}
	o.server.kill()
	o.startServer(store + users)
	o.awaitSlices()
	if n := o.ask("c", packets, at); n != packets {
		t.Errorf("%d copies of %d after the server was killed", n, packets)
	}
	o.running.kill()
	o.startHub()
	if n := o.ask("d", packets, at); n != packets {
		t.Errorf("%d copies of %d after the hub was killed", n, packets)
	}
}

// awaitSlices waits until the hub answers for all slices.
func (o *outside) awaitSlices() {
	o.t.Helper()
	token := o.token("a")
	link, _, err := natslink.Dial(token, func(error) {})
	if err != nil {
		o.t.Fatal(err)
	}
	defer link.Close()
	c := hubclient.NewClient(hubclient.ClientConfig{Token: token, Wait: time.Second}, link, "again")
	defer c.Close()
	if err := link.Listen(c.Inbox(), c.Receive); err != nil {
		o.t.Fatal(err)
	}
	if !wait.For(func() bool { return c.Ping() == nil }) {
		o.t.Fatal("the hub never answers: ", o.running.stderr.String())
	}
}

// confined tries as a site what sites may not do: the server refuses it.
func (o *outside) confined() {
	o.t.Helper()
	token := o.token("a")
	keys, err := nkeys.FromSeed([]byte(token.Seed))
	if err != nil {
		o.t.Fatal(err)
	}
	public, err := keys.PublicKey()
	if err != nil {
		o.t.Fatal(err)
	}
	refused := make(chan string, 10)
	conn, err := nats.Connect(token.URL, nats.Nkey(public, keys.Sign), nats.CustomInboxPrefix(hubclient.Inbox("a")),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err.Error() }))
	if err != nil {
		o.t.Fatal(err)
	}
	defer conn.Close()
	for _, subject := range []string{"fd.main.packets.1.s000.tas.b", "fdctl.main.packets.reload", "$JS.API.STREAM.LIST", "_INBOX.b.run.0.1"} {
		if err := conn.Publish(subject, nil); err != nil {
			o.t.Fatal(err)
		}
		o.expect(refused, subject)
	}
	for _, subject := range []string{"fd.>", "_INBOX.b.>", "$KV.>"} {
		if _, err := conn.SubscribeSync(subject); err != nil {
			o.t.Fatal(err)
		}
		o.expect(refused, subject)
	}
	// The reply subject is the site's choice: nothing may come of it.
	to := hubclient.Subject{Namespace: token.Namespace, Filter: token.Filter, Epoch: token.Epoch, Op: hubclient.Ping, Site: "a"}.String()
	body := (&hubclient.Request{Op: hubclient.Ping, Epoch: token.Epoch}).Append(nil)
	bucket := fmt.Sprintf("$KV.fd_lease_%s_%s_%d.", token.Namespace, token.Filter, token.Epoch)
	for i := range 31 {
		if err := conn.PublishRequest(to, fmt.Sprintf("%sghost%d", bucket, i), body); err != nil {
			o.t.Fatal(err)
		}
	}
	if _, err := conn.Request(to, body, 10*time.Second); err != nil {
		o.t.Error("no answer to an honest ping: ", err)
	}
	text := o.run("status")
	for _, want := range []string{"4 slices, 4 with a hub", "site a has sent 31 bad requests"} {
		if !strings.Contains(text, want) {
			o.t.Errorf("status has no %q:\n%s", want, text)
		}
	}
}

// expect waits for the server to refuse a subject.
func (o *outside) expect(refused chan string, subject string) {
	o.t.Helper()
	select {
	case text := <-refused:
		if !strings.Contains(text, "ermissions") || !strings.Contains(text, subject) {
			o.t.Errorf("%s: %s", subject, text)
		}
	case <-time.After(10 * time.Second):
		o.t.Errorf("%s is not refused", subject)
	}
}
