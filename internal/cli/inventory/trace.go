// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
)

type tracing struct {
	env    cli.Environment
	access *connect.Access
	format *display.FormatFlag
	target string
}

// NewTrace returns the command that leads from a live object to where it comes from.
func NewTrace(env cli.Environment) *cobra.Command {
	opts := tracing{env: env}
	cmd := &cobra.Command{
		Use:   "trace KIND/NAME",
		Short: "Find the installation that a live object comes from",
		Long: `Find out where a live object comes from: the deploy item that manages it, the execution,
the installations up to the root, their components and blueprints, the job, and the
promotion or pull request that set the version, if a pipeline did.

KIND is any name that kubectl takes, such as deploy, deployments.apps or ConfigMap; KIND
NAME works, too. The object may belong to a managed one, such as a pod to a Deployment.
Installations, executions and deploy items can be traced as well.

The object is looked up in the cluster of the connection, in the namespace that -n names.
--target looks it up in the cluster of a Target instead; the Target is in that namespace,
too, unless it is given as NAMESPACE/NAME. That needs the right to read the Target and,
if it has a secretRef, its Secret.

The command follows the annotations and labels that deployers leave on objects and checks
them against the inventory of the deploy item. For an object without them, it searches
all inventories. It reads the metadata of live objects only, and changes nothing.

-o name prints the name of the root installation, or of the pipeline if there is none.
-o tree, svg, mermaid and dot show the way from there to the object.

` + connect.FlagsHelp,
		Example: `  espalier trace deployment/web -n shop
  espalier trace pod web-7d4b9c -n shop
  espalier trace configmap/settings -n shop --target garden/production
  espalier trace deploy/web -n shop -o json`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return opts.run(cmd.Context(), args) },
	}
	cmd.Flags().StringVar(&opts.target, "target", "", "look up the object in the cluster of this Target: NAME or NAMESPACE/NAME")
	formats := []display.Format{display.FormatText, display.FormatJSON, display.FormatYAML, display.FormatName, display.FormatTree}
	opts.format = display.AddFormatFlag(cmd, append(formats, display.GraphFormats...)...)
	opts.access = connect.AddFlags(cmd, env)
	cmd.ValidArgsFunction = opts.complete
	connect.CompleteFlag(cmd, "target", opts.access.CompleteTargets())
	return cmd
}

// complete offers the names of live objects behind their kind, in the cluster that the command looks into.
func (o *tracing) complete(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	kind, begun, found := strings.Cut(toComplete, "/")
	prefix := kind + "/"
	if len(args) == 1 && !found && !strings.Contains(args[0], "/") {
		kind, begun, prefix, found = args[0], toComplete, "", true
	}
	namespace, err := o.access.Namespace()
	if err != nil || !found || len(args) > 0 && prefix != "" || len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := connect.CompletionContext(cmd)
	defer cancel()
	return connect.WithPrefix(prefix, o.names(ctx, kind, namespace, begun)), cobra.ShellCompDirectiveNoFileComp
}

// names are those of the objects of a kind that begin with a text; none if something is wrong.
func (o *tracing) names(ctx context.Context, kind, namespace, begun string) []string {
	at, err := o.place(ctx, namespace)
	if err != nil {
		return nil
	}
	defer at.close()
	gvk, err := at.kind(kind)
	if err != nil {
		return nil
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err := at.reader.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil
	}
	var names []string
	for i := range list.Items {
		if name := list.Items[i].Name; strings.HasPrefix(name, begun) {
			names = append(names, name)
		}
	}
	return names
}

// objectNamed reads the arguments: KIND/NAME, or KIND and NAME.
func objectNamed(args []string) (kind, name string, err error) {
	if len(args) == 2 {
		kind, name = args[0], args[1]
	} else {
		kind, name, _ = strings.Cut(args[0], "/")
	}
	if kind == "" || name == "" || strings.Contains(kind+name, "/") {
		return "", "", fmt.Errorf("%q does not name an object: give KIND/NAME, such as deployment/web", strings.Join(args, " "))
	}
	return kind, name, nil
}

