// SPDX-License-Identifier: Apache-2.0

// Package certstest makes certificates for tests of TLS.
package certstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/certs"
)

// Authority signs certificates. Its own is in the file ca.pem of a folder.
type Authority struct {
	Dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New makes an authority in a new folder, for an hour.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{Dir: t.TempDir()}
	a.Renew(t)
	return a
}

// Renew gives the authority a new key: earlier certificates are not signed by it.
func (a *Authority) Renew(t testing.TB) {
	t.Helper()
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	var der []byte
	der, a.key = a.sign(t, a.cert, nil)
	a.write(t, "ca.pem", "CERTIFICATE", der)
}

// Files makes the certificate NAME.pem of 127.0.0.1 with the key NAME.key, valid from a minute ago
// until some time from now. It returns the names of both files and of the authority's.
func (a *Authority) Files(t testing.TB, name string, until time.Duration) (cert, key, authority string) {
	t.Helper()
	now := time.Now()
	der, own := a.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Minute), NotAfter: now.Add(until),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}, a.key)
	cert = a.write(t, name+".pem", "CERTIFICATE", der)
	der, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	return cert, a.write(t, name+".key", "PRIVATE KEY", der), filepath.Join(a.Dir, "ca.pem")
}

// sign signs a certificate, with its own key if signer is nil.
func (a *Authority) sign(t testing.TB, c *x509.Certificate, signer *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey) {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if signer == nil {
		signer = own
	}
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, own.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	return der, own
}

func (a *Authority) write(t testing.TB, name, kind string, der []byte) string {
	t.Helper()
	name = filepath.Join(a.Dir, name)
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Load returns new certificates that an authority signs, as Files does.
func Load(t testing.TB, a *Authority, until time.Duration) *certs.Files {
	t.Helper()
	f, err := certs.Load(a.Files(t, "node", until))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Hide replaces what a run of a test makes anew in its metrics: the file of a certificate, and when
// it expires.
func Hide(f *certs.Files, metrics []byte) string {
	name, _ := f.Expiry()
	return regexp.MustCompile("(?m)"+regexp.QuoteMeta(name)+`"} .*$`).ReplaceAllString(string(metrics), `node.pem"} 1.8e+09`)
}
