// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package objecttree reads the objects that installations consist of and puts them together as trees: an installation
// with the installations nested in it and its execution, an execution with its deploy items. It also says of each
// object in a word and a sentence how it is doing. Everything but the reading is pure.
package objecttree

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Kind is the kind of an object in a tree.
type Kind string

// These are the kinds of objects in trees.
const (
	Installation Kind = "Installation"
	Execution    Kind = "Execution"
	DeployItem   Kind = "DeployItem"
)

// KindOf returns the kind of an object, empty if it is not part of a tree.
func KindOf(object client.Object) Kind {
	switch object.(type) {
	case *lsv1alpha1.Installation:
		return Installation
	case *lsv1alpha1.Execution:
		return Execution
	case *lsv1alpha1.DeployItem:
		return DeployItem
	default:
		return ""
	}
}

// key identifies an object.
type key struct {
	kind            Kind
	namespace, name string
}

func (k key) compare(other key) int {
	return cmp.Or(cmp.Compare(k.kind, other.kind), cmp.Compare(k.namespace, other.namespace), cmp.Compare(k.name, other.name))
}

// Objects are the objects of one namespace, or of all. The zero value is ready for use.
type Objects struct {
	byKey map[key]client.Object
}

// Put adds an object, or replaces its older revision.
func (o *Objects) Put(object client.Object) {
	if o.byKey == nil {
		o.byKey = map[key]client.Object{}
	}
	o.byKey[key{KindOf(object), object.GetNamespace(), object.GetName()}] = object
}

// Remove removes an object.
func (o *Objects) Remove(object client.Object) {
	delete(o.byKey, key{KindOf(object), object.GetNamespace(), object.GetName()})
}

// pageSize keeps responses of the API server small, as kubectl does.
const pageSize = 500

// Read fetches all objects of a namespace; an empty one means all namespaces.
func Read(ctx context.Context, c client.Reader, namespace string) (*Objects, error) {
	objects := &Objects{}
	lists := map[string]client.ObjectList{
		"installations": &lsv1alpha1.InstallationList{}, "executions": &lsv1alpha1.ExecutionList{}, "deploy items": &lsv1alpha1.DeployItemList{},
	}
	for what, list := range lists {
		if err := objects.readAll(ctx, c, list, namespace); err != nil {
			return nil, fmt.Errorf("list %s: %w", what, err)
		}
	}
	return objects, nil
}

func (o *Objects) readAll(ctx context.Context, c client.Reader, list client.ObjectList, namespace string) error {
	options := client.ListOptions{Namespace: namespace, Limit: pageSize}
	for {
		if err := c.List(ctx, list, &options); err != nil {
			return err
		}
		for _, object := range items(list) {
			o.Put(object)
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

func items(list runtime.Object) []client.Object {
	var objects []client.Object
	switch l := list.(type) {
	case *lsv1alpha1.InstallationList:
		for i := range l.Items {
			objects = append(objects, &l.Items[i])
		}
	case *lsv1alpha1.ExecutionList:
		for i := range l.Items {
			objects = append(objects, &l.Items[i])
		}
	case *lsv1alpha1.DeployItemList:
		for i := range l.Items {
			objects = append(objects, &l.Items[i])
		}
	}
	return objects
}