// targetNamed reads the flag --target.
func targetNamed(text, namespace string) (client.ObjectKey, error) {
	key := client.ObjectKey{Namespace: namespace, Name: text}
	if before, after, found := strings.Cut(text, "/"); found {
		key = client.ObjectKey{Namespace: before, Name: after}
	}
	if key.Namespace == "" || key.Name == "" || strings.Contains(key.Name, "/") {
		return key, fmt.Errorf("--target %q does not name a Target: give NAME or NAMESPACE/NAME", text)
	}
	return key, nil
}

func (o tracing) run(ctx context.Context, args []string) error {
	format, err := o.format.Get()
	if err != nil {
		return err
	}
	kind, name, err := objectNamed(args)
	if err != nil {
		return err
	}
	connection, err := o.access.Connect()
	if err != nil {
		return err
	}
	at, err := o.place(ctx, connection.Namespace)
	if err != nil {
		return err
	}
	defer at.close()
	object, err := at.find(ctx, kind, client.ObjectKey{Namespace: connection.Namespace, Name: name})
	if err != nil {
		return err
	}
	found, err := o.trace(ctx, newSearch(connection, at), object)
	if err != nil {
		return err
	}
	return o.print(found, format)
}

func (o tracing) print(found *report, format display.Format) error {
	printer := display.To(o.env, o.env.Out)
	switch {
	case format.IsData():
		return printer.Data(found, format)
	case format == display.FormatName:
		return printer.Lines(found.names()...)
	case format == display.FormatTree:
		return printer.Outline(found.outline())
	case format.IsGraph():
		return printer.Graph(found.graph(), format)
	}
	return printer.Lines(found.lines(printer, o.access.Suggest)...)
}

func (o tracing) place(ctx context.Context, namespace string) (*place, error) {
	if o.target == "" {
		return here(ctx, o.access)
	}
	key, err := targetNamed(o.target, namespace)
	if err != nil {
		return nil, err
	}
	return behind(ctx, o.access, key)
}

// trace collects all there is to know about where an object comes from.
func (o tracing) trace(ctx context.Context, s *search, object *liveObject) (*report, error) {
	node, way, err := s.manager(ctx, object)
	if err != nil {
		return nil, err
	}
	var subjects []subject
	r := &report{Chain: []link{}, Object: viewOf(object)}
	if s.place.target != nil {
		r.Target = s.place.target.String()
	}
	if node != nil {
		chain := s.chain(ctx, node)
		r.describe(chain, way)
		s.nameTargets(ctx, r.Chain)
		subjects = subjectsOf(chain)
	} else if s.place.target == nil { // Pipelines know the clusters of Targets by other names.
		subjects = fluxSubjects(object)
	}
	r.Origins = s.origins(ctx, subjects)
	if node == nil && len(r.Origins) == 0 {
		return nil, o.nobody(s, object)
	}
	return r, nil
}

// nobody is the error for an object that nothing manages.
func (o tracing) nobody(s *search, object *liveObject) error {
	for _, app := range fluxOn(object) {
		s.note("Flux has applied it for %s %s, which no pipeline promotes", app.kind, app.ObjectKey)
	}
	what := fmt.Sprintf("no installation manages %s", titleOf(object))
	if len(s.notes) > 0 {
		what += ": " + strings.Join(s.notes, "; ")
	}
	problem := &cli.Problem{Code: cli.ExitNotFound, What: display.Clean(what), Where: s.place.where(object.Namespace)}
	if s.place.target == nil {
		problem.Next = append(problem.Next, "if its installation is in another cluster, connect to that one and name the Target with --target")
	}
	problem.Next = append(problem.Next, o.access.Suggest(s.namespace, "inventory"))
	return problem
}
