// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package ui is the command "espalier ui": the web UI for the user of a kubeconfig, and with "serve" for everybody who can log in to a
// cluster.
package ui

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"espalier.dev/internal/artifact"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/web"
)

const (
	localAddress   = "127.0.0.1:8090"
	clusterAddress = ":8090"

	// minKey is the length that a key needs that others must not guess.
	minKey = 32
)

type options struct {
	env     cli.Environment
	access  *connect.Access
	cmd     *cobra.Command
	address string
	// standard is a repository context in the syntax of artifact.ParseDefault.
	standard string
}

// addDefault adds the flag for what the controllers know by theirs, of which nothing in the cluster tells.
func addDefault(flags *pflag.FlagSet, into *string) {
	flags.StringVar(into, artifact.DefaultFlag, "", "the value of the same flag of the controllers, so that pages find the same components (default: none)")
}

// New returns the command "espalier ui".
func New(env cli.Environment) *cobra.Command {
	opts := &options{env: env}
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Show installations and pipelines in the browser",
		Long: `Serve the web UI on this machine, for yourself: what needs attention, why something
waits, and buttons for what the other commands do. It uses the rights of your kubeconfig,
in all namespaces, or in one if you name it with -n or may list nothing else.

The command prints an address that works once; that browser stays logged in for 12 hours,
while the command runs. It listens on loopback only. Ctrl-C stops it.

` + connect.FlagsHelp,
		Example: `  espalier ui
  espalier ui --context production --address 127.0.0.1:9000`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return opts.run(cmd.Context()) },
	}
	opts.cmd = cmd
	cmd.Flags().StringVar(&opts.address, "address", localAddress, "loopback address to listen on; port 0 selects a free port")
	addDefault(cmd.Flags(), &opts.standard)
	opts.access = connect.AddFlags(cmd, env)
	cmd.AddCommand(newServe(env))
	return cmd
}

func (o *options) run(ctx context.Context) error {
	ctx, stop := o.env.UntilInterrupted(ctx)
	defer stop()
	standard, err := artifact.ParseDefault(o.standard)
	if err != nil {
		return err
	}
	config, err := o.access.Config()
	if err != nil {
		return err
	}
	namespaces, err := o.namespaces(ctx, config)
	if err != nil {
		return err
	}
	server, err := web.New(web.Options{
		Config: config, Mode: web.Local, Namespaces: namespaces, DefaultRepository: standard, Inspectors: o.env.Inspectors,
		Log: logr.Discard(),
	})
	if err != nil {
		return err
	}
	listener, err := listen(o.address)
	if err != nil {
		return err
	}
	if web.IsLoopback(listener.Addr().String()) {
		fmt.Fprintln(o.env.Out, server.NewAddress(listener.Addr()))
		o.access.Tell("Open this address in a browser; it works once. Ctrl-C stops the web UI.")
	}
	return server.Serve(ctx, listener)
}

// namespaces are those that the user wants to see, or may.
func (o *options) namespaces(ctx context.Context, config *rest.Config) ([]string, error) {
	namespace, err := o.access.Namespace()
	if err != nil {
		return nil, err
	}
	if o.cmd.Flags().Changed("namespace") {
		return []string{namespace}, nil
	}
	all, err := web.MayListEverywhere(ctx, config)
	if err != nil {
		return nil, o.access.Explain(err, "find out what you may see", namespace)
	}
	if all {
		return nil, nil
	}
	o.access.Tell("You may not list installations in all namespaces; the web UI shows namespace %s. Name another with -n.", namespace)
	return []string{namespace}, nil
}

func listen(address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--address: %w: choose another one", err)
	}
	return listener, nil
}

type serveOptions struct {
	env               cli.Environment
	access            *connect.Access
	address           string
	hosts, namespaces []string
	clusterName       string
	standard          string
	keyFile           string
	certFile, tlsKey  string
	provider          oidcFlags
}

