// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Command release makes the artefacts of a release, by itself and without a network: programs for all platforms in archives, images, lists
// of what is in them, manifests, a Helm chart, the manifest of the kubectl plugin, and checksums. The same sources, version and Go give the
// same bytes. It is run by "make release".
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	opts, err := parse(os.Args[1:], os.Getenv)
	if err == nil {
		err = newRelease(opts).make(ctx)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// parse reads flags, and the time of the release from SOURCE_DATE_EPOCH, as all tools for reproducible builds do.
func parse(args []string, environment func(string) string) (options, error) {
	opts := options{root: ".", products: products, progress: os.Stderr}
	var chosen, parts, platforms string
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.StringVar(&opts.out, "out", "dist", "folder for the artefacts; it must be empty, or not exist")
	flags.StringVar(&opts.version, "version", "", "version of the release, such as v1.2.3")
	flags.StringVar(&opts.revision, "revision", "", "commit that the release is built from")
	flags.StringVar(&platforms, "platforms", "linux/amd64,linux/arm64", "platforms, each as OS/ARCHITECTURE")
	flags.StringVar(&chosen, "products", "", "only these of "+strings.Join(names(products), ", "))
	flags.StringVar(&parts, "parts", "", "only these of "+strings.Join(allParts, ", "))
	flags.StringVar(&opts.address, "address", "", "where the artefacts will be published")
	flags.StringVar(&opts.linkFlags, "ldflags", "", "flags for the linker, beside those that leave out what differs between machines")
	flags.StringVar(&opts.keyFile, "sign", "", "file with an Ed25519 key of OpenSSH that signs the checksums (default: they are not signed)")
	flags.BoolVar(&opts.pages, "pages", true, "insist on the pages of the web UI, which \"make ui\" builds")
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	if flags.NArg() > 0 {
		return opts, fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	err := errors.Join(
		opts.setTime(environment("SOURCE_DATE_EPOCH")), opts.setPlatforms(words(platforms)),
		opts.setProducts(words(chosen)), opts.setParts(words(parts)), opts.check(),
	)
	return opts, err
}

// words splits a list at commas and spaces.
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

func (o *options) setTime(epoch string) error {
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil || seconds < 0 {
		return fmt.Errorf("SOURCE_DATE_EPOCH is %q: set it to the time of the commit in seconds, for example $(git log -1 --format=%%ct)", epoch)
	}
	o.time = time.Unix(seconds, 0).UTC()
	return nil
}
