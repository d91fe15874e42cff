// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/objecttree"
)

// objectList is the List of kubectl.
type objectList struct {
	metav1.TypeMeta `json:",inline"`
	Items           []client.Object `json:"items"`
}

// Objects prints the objects of nodes as the API server has them: as a List, or alone if there is only one that was
// asked for by name.
func (p Printer) Objects(nodes []*objecttree.Node, format Format, alone bool) error {
	items := []client.Object{}
	for _, node := range nodes {
		object := node.Object.DeepCopyObject().(client.Object)
		object.GetObjectKind().SetGroupVersionKind(lsv1alpha1.SchemeGroupVersion.WithKind(string(node.Kind)))
		items = append(items, object)
	}
	return p.List(items, format, alone)
}

// List prints objects, which name their kinds, as a List, or one alone. It takes their managed fields away.
func (p Printer) List(items []client.Object, format Format, alone bool) error {
	for _, item := range items {
		item.SetManagedFields(nil)
	}
	if alone && len(items) == 1 {
		return p.Data(items[0], format)
	}
	return p.Data(objectList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, Items: items}, format)
}

// Names prints the names of objects in the form that kubectl takes.
func (p Printer) Names(nodes []*objecttree.Node) error {
	var lines []string
	for _, node := range nodes {
		lines = append(lines, ResourceName(node.Kind, node.Name()))
	}
	return p.Lines(lines...)
}

// ResourceName names an object in the form that kubectl takes.
func ResourceName(kind objecttree.Kind, name string) string {
	return strings.ToLower(string(kind)) + "." + lsv1alpha1.GroupName + "/" + name
}
