// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/catalog"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/manifest"
	"espalier.dev/internal/component/credentials"
	"espalier.dev/internal/dataflow"
)

// luggage is what installations take with them to another place.
type luggage struct {
	from        connect.Connection
	withSecrets bool
	roots       []*lsv1alpha1.Installation
	// made are the objects that the roots export themselves wherever they are.
	made map[dataflow.ObjectID]bool

	// objects are those found so far, in the order in which they are created.
	objects []client.Object
	// left are names of Secrets, and of ConfigMaps with credentials, that stay behind, and missing is what does not exist here either.
	left    map[string]bool
	missing map[string]bool
	remarks []string
}

func newLuggage(from connect.Connection, withSecrets bool, roots []*lsv1alpha1.Installation) *luggage {
	l := &luggage{
		from: from, withSecrets: withSecrets, roots: roots,
		made: map[dataflow.ObjectID]bool{}, left: map[string]bool{}, missing: map[string]bool{},
	}
	for _, root := range roots {
		for _, object := range dataflow.ExportedObjects(dataflow.Scope{Namespace: root.Namespace}, root.Spec.Exports) {
			l.made[object] = true
		}
	}
	return l
}

// pack returns the manifests of the roots and of all that they need, which comes first.
func (l *luggage) pack(ctx context.Context) ([]map[string]any, error) {
	for _, root := range l.roots {
		for _, collect := range []func(context.Context, *lsv1alpha1.Installation) error{l.context, l.data, l.targets} {
			if err := collect(ctx, root); err != nil {
				return nil, err
			}
		}
	}
	for _, root := range l.roots {
		l.add(l.bareRoot(root))
	}
	var manifests []map[string]any
	for _, object := range l.objects {
		one, err := manifest.Of(object, l.from.Client.Scheme())
		if err != nil {
			return nil, err
		}
		delete(one["metadata"].(map[string]any), "namespace")
		manifests = append(manifests, one)
	}
	return manifests, nil
}

func (l *luggage) add(object client.Object) { l.objects = append(l.objects, object) }

// fetch reads an object for the first time. It returns false if it was read before or does not exist.
func (l *luggage) fetch(ctx context.Context, object client.Object, name string) (bool, error) {
	kind := kindOf(object)
	for _, there := range l.objects {
		if there.GetName() == name && kindOf(there) == kind {
			return false, nil
		}
	}
	err := l.from.Client.Get(ctx, client.ObjectKey{Namespace: l.from.Namespace, Name: name}, object)
	if apierrors.IsNotFound(err) {
		l.missing[kind+" "+name] = true
		return false, nil
	}
	return err == nil, l.from.Access.Explain(err, "read "+kind+" "+name, l.from.Namespace)
}

// take adds an object as it is.
func (l *luggage) take(ctx context.Context, object client.Object, name string) error {
	found, err := l.fetch(ctx, object, name)
	if found {
		l.add(object)
	}
	return err
}

// context adds the Context of an installation, and what it refers to.
func (l *luggage) context(ctx context.Context, root *lsv1alpha1.Installation) error {
	if git := root.Spec.Blueprint.Git; git != nil && git.SecretReference != nil {
		if err := l.secrets(ctx, git.SecretReference.Name); err != nil {
			return err
		}
	}
	name := cmp.Or(root.Spec.Context, lsv1alpha1.DefaultContextName)
	c := &lsv1alpha1.Context{}
	found, err := l.fetch(ctx, c, name)
	if !catalog.ReadsOutside(root) && name == lsv1alpha1.DefaultContextName {
		delete(l.missing, kindOf(c)+" "+name) // Nothing needs it.
	}
	if err != nil || !found {
		return err
	}
	if err := l.contextReferences(ctx, c); err != nil {
		return err
	}
	stayInside(c)
	l.add(c)
	return nil
}

// contextReferences adds what a Context refers to.
func (l *luggage) contextReferences(ctx context.Context, c *lsv1alpha1.Context) error {
	names, configMaps := credentials.Named(c)
	if err := l.secrets(ctx, append(names, l.chartCredentials(c)...)...); err != nil {
		return err
	}
	for _, each := range configMaps { // What they hold for OCM contains credentials.
		if err := l.confidential(ctx, &corev1.ConfigMap{}, each); err != nil {
			return err
		}
	}
	if c.ComponentVersionOverwritesReference == "" {
		return nil
	}
	return l.take(ctx, &lsv1alpha1.ComponentVersionOverwrites{}, c.ComponentVersionOverwritesReference)
}

