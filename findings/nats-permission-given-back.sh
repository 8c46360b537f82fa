#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: who loses the permission to hear a subject, by a reload of the NATS server, hears it again
#        when another reload gives the permission back: the connection stayed, and the client
#        calls the subscription valid.
# Is:    it hears nothing more. The server has ended the subscription, and only a new connection
#        makes it again.
# Why:   a sensor whose token was changed for a minute waits for answers that never come. It has to
#        take the error about permissions as the end of its subscription.
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
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

const file = "server.conf"

// allow writes the settings of a server on which a user may hear one subject.
func allow(subject string) {
	text := `listen: "127.0.0.1:-1"
authorization { users: [{user: u, password: p, permissions: {publish: ">", subscribe: ["` + subject + `", "_INBOX.>"]}}] }`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		log.Fatal(err)
	}
}

func main() {
	allow("counts")
	options, err := server.ProcessConfigFile(file)
	if err != nil {
		log.Fatal(err)
	}
	options.NoSigs, options.NoLog = true, true
	s, err := server.NewServer(options)
	if err != nil {
		log.Fatal(err)
	}
	s.Start()
	conn, err := nats.Connect(s.ClientURL(), nats.UserInfo("u", "p"), nats.MaxReconnects(-1), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		log.Fatal(err)
	}
	heard, err := conn.SubscribeSync("counts")
	if err != nil {
		log.Fatal(err)
	}
	says := func() string {
		if err := conn.Publish("counts", nil); err != nil {
			return err.Error()
		}
		if _, err := heard.NextMsg(time.Second); err != nil {
			return fmt.Sprintf("nothing (valid: %v)", heard.IsValid())
		}
		return "a message"
	}
	reload := func(subject string) {
		allow(subject)
		if err := s.Reload(); err != nil {
			log.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
	}
	allowed := says()
	reload("other")
	heard.NextMsg(time.Millisecond) // takes the error about permissions
	taken := says()
	reload("counts")
	back := says()
	if err := conn.ForceReconnect(); err != nil {
		log.Fatal(err)
	}
	time.Sleep(time.Second)
	fmt.Printf("allowed: %s; taken: %s; given back: %s; connected again: %s\n", allowed, taken, back, says())
}
GO
go mod tidy >/dev/null 2>&1 || { echo "the modules cannot be had"; exit 2; }
seen=$(go run .)
echo "nats-server v2.15.2, nats.go v1.55.0: $seen"
[ "$seen" = "allowed: a message; taken: nothing (valid: true); given back: nothing (valid: true); connected again: a message" ]
