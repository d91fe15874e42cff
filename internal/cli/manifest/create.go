// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
)

// Creator creates objects as the flags of its command say.
type Creator struct {
	env         cli.Environment
	access      *connect.Access
	format      *display.FormatFlag
	dryRun      DryRun
	showSecrets bool
}

// AddFlags gives a command the flags by which people say what is done with what it makes.
func AddFlags(cmd *cobra.Command, env cli.Environment, access *connect.Access) *Creator {
	c := &Creator{env: env, access: access}
	c.format = display.AddFormatFlag(cmd, display.FormatText, display.FormatYAML, display.FormatJSON, display.FormatName)
	c.dryRun.AddFlag(cmd, DryRunClient, "create nothing: client (send nothing), server (let the API server validate)")
	cmd.Flags().BoolVar(&c.showSecrets, "show-secrets", false, "print credentials and values of Secrets instead of masking them")
	return c
}

// Check reports whether the flags make sense, before anything costly is done.
func (c *Creator) Check() error {
	if err := c.dryRun.Check(); err != nil {
		return err
	}
	_, err := c.format.Get()
	return err
}

// Offline reports whether nothing may be asked of the cluster.
func (c *Creator) Offline() bool { return c.dryRun == DryRunClient }

// Creates reports whether objects are created.
func (c *Creator) Creates() bool { return c.dryRun == NoDryRun }

// Do creates objects in this order, or does what --dry-run says, and prints them. If one of them cannot be created, none stays. An object
// that exists already is an error, except for one that holds data and has the very same: an earlier attempt may have been killed.
func (c *Creator) Do(ctx context.Context, objects ...client.Object) error {
	format, err := c.format.Get()
	if err != nil {
		return err
	}
	scheme, err := connect.Scheme()
	if err != nil {
		return err
	}
	// The answers of the API server are theirs; what is printed is what was asked for.
	var manifests []map[string]any
	var lines []string
	for _, object := range objects {
		manifest, err := Of(object, scheme)
		if err != nil {
			return err
		}
		if !c.showSecrets {
			manifest = manifest.Masked()
		}
		manifests = append(manifests, manifest)
		if format == display.FormatName {
			lines = append(lines, display.ManifestName(manifest))
		} else {
			lines = append(lines, title(object, scheme)+c.done())
		}
	}
	if !c.Offline() {
		create := func(ctx context.Context) error { return c.create(ctx, objects) }
		if err := c.env.Interruptible(ctx, create); err != nil {
			return err
		}
	}
	if format == display.FormatText || format == display.FormatName {
		return display.To(c.env, c.env.Out).Lines(lines...)
	}
	return display.To(c.env, c.env.Out).Manifests(manifests, format)
}

func (c *Creator) done() string {
	if c.Creates() {
		return " created"
	}
	return " created (" + string(c.dryRun) + " dry run)"
}

func (c *Creator) create(ctx context.Context, objects []client.Object) error {
	connection, err := c.access.Connect()
	if err != nil {
		return err
	}
	// What the API server refuses is found out before anything is there.
	for _, object := range objects {
		if _, err := createOne(ctx, connection, object, client.DryRunAll); err != nil {
			return err
		}
	}
	if !c.Creates() {
		return nil
	}
	return createAll(ctx, connection, objects)
}

// createAll creates objects, or none if one of them cannot be created, or the context ends before the last. A request that was sent gets
// its answer, because nobody knows what a cancelled one has done.
func createAll(ctx context.Context, to connect.Connection, objects []client.Object) error {
	defer context.AfterFunc(ctx, func() {
		to.Access.Tell("Interrupted; waiting for the API server to answer. Press Ctrl-C again to end at once; new objects may then stay.")
	})()
	unhurried := context.WithoutCancel(ctx)
	var created []client.Object
	for _, object := range objects {
		var stored client.Object
		err := to.Access.Explain(ctx.Err(), "create "+title(object, to.Client.Scheme()), object.GetNamespace())
		if err == nil {
			stored, err = createOne(unhurried, to, object)
		}
		if err != nil {
			undo(unhurried, to, created)
			return err
		}
		if stored != nil {
			created = append(created, stored)
		}
	}
	return nil
}

// createOne returns what it has created, which is nothing if an object with the same data exists already.
func createOne(ctx context.Context, to connect.Connection, object client.Object, options ...client.CreateOption) (client.Object, error) {
	stored := object.DeepCopyObject().(client.Object)
	err := to.Client.Create(ctx, stored, options...)
	if err == nil {
		return stored, nil
	}
	name := title(object, to.Client.Scheme())
	if !apierrors.IsAlreadyExists(err) {
		return nil, to.Access.Explain(err, "create "+name, object.GetNamespace())
	}
	existing := object.DeepCopyObject().(client.Object)
	if err := to.Client.Get(ctx, client.ObjectKeyFromObject(object), existing); err == nil && sameData(existing, object, to) {
		return nil, nil
	}
	return nil, &cli.Problem{
		Code: cli.ExitError, What: name + " exists already: nothing was created", Where: to.Access.Where(object.GetNamespace()), Cause: err,
		Next: []string{
			"choose another name, or delete the object",
			"to change it instead, add --dry-run=client -o yaml --show-secrets and pass the output to kubectl apply -f -",
		},
	}
}

// sameData reports whether two objects that hold data are the same, apart from their metadata.
func sameData(a, b client.Object, to connect.Connection) bool {
	first, err := Of(a, to.Client.Scheme())
	if err != nil {
		return false
	}
	second, err := Of(b, to.Client.Scheme())
	if err != nil || !slices.Contains([]any{"Secret", "ConfigMap", "DataObject"}, first["kind"]) {
		return false
	}
	first, second = maps.Clone(first), maps.Clone(second)
	delete(first, "metadata")
	delete(second, "metadata")
	return reflect.DeepEqual(first, second)
}

// undo deletes what was created, and tells of what it cannot delete.
func undo(ctx context.Context, in connect.Connection, created []client.Object) {
	for _, object := range slices.Backward(created) {
		uid := object.GetUID()
		err := in.Client.Delete(ctx, object, client.Preconditions{UID: &uid})
		if client.IgnoreNotFound(err) != nil {
			in.Access.Tell("warning: cannot delete the new %s again: %v", title(object, in.Client.Scheme()), err)
		}
	}
}
