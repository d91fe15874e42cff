// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/check"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
)

type checkOptions struct {
	env     cli.Environment
	access  *connect.Access
	format  *display.FormatFlag
	subject check.Subject
	all     bool
}

func newCheck(env cli.Environment) *cobra.Command {
	opts := &checkOptions{env: env}
	cmd := &cobra.Command{
		Use:   "check NAME... | --all",
		Short: "Check whether the clusters of Targets answer, and what their credentials may do",
		Long: `Check whether the clusters of Targets answer, which version they have, whether the
credentials have sufficient rights for what is deployed there, and when the first of their
certificates and tokens expires.

The command reads the Secrets of Targets with your rights, and connects to their clusters
from this machine; the controllers may reach clusters that you do not. It changes nothing
and prints no credential. A Target with oidcConfig needs a service account token in another
cluster, which the command only sends with --send-tokens.

Warnings, such as a certificate that expires soon, leave the exit code at 0.

` + connect.FlagsHelp,
		Example: `  espalier target check production
  espalier target check --all
  espalier target check --all -A -o json`,
		RunE: func(cmd *cobra.Command, args []string) error { return opts.run(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.all, "all", false, "check all Targets that lead to clusters")
	flags.BoolVar(&opts.subject.SendTokens, "send-tokens", false, "send tokens of service accounts to the clusters of Targets with oidcConfig")
	flags.DurationVar(&opts.subject.TargetTimeout, "timeout", 10*time.Second, "how long the cluster of one Target may take to answer")
	check.AddSystemFlags(cmd, &opts.subject)
	opts.format = display.AddFormatFlag(cmd, display.FormatTable, display.FormatJSON, display.FormatYAML, display.FormatName)
	opts.access = connect.AddFlags(cmd, env)
	opts.access.AddAllNamespaces()
	cmd.ValidArgsFunction = opts.access.CompleteTargets()
	return cmd
}

func (o *checkOptions) run(ctx context.Context, names []string) error {
	format, err := o.format.Get()
	if err == nil {
		err = o.validate(names)
	}
	if err != nil {
		return err
	}
	o.subject.AllRights = true
	subject, err := check.Connect(o.access, o.env, o.subject)
	if err != nil {
		return err
	}
	targets, err := o.read(ctx, subject, names)
	if err != nil {
		return err
	}
	wanted := check.IsClusterTarget
	if !o.all {
		wanted = func(t *lsv1alpha1.Target) bool { return slices.Contains(names, t.Name) }
	}
	report := newReport(check.Targets(ctx, subject, targets, wanted))
	if err := o.print(report, format); err != nil {
		return err
	}
	if code := report.code(); code != cli.ExitOK {
		return &cli.CodedError{Code: code}
	}
	return nil
}

func (o *checkOptions) validate(names []string) error {
	switch {
	case o.all == (len(names) > 0):
		return errors.New("name the Targets to check, or check all of them with --all")
	case o.access.AllNamespaces() && !o.all:
		return errors.New("names and --all-namespaces do not go together: name the namespace with -n, or check all with --all")
	case o.subject.TargetTimeout <= 0:
		return fmt.Errorf("--timeout is %s: a cluster needs some time to answer", o.subject.TargetTimeout)
	}
	return nil
}

// read returns the Targets of the namespace, or of all, which include the named ones. Somebody who may not list them gets the named ones.
func (o *checkOptions) read(ctx context.Context, subject check.Subject, names []string) ([]lsv1alpha1.Target, error) {
	var list lsv1alpha1.TargetList
	err := subject.Client.List(ctx, &list, client.InNamespace(subject.Namespace))
	if err != nil && (o.all || !apierrors.IsForbidden(err)) {
		return nil, o.access.Explain(err, "list Targets", subject.Namespace)
	}
	for _, name := range names {
		i := slices.IndexFunc(list.Items, func(t lsv1alpha1.Target) bool { return t.Name == name })
		if i < 0 {
			one, err := o.readOne(ctx, subject, name)
			if err != nil {
				return nil, err
			}
			list.Items = append(list.Items, *one)
			i = len(list.Items) - 1
		}
		if kind := list.Items[i].Spec.Type; kind != lsv1alpha1.TargetTypeKubernetesCluster {
			return nil, fmt.Errorf("target %s is of type %s: only Targets of type %s lead to a cluster that can be checked",
				name, display.Clean(string(kind)), lsv1alpha1.TargetTypeKubernetesCluster)
		}
	}
	return list.Items, nil
}

func (o *checkOptions) readOne(ctx context.Context, subject check.Subject, name string) (*lsv1alpha1.Target, error) {
	one := &lsv1alpha1.Target{}
	err := subject.Client.Get(ctx, client.ObjectKey{Namespace: subject.Namespace, Name: name}, one)
	if apierrors.IsNotFound(err) {
		return nil, &cli.Problem{
			Code: cli.ExitNotFound, What: fmt.Sprintf("target %s does not exist", name), Where: o.access.Where(subject.Namespace), Cause: err,
			Next: []string{o.access.SuggestKubectl(subject.Namespace, "get", "targets")},
		}
	}
	return one, o.access.Explain(err, "read target "+name, subject.Namespace)
}

func (o *checkOptions) print(r *report, format display.Format) error {
	printer := display.To(o.env, o.env.Out)
	switch {
	case format.IsData():
		return printer.Data(r, format)
	case format == display.FormatName:
		return printer.Lines(r.names()...)
	}
	if len(r.Targets) == 0 {
		o.access.Tell("No Targets that lead to clusters found.")
		return nil
	}
	if err := printer.Table(r.table(o.access.AllNamespaces())); err != nil {
		return err
	}
	return printer.Lines(r.advice()...)
}