func newServe(env cli.Environment) *cobra.Command {
	opts := &serveOptions{env: env}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the web UI for everyone who can log in to the cluster",
		Long: `Serve the web UI in a cluster. People log in with a token of the API server and see and do
what their rights permit; every request uses that token, which stays in the memory of this
process. With --oidc-issuer, they can also log in with an OpenID Connect provider. Its ID
tokens are passed to the API server, which must trust the same provider, for the audience
of --oidc-client-id. Register the address https://HOST/auth/oidc/callback there.

The service account of the server needs the rights to list and watch what it shows, and to
create TokenReviews and SubjectAccessReviews; it needs no right to change anything.

Browsers keep the session only over HTTPS: set a certificate, or use a proxy that has one.

` + connect.FlagsHelp,
		Example: `  espalier ui serve --host espalier.example.com --tls-cert-file tls.crt --tls-key-file tls.key
  espalier ui serve --host espalier.example.com --session-key-file /etc/espalier/session-key
  espalier ui serve --host espalier.example.com --oidc-issuer https://login.example.com --oidc-client-id espalier-ui`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return opts.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.address, "address", clusterAddress, "address to listen on")
	flags.StringArrayVar(&opts.hosts, "host", nil, "host name that browsers use for the server; can be repeated")
	flags.StringArrayVar(&opts.namespaces, "only-namespace", nil, "namespace to show (default: all); can be repeated")
	flags.StringVar(&opts.clusterName, "cluster-name", "", "name of the cluster on the pages (default: its address)")
	flags.StringVar(&opts.keyFile, "session-key-file", "", "file with at least 32 bytes that sign sessions (default: a random key for this process)")
	flags.StringVar(&opts.certFile, "tls-cert-file", "", "file with the certificate for HTTPS")
	flags.StringVar(&opts.tlsKey, "tls-key-file", "", "file with the key of the certificate")
	addDefault(flags, &opts.standard)
	opts.provider.add(flags)
	opts.access = connect.AddFlags(cmd, env)
	return cmd
}

func (o *serveOptions) run(ctx context.Context) error {
	ctx, stop := o.env.UntilInterrupted(ctx)
	defer stop()
	if len(o.hosts) == 0 {
		return errors.New("--host is missing: set the host name that browsers use; requests for other hosts are rejected")
	}
	key, err := o.key()
	if err != nil {
		return err
	}
	provider, err := o.provider.chosen()
	if err != nil {
		return err
	}
	standard, err := artifact.ParseDefault(o.standard)
	if err != nil {
		return err
	}
	config, err := o.access.Config()
	if err != nil {
		return err
	}
	server, err := web.New(web.Options{
		Config: config, Mode: web.Cluster, Hosts: o.hosts, Namespaces: o.namespaces, Key: key, ClusterName: o.clusterName, OIDC: provider,
		DefaultRepository: standard, Inspectors: o.env.Inspectors,
		Log: logr.FromSlogHandler(slog.NewJSONHandler(o.env.ErrOut, nil)),
	})
	if err != nil {
		return err
	}
	listener, err := o.listen()
	if err != nil {
		return err
	}
	o.access.Tell("The web UI listens at %s.", listener.Addr())
	return server.Serve(ctx, listener)
}

func (o *serveOptions) key() ([]byte, error) {
	if o.keyFile == "" {
		return nil, nil
	}
	key, err := os.ReadFile(o.keyFile)
	if err != nil {
		return nil, fmt.Errorf("--session-key-file: %w", err)
	}
	if key = bytes.TrimSpace(key); len(key) < minKey {
		return nil, fmt.Errorf("--session-key-file: %s has %d bytes, and %d are needed: create a key with \"openssl rand -hex 32\"",
			o.keyFile, len(key), minKey)
	}
	return key, nil
}

// listen listens with the certificate, if there is one.
func (o *serveOptions) listen() (net.Listener, error) {
	if (o.certFile == "") != (o.tlsKey == "") {
		return nil, errors.New("--tls-cert-file and --tls-key-file go together: give both, or none")
	}
	if o.certFile == "" {
		return listen(o.address)
	}
	certificate, err := tls.LoadX509KeyPair(o.certFile, o.tlsKey)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert-file, --tls-key-file: %w", err)
	}
	listener, err := listen(o.address)
	if err != nil {
		return nil, err
	}
	return tls.NewListener(listener, &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, Certificates: []tls.Certificate{certificate},
	}), nil
}
