// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package create

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/cli/manifest"
	"espalier.dev/internal/cli/registry"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/offline"
	"espalier.dev/internal/preview"
)

// maxName is how long the name of an installation may be; it becomes part of label values.
const maxName = 58

type options struct {
	env        cli.Environment
	access     *connect.Access
	creator    *manifest.Creator
	registries *registry.Access
	source     source
	given      given
}

func newInstallation(env cli.Environment) *cobra.Command {
	opts := &options{env: env}
	cmd := &cobra.Command{
		Use:     "installation NAME",
		Aliases: []string{"inst"},
		Short:   "Create an installation from a component or a blueprint",
		Long: `Create an installation from a component, from a blueprint in a registry, or from the
directory of a blueprint, which then becomes part of the installation.

In a terminal, the command asks for the imports that the flags do not give, and shows
their type, schema and default. Elsewhere, a missing import is an error. Values are
checked against the schemas of the blueprint before anything is created.

A value is YAML or JSON if the schema accepts that, otherwise text. @FILE stands for the
content of a file, @- for standard input. Values go into the ConfigMap NAME-imports. Those
of --secret, and those whose schema says "format: password" or "writeOnly: true", go into
the Secret NAME-imports; they are not shown, neither typed nor printed. With --data, an
import takes the value of a DataObject instead, such as one that another installation
exports. Its present value is checked, too, unless you may not read it or give
--dry-run=client.

No job starts until you request one with espalier reconcile.

` + registry.CredentialsHelp + ` The credentials of the
Context are used, too, if you may read them.

` + connect.FlagsHelp,
		Example: `  espalier create installation shop --component example.com/shop:1.2.0 --repository registry.example.com/components
  espalier create installation shop --blueprint registry.example.com/blueprints/shop:1.2.0 --import replicas=2 --target cluster=production
  espalier create installation shop --blueprint ./blueprint --import settings=@settings.yaml --secret password=@password.txt
  espalier create installation shop --blueprint ./blueprint --data address=database-address --export url=shop-url
  espalier create installation shop --blueprint ./blueprint --dry-run=client -o yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return opts.run(cmd.Context(), args[0]) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveNoFileComp // The name is a new one.
		},
	}
	flags := cmd.Flags()
	opts.source.addFlags(flags)
	opts.given.addFlags(flags)
	opts.registries = registry.AddFlags(env, flags)
	opts.access = connect.AddFlags(cmd, env)
	opts.creator = manifest.AddFlags(cmd, env, opts.access)
	connect.CompleteFlag(cmd, "data", completeBehind("=", opts.access.CompleteDataObjects()))
	connect.CompleteFlag(cmd, "target", completeBehind("=:,", opts.access.CompleteTargets()))
	connect.CompleteFlag(cmd, "use-context", opts.access.CompleteContexts())
	return cmd
}

// completeBehind completes what follows the last of some separators in the value of a flag, as in NAME=TARGET,TARGET.
func completeBehind(separators string, complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		begin := strings.LastIndexAny(toComplete, separators) + 1
		if begin == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names, directive := complete(cmd, nil, toComplete[begin:])
		return connect.WithPrefix(toComplete[:begin], names), directive
	}
}

func (o *options) run(ctx context.Context, name string) error {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 || len(name) > maxName {
		return fmt.Errorf("%q cannot be the name of an installation: use at most %d lower-case letters, digits and '-', "+
			"and begin and end with a letter or digit", name, maxName)
	}
	if err := o.creator.Check(); err != nil {
		return err
	}
	if err := o.given.parse(); err != nil {
		return err
	}
	namespace, err := o.access.Namespace()
	if err != nil {
		return err
	}
	inst := &lsv1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := o.source.fill(o.env, &inst.Spec); err != nil {
		return err
	}
	found, err := o.imports(ctx, inst)
	if err != nil {
		return err
	}
	objects := found.apply(inst)
	if err := o.checkTargets(ctx, inst, found.targets); err != nil {
		return err
	}
	if err := o.creator.Do(ctx, append(objects, inst)...); err != nil {
		return err
	}
	if o.creator.Creates() {
		o.access.Tell("Next: %s", o.access.Suggest(namespace, "reconcile", name, "--wait"))
	}
	return nil
}

// imports reads the blueprint of an installation, and finds the values of its imports.
func (o *options) imports(ctx context.Context, inst *lsv1alpha1.Installation) (*imports, error) {
	manifests := offline.NewManifests(inst.Namespace)
	manifests.Installations = append(manifests.Installations, inst)
	if err := o.readContext(ctx, manifests, inst); err != nil {
		return nil, err
	}
	library, err := offline.OpenLibrary("", nil)
	if err != nil {
		return nil, err
	}
	var found *imports
	err = o.registries.Run(ctx, registry.Task{
		Name: "reading the blueprint", Lazy: true,
		Do: func(ctx context.Context, session *registry.Session) error {
			opened, err := offline.Open(ctx, manifests, offline.Options{Library: library, Outside: session.Outside})
			for _, warning := range opened.Warnings {
				o.access.Tell("warning: %s", display.Clean(warning))
			}
			if err != nil {
				return err
			}
			session.Finished()
			search := &search{env: o.env, access: o.access, given: &o.given, opened: opened, found: &imports{}}
			search.candidates = o.candidates(ctx, inst.Namespace)
			search.dataObject = o.dataObject(inst.Namespace)
			found = search.found
			return search.run(ctx)
		},
	})
	return found, err
}

// readContext reads the Context of an installation from the cluster, with what it refers to. Who may not read that has credentials of
// their own, or finds out.
func (o *options) readContext(ctx context.Context, manifests *offline.Manifests, inst *lsv1alpha1.Installation) error {
	if o.creator.Offline() {
		return nil
	}
	connection, err := o.access.Connect()
	if err != nil {
		return err
	}
	err = preview.Cluster{Client: connection.Client}.Sources(ctx, manifests, inst)
	if apierrors.IsForbidden(err) {
		o.access.Tell("warning: credentials of the Context are not used: %s", display.Clean(err.Error()))
		return nil
	}
	return o.access.Explain(err, "read the Context", inst.Namespace)
}

// dataObject reads DataObjects that the installation imports. One that does not exist may be created later.
func (o *options) dataObject(namespace string) func(context.Context, string) (any, bool, error) {
	return func(ctx context.Context, name string) (any, bool, error) {
		if o.creator.Offline() {
			return nil, false, nil
		}
		connection, err := o.access.Connect()
		if err != nil {
			return nil, false, err
		}
		var object lsv1alpha1.DataObject
		err = connection.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: dataflow.Scope{}.ObjectName(name)}, &object)
		switch {
		case apierrors.IsNotFound(err):
			o.access.Tell("warning: DataObject %s does not exist yet: the first job waits for it", name)
			return nil, false, nil
		case apierrors.IsForbidden(err):
			return nil, false, nil
		case err != nil:
			return nil, false, o.access.Explain(err, "read DataObject "+name, namespace)
		}
		var value any
		if err := utiljson.Unmarshal(object.Data.Raw, &value); err != nil { // Large whole numbers stay whole.
			return nil, false, fmt.Errorf("DataObject %s has no JSON value", name)
		}
		return value, true, nil
	}
}

// candidates lists the Targets that a user can choose from, if they can be read.
func (o *options) candidates(ctx context.Context, namespace string) func(targetType string) []string {
	return func(targetType string) []string {
		if o.creator.Offline() {
			return nil
		}
		connection, err := o.access.Connect()
		if err != nil {
			return nil
		}
		var list lsv1alpha1.TargetList
		if connection.Client.List(ctx, &list, client.InNamespace(namespace)) != nil {
			return nil
		}
		var names []string
		for _, t := range list.Items {
			if t.Labels[lsv1alpha1.DataObjectContextLabel] == "" && (targetType == "" || string(t.Spec.Type) == targetType) {
				names = append(names, t.Name)
			}
		}
		return names
	}
}

// checkTargets looks at the Targets that the installation imports. One that does not exist may be created later.
func (o *options) checkTargets(ctx context.Context, inst *lsv1alpha1.Installation, targets []wantedTarget) error {
	if o.creator.Offline() || len(targets) == 0 {
		return nil
	}
	connection, err := o.access.Connect()
	if err != nil {
		return err
	}
	for _, wanted := range targets {
		var t lsv1alpha1.Target
		err := connection.Client.Get(ctx, client.ObjectKey{Namespace: inst.Namespace, Name: wanted.name}, &t)
		switch {
		case apierrors.IsNotFound(err):
			o.access.Tell("warning: target %s does not exist yet: the first job waits for it", wanted.name)
		case apierrors.IsForbidden(err):
		case err != nil:
			return o.access.Explain(err, "read target "+wanted.name, inst.Namespace)
		case wanted.targetType != "" && string(t.Spec.Type) != wanted.targetType:
			return &cli.Problem{
				Code: cli.ExitError, Where: o.access.Where(inst.Namespace),
				What: fmt.Sprintf("import %s needs a Target of type %s, and %s is of type %s",
					wanted.imported, wanted.targetType, wanted.name, display.Clean(string(t.Spec.Type))),
				Next: []string{"choose another one: --target " + wanted.imported + "=NAME"},
			}
		}
	}
	return nil
}

// list names things for people. Whoever has written a blueprint has chosen the names in it.
func list(names []string) string { return display.Clean(strings.Join(names, ", ")) }
