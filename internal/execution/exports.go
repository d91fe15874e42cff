// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/failure"
)

// ExportSecrets returns the references to the Secrets with exports, by the name of the deploy item.
func ExportSecrets(s Snapshot) map[string]lsv1alpha1.ObjectReference {
	references := map[string]lsv1alpha1.ObjectReference{}
	for i := range s.Items {
		if reference := s.Items[i].Status.ExportReference; reference != nil {
			references[s.Items[i].Name] = *reference
		}
	}
	return references
}

func exportName(e *lsv1alpha1.Execution) string { return dataflow.ExecutionExportName(e.Name) }

// prepareExports prepares the object with the exports once all items have succeeded.
func (l *facts) prepareExports(m matching) {
	if l.o.Invalid != nil || slices.ContainsFunc(l.o.Wanted, func(i Item) bool { return i.State != StateSucceeded }) {
		return
	}
	values := map[string]any{}
	for _, item := range l.o.Wanted {
		object := m.chosen[item.Name]
		if object.Status.ExportReference == nil {
			continue
		}
		if !l.ExportsRead {
			l.o.Export.Unread = true
			return
		}
		value, err := l.exportOf(item.Name, object)
		if err != nil {
			l.o.Export.Err = err
			return
		}
		values[item.Name] = value
	}
	if len(values) > 0 {
		l.prepareExport(values)
	} else if l.Execution.Status.ExportReference != nil {
		l.o.Export.Leftover = exportName(l.Execution)
	}
}

// exportOf reads the exports of an item. Errors do not quote them.
func (l *facts) exportOf(name string, object *lsv1alpha1.DeployItem) (any, error) {
	reference := object.Status.ExportReference
	subject := fmt.Sprintf("status.exportRef of deploy item %q (%s)", name, object.Name)
	if reference.Namespace != "" && reference.Namespace != object.Namespace {
		return nil, unusable("%s refers to a Secret in namespace %s: it must be in namespace %s", subject, reference.Namespace, object.Namespace)
	}
	text, found := l.Exports[object.Name]
	if !found {
		return nil, unusable("%s refers to Secret %s, which does not exist or has no key %q: start a new job to rewrite it",
			subject, reference.Name, lsv1alpha1.ExportSecretKey)
	}
	asJSON, err := yaml.ToJSON(text)
	var value any
	if err == nil {
		err = json.Unmarshal(asJSON, &value)
	}
	if err != nil {
		return nil, unusable("%s refers to Secret %s, whose key %q is not valid YAML or JSON", subject, reference.Name, lsv1alpha1.ExportSecretKey)
	}
	return value, nil
}

func unusable(format string, args ...any) error {
	return failure.Terminalf(failure.Details{
		Operation: operationCollect, Reason: ReasonExportsUnusable, Codes: []string{string(lsv1alpha1.ErrorConfigurationProblem)},
	}, format, args...)
}

func (l *facts) prepareExport(values map[string]any) {
	e := l.Execution
	owner := dataflow.Owner{Namespace: e.Namespace, Name: e.Name, UID: e.UID, JobID: e.Status.JobID}
	wanted, err := dataflow.ExecutionExport(owner, values)
	if err != nil {
		l.o.Export.Err = unusable("the exports cannot be converted to JSON")
		return
	}
	l.o.Export.Reference = &lsv1alpha1.ObjectReference{Name: wanted.Name, Namespace: wanted.Namespace}
	if l.Export == nil {
		l.o.Export.Write = wanted
		return
	}
	changed := l.Export.DeepCopy()
	changed.Data = wanted.Data
	changed.OwnerReferences = wanted.OwnerReferences
	changed.Labels, changed.Annotations = with(changed.Labels, wanted.Labels), with(changed.Annotations, wanted.Annotations)
	if !equality.Semantic.DeepEqual(changed.ObjectMeta, l.Export.ObjectMeta) || !sameData(changed, l.Export) {
		l.o.Export.Write, l.o.Export.Exists = changed, true
	}
}

// sameData relies on the hash, which covers the data, unless another client has changed only the data.
func sameData(a, b *lsv1alpha1.DataObject) bool {
	var left, right any
	if a.Data.Decode(&left) != nil || b.Data.Decode(&right) != nil {
		return false
	}
	return equality.Semantic.DeepEqual(left, right)
}

// stored returns the export after the object was written.
func (x Export) stored() Export { return Export{Reference: x.Reference} }