// stayInside has references of a Context to its own namespace mean the one of the Context, wherever that is.
func stayInside(c *lsv1alpha1.Context) {
	for _, trusted := range c.VerificationSignatures {
		for _, at := range []*lsv1alpha1.SecretReference{trusted.PublicKeySecretReference, trusted.CACertificateSecretReference} {
			if at != nil && at.Namespace == c.Namespace {
				at.Namespace = ""
			}
		}
	}
}

// data adds what an installation imports from DataObjects, ConfigMaps and Secrets.
func (l *luggage) data(ctx context.Context, root *lsv1alpha1.Installation) error {
	scope := dataflow.Scope{Namespace: root.Namespace}
	needs := dataflow.NeedsOf(scope, root.Spec.Imports)
	for _, name := range needs.ConfigMaps {
		if err := l.take(ctx, &corev1.ConfigMap{}, name); err != nil {
			return err
		}
	}
	if err := l.secrets(ctx, needs.Secrets...); err != nil {
		return err
	}
	for _, name := range needs.DataObjects {
		if l.made[dataflow.ObjectID{Kind: dataflow.KindDataObject, Name: name}] {
			continue
		}
		object := &lsv1alpha1.DataObject{}
		found, err := l.fetch(ctx, object, name)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		hides, err := l.hides(ctx, object)
		if err != nil {
			return err
		}
		if hides {
			l.left[kindOf(object)+" "+name] = true
			continue
		}
		l.remarkOnSource(object)
		l.add(object)
	}
	return nil
}

// targets adds the Targets that an installation imports.
func (l *luggage) targets(ctx context.Context, root *lsv1alpha1.Installation) error {
	for _, name := range dataflow.NeedsOf(dataflow.Scope{Namespace: root.Namespace}, root.Spec.Imports).Targets {
		if l.made[dataflow.ObjectID{Kind: dataflow.KindTarget, Name: name}] {
			continue
		}
		t := &lsv1alpha1.Target{}
		found, err := l.fetch(ctx, t, name)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		l.remarkOnSource(t)
		l.withoutCredential(t)
		if t.Spec.SecretRef != nil {
			if err := l.secrets(ctx, t.Spec.SecretRef.Name); err != nil {
				return err
			}
		}
		l.add(t)
	}
	return nil
}

// secrets adds Secrets, if they are wanted.
func (l *luggage) secrets(ctx context.Context, names ...string) error {
	for _, name := range names {
		if err := l.confidential(ctx, &corev1.Secret{}, name); err != nil {
			return err
		}
	}
	return nil
}

// confidential adds an object with credentials, if these are wanted.
func (l *luggage) confidential(ctx context.Context, object client.Object, name string) error {
	if !l.withSecrets {
		l.left[kindOf(object)+" "+name] = true
		return nil
	}
	found, err := l.fetch(ctx, object, name)
	if err != nil || !found {
		return err
	}
	if secret, ok := object.(*corev1.Secret); ok && secret.Type == corev1.SecretTypeServiceAccountToken {
		l.left[kindOf(object)+" "+name] = true // Only its own cluster accepts it, and no other would take it.
		return nil
	}
	l.add(object)
	return nil
}

// remarkOnSource tells that a value comes from an installation that is not exported.
func (l *luggage) remarkOnSource(object client.Object) {
	labels := object.GetLabels()
	if source, ok := dataflow.InstallationOf(labels[lsv1alpha1.DataObjectSourceLabel]); ok {
		l.remarks = append(l.remarks, notef("%s %s is exported by installation %s, which is not part of the output: it is a copy of the present value",
			kindOf(object), object.GetName(), source))
	}
}

// notes tells what somebody has to know who applies the manifests.
func (l *luggage) notes() []string {
	notes := slices.Clone(l.remarks)
	if left := slices.Sorted(maps.Keys(l.left)); len(left) > 0 {
		advice := "create them where you apply the manifests"
		if !l.withSecrets {
			advice += ", or export them with --with-secrets"
		}
		notes = append(notes, notef("left out are %s: %s", list(left), advice))
	}
	if missing := slices.Sorted(maps.Keys(l.missing)); len(missing) > 0 {
		notes = append(notes, fmt.Sprintf("warning: these objects do not exist: %s", list(missing)))
	}
	return notes
}

func kindOf(object client.Object) string {
	switch object.(type) {
	case *lsv1alpha1.Installation:
		return "Installation"
	case *lsv1alpha1.Context:
		return "Context"
	case *lsv1alpha1.ComponentVersionOverwrites:
		return "ComponentVersionOverwrites"
	case *lsv1alpha1.DataObject:
		return "DataObject"
	case *lsv1alpha1.Target:
		return "Target"
	case *corev1.ConfigMap:
		return "ConfigMap"
	}
	return "Secret"
}
