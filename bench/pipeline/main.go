//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// The captures must not stay behind in memory.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pipeline:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("pipeline", flag.ContinueOnError)
	quick := flags.Bool("quick", false, "small captures and one round, to see that everything works")
	rounds := flags.Int("rounds", 0, "rounds, instead of 5, or of 1 with -quick")
	dir := flags.String("dir", "", "folder for captures and outputs (default: /dev/shm or the folder for temporary files)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || *rounds < 0 {
		return errors.New("wrong usage: an argument, or negative rounds")
	}
	p := full
	if *quick {
		p = small
	}
	if *rounds > 0 {
		p.rounds = *rounds
	}
	return measureAll(ctx, p, *dir, out)
}

// measureAll makes the captures, measures, and takes them away again.
func measureAll(ctx context.Context, p plan, dir string, out io.Writer) (err error) {
	b, err := newBench(ctx, p, dir, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if err := b.printMachine(ctx); err != nil {
		return err
	}
	err = b.tools(ctx)
	if ctx.Err() != nil {
		return err
	}
	return errors.Join(err, b.inputs(ctx))
}
