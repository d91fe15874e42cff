// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package export is the command "espalier export": it prints the manifests with which an installation can be created elsewhere.
package export

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/cli/request"
	"espalier.dev/internal/objecttree"
)

type options struct {
	env         cli.Environment
	access      *connect.Access
	format      *display.FormatFlag
	all         bool
	withSecrets bool
}

// New returns the command.
func New(env cli.Environment) *cobra.Command {
	opts := &options{env: env}
	cmd := &cobra.Command{
		Use:   "export NAME... | --all",
		Short: "Print manifests that recreate installations elsewhere",
		Long: `Print the manifests of root installations and of everything that they need: the Context
with what it refers to, and the DataObjects, Targets, ConfigMaps and Secrets that they
import. The manifests name no namespace, and have no status and no other trace of this
cluster, so that kubectl apply -n NAMESPACE -f - creates the installations elsewhere.

Secrets are left out unless --with-secrets is set: standard error names those that must
exist where the manifests are applied. A Target that contains a kubeconfig then refers to
a Secret instead.

` + connect.FlagsHelp,
		Example: `  espalier export shop > shop.yaml
  espalier export shop --with-secrets | kubectl apply -n shop-copy -f -
  espalier export --all -o json`,
		RunE: func(cmd *cobra.Command, args []string) error { return opts.run(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.all, "all", false, "export all root installations of the namespace")
	flags.BoolVar(&opts.withSecrets, "with-secrets", false, "print Secrets and other credentials, too")
	opts.format = display.AddFormatFlag(cmd, display.FormatYAML, display.FormatJSON, display.FormatName)
	opts.access = connect.AddFlags(cmd, env)
	cmd.ValidArgsFunction = opts.access.CompleteInstallations(connect.RootInstallations)
	return cmd
}

func (o *options) run(ctx context.Context, names []string) error {
	format, err := o.format.Get()
	if err != nil {
		return err
	}
	if o.all == (len(names) > 0) {
		return errors.New("name the installations to export, or export all of them with --all")
	}
	connection, err := o.access.Connect()
	if err != nil {
		return err
	}
	roots, err := o.roots(ctx, connection, names)
	if err != nil {
		return err
	}
	luggage := newLuggage(connection, o.withSecrets, roots)
	manifests, err := luggage.pack(ctx)
	if err != nil {
		return err
	}
	if err := display.To(o.env, o.env.Out).Manifests(manifests, format); err != nil {
		return err
	}
	for _, note := range luggage.notes() {
		o.access.Tell("%s", display.Clean(note))
	}
	return nil
}

// roots reads the installations that are exported.
func (o *options) roots(ctx context.Context, from connect.Connection, names []string) ([]*lsv1alpha1.Installation, error) {
	if !o.all {
		requester := &request.Requester{Connection: from}
		verb := []string{"export"}
		if o.withSecrets {
			verb = append(verb, "--with-secrets")
		}
		return requester.Roots(ctx, names, verb...)
	}
	var list lsv1alpha1.InstallationList
	if err := from.Client.List(ctx, &list, client.InNamespace(from.Namespace)); err != nil {
		return nil, o.access.Explain(err, "list installations", from.Namespace)
	}
	var roots []*lsv1alpha1.Installation
	for i := range list.Items {
		if objecttree.ParentOf(&list.Items[i]) == "" {
			roots = append(roots, &list.Items[i])
		}
	}
	if len(roots) == 0 {
		o.access.Tell("No installations found in namespace %s.", from.Namespace)
	}
	return roots, nil
}

// list names things for people.
func list(names []string) string { return strings.Join(names, ", ") }

func notef(format string, args ...any) string { return "note: " + fmt.Sprintf(format, args...) }
