#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: a client of NATS that shall reconnect for ever does so whenever the server ends its
#        connection.
# Is:    after an error that nats.go has no case for, such as a subject longer than the server's
#        control line, it closes the connection for good, without another try.
# Why:   a sensor that relies on "MaxReconnects(-1)" hears nothing from its hub until it is started
#        anew, and sends each packet unchecked. It has to watch for the closed connection itself.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >go.mod <<'MOD'
module finding

go 1.26

require (
	github.com/nats-io/nats-server/v2 v2.15.2
	github.com/nats-io/nats.go v1.55.0
)
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// after returns the state of a connection that shall reconnect for ever, two seconds after do.
func after(do func(*server.Server, *nats.Conn)) string {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true})
	if err != nil {
		log.Fatal(err)
	}
	s.Start()
	conn, err := nats.Connect(s.ClientURL(), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		log.Fatal(err)
	}
	do(s, conn)
	time.Sleep(2 * time.Second)
	return conn.Status().String()
}

func main() {
	dropped := after(func(s *server.Server, conn *nats.Conn) {
		id, err := conn.GetClientID()
		if err == nil {
			err = s.DisconnectClientByID(id)
		}
		if err != nil {
			log.Fatal(err)
		}
	})
	long := after(func(_ *server.Server, conn *nats.Conn) {
		if err := conn.Publish(strings.Repeat("a", 5000), nil); err != nil {
			log.Fatal(err)
		}
	})
	fmt.Printf("after the server dropped it: %s; after a subject of 5,000 bytes: %s\n", dropped, long)
}
GO
go mod tidy >/dev/null 2>&1 || { echo "the modules cannot be had"; exit 2; }
seen=$(go run .)
echo "nats-server v2.15.2, nats.go v1.55.0: $seen"
[ "$seen" = "after the server dropped it: CONNECTED; after a subject of 5,000 bytes: CLOSED" ]
