#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: a stream of JetStream whose settings state no window of message ids has a window of two minutes,
#        whatever else they state.
# Is:    a stream that has a source beside its own subjects has no window: a message that is published to it
#        twice with one Nats-Msg-Id is stored twice, and neither acknowledgment calls it a duplicate. With
#        the two minutes stated it is stored once.
# Why:   a hub that collects the streams of its sites is such a stream. On the day that it gets its first
#        source it begins to store copies, of its own publishers as well, without an error.
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
	"context"
	"fmt"
	"log"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func must[V any](v V, err error) V {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

func main() {
	s := must(server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: "store", NoSigs: true, NoLog: true}))
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		log.Fatal("no server")
	}
	js, ctx := must(jetstream.New(must(nats.Connect(s.ClientURL())))), context.Background()
	must(js.CreateStream(ctx, jetstream.StreamConfig{Name: "site", Subjects: []string{"site"}}))
	for _, hub := range []jetstream.StreamConfig{
		{Name: "plain", Subjects: []string{"plain"}},
		{Name: "sourced", Subjects: []string{"sourced"}, Sources: []*jetstream.StreamSource{{Name: "site"}}},
		{Name: "stated", Subjects: []string{"stated"}, Sources: []*jetstream.StreamSource{{Name: "site"}}, Duplicates: 2 * time.Minute},
	} {
		stream := must(js.CreateStream(ctx, hub))
		var second bool
		for range 2 {
			second = must(js.Publish(ctx, hub.Name, []byte("packet"), jetstream.WithMsgID("1"))).Duplicate
		}
		info := must(stream.Info(ctx))
		fmt.Printf("%s: window %v, duplicate %v, %d stored; ", hub.Name, info.Config.Duplicates, second, info.State.Msgs)
	}
}
GO
go mod tidy >/dev/null 2>&1 || { echo "the modules cannot be had"; exit 2; }
seen=$(go run .)
echo "nats-server v2.15.2, a message published twice: $seen"
[ "$seen" = "plain: window 2m0s, duplicate true, 1 stored; sourced: window 0s, duplicate false, 2 stored; stated: window 2m0s, duplicate true, 1 stored; " ]
