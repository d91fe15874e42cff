// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli/check"
)

// shownFields is how many fields a finding names.
const shownFields = 3

// objects looks at every object of the kinds that are taken over.
func (e *examination) objects(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(e.live)) {
		there := e.live[name]
		if !e.system.owns(there.Spec.Group) {
			continue
		}
		wanted, err := e.target(name)
		if err != nil {
			return err
		}
		if wanted == nil {
			continue
		}
		count, err := e.kind(ctx, there, wanted)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(e.report.Definitions, func(d Definition) bool { return d.Name == name })
		e.report.Definitions[at].Objects = &count
	}
	if e.back || e.system.conclude == nil {
		return nil
	}
	return e.system.conclude(ctx, e)
}

// kind looks at all objects of one kind, page by page.
func (e *examination) kind(ctx context.Context, there, wanted *apiextensionsv1.CustomResourceDefinition) (int, error) {
	version, fields, err := bothServe(there, wanted)
	if err != nil || version == "" {
		return 0, err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: there.Spec.Group, Version: version, Kind: there.Spec.Names.ListKind})
	count := 0
	err = e.each(ctx, list, func() error {
		for i := range list.Items {
			count++
			if err := e.object(ctx, &list.Items[i], there.Spec.Names.Plural, fields); err != nil {
				return err
			}
		}
		return nil
	})
	if meta.IsNoMatchError(err) {
		return 0, nil // The definition is there, and the API server does not serve it.
	}
	return count, e.access.Explain(err, "list "+there.Name, "")
}

// bothServe finds a version that the cluster serves and the other definition knows, with the fields that it has there.
func bothServe(there, wanted *apiextensionsv1.CustomResourceDefinition) (string, *structural.Structural, error) {
	for _, version := range there.Spec.Versions {
		same := func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version.Name }
		at := slices.IndexFunc(wanted.Spec.Versions, same)
		if !version.Served || at < 0 || wanted.Spec.Versions[at].Schema == nil {
			continue
		}
		var internal apiextensions.JSONSchemaProps
		from := wanted.Spec.Versions[at].Schema.OpenAPIV3Schema
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(from, &internal, nil); err != nil {
			return "", nil, fmt.Errorf("read the schema of %s: %w", wanted.Name, err)
		}
		fields, err := structural.NewStructural(&internal)
		if err != nil {
			return "", nil, fmt.Errorf("read the schema of %s: %w", wanted.Name, err)
		}
		return version.Name, fields, nil
	}
	return "", nil, nil
}

func (e *examination) object(ctx context.Context, object *unstructured.Unstructured, plural string, fields *structural.Structural) error {
	if e.trackJobs {
		e.job(object)
	}
	if visit := e.system.visitors[plural]; visit != nil && !e.back {
		if err := visit(ctx, e, object); err != nil {
			return err
		}
	}
	e.lost(object, fields) // Comes last: it takes away what is lost.
	return nil
}

// lost finds the fields of an object that the other definition does not have: the API server drops them when the object is next written.
func (e *examination) lost(object *unstructured.Unstructured, fields *structural.Structural) {
	paths := pruning.PruneWithOptions(object.Object, fields, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	inStatus := func(path string) bool { return path == "status" || strings.HasPrefix(path, "status.") }
	if given := slices.DeleteFunc(slices.Clone(paths), inStatus); len(given) > 0 {
		e.add(Finding{
			Level: check.Wrong, Code: codeFieldLost, Object: titleOf(object),
			Message: fmt.Sprintf("has fields that %s does not know and the API server drops: %s", e.destination(), some(given)),
			Next:    []string{"keep a copy of the object, and remove these fields"},
		})
	}
	// What Espalier has added to statuses is reported once, at the end of the way back.
	if status := slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return !inStatus(path) }); len(status) > 0 && !e.back {
		e.add(Finding{
			Level: check.Doubtful, Code: codeStatusFieldLost, Object: titleOf(object),
			Message: fmt.Sprintf("has status fields that %s does not know and the API server drops: %s", e.destination(), some(status)),
		})
	}
}

// destination is the system that runs afterwards.
func (m *migration) destination() string {
	if m.back {
		return m.system.title
	}
	return "Espalier"
}

func titleOf(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
}

func some(names []string) string {
	if len(names) <= shownFields {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shownFields], ", "), len(names)-shownFields)
}

// read turns an object into one of our types. An object that does not fit is a finding.
func (e *examination) read(object *unstructured.Unstructured, into any) bool {
	if convert(object, into) == nil {
		return true
	}
	// The error of the decoder may quote values.
	e.add(Finding{
		Level: check.Wrong, Code: codeUnreadable, Object: titleOf(object),
		Message: "has a field of another type than Espalier expects, so it cannot be read",
		Next:    []string{"compare it with docs/reference, and correct it"},
	})
	return false
}

func convert(object *unstructured.Unstructured, into any) error {
	text, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// job is an object that has one to do.
type job struct {
	kind schema.GroupVersionKind
	key  client.ObjectKey
	// code is that of the finding.
	code string
}

// runnable is what objects with jobs have in common.
type runnable struct {
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		lsv1alpha1.RunStatus
		// Dependents are installations that get a job because this one has ended its own.
		Dependents []json.RawMessage `json:"dependentsToTrigger"`
	} `json:"status"`
}

var kindsWithJobs = []string{"Installation", "Execution", "DeployItem"}

// job notes what is going on or about to begin. Of a tree, its top is named.
func (e *examination) job(object *unstructured.Unstructured) {
	if !slices.Contains(kindsWithJobs, object.GetKind()) {
		return
	}
	item := &runnable{}
	if metav1.GetControllerOf(object) != nil && object.GetKind() != "DeployItem" || !e.read(object, item) {
		return
	}
	code, message := pending(object.GetKind(), item)
	if code == "" {
		return
	}
	finding := Finding{Level: check.Wrong, Code: code, Object: titleOf(object), Message: message}
	switch code {
	case codeDeletionFailed:
		finding.Level, finding.Next = check.Doubtful, []string{"start a job after the migration to retry, or delete it before"}
	default:
		e.running = append(e.running, job{object.GroupVersionKind(), client.ObjectKeyFromObject(object), code})
		finding.Next = e.jobAdvice(code)
	}
	e.add(finding)
}

func (e *examination) jobAdvice(code string) []string {
	if e.back {
		return []string{
			"start the controllers of Espalier again until it has finished",
			"or continue and let " + e.system.title + " finish it: --ignore " + code,
		}
	}
	if runsAny(e.theirs) {
		return []string{"wait; the migration also waits, for as long as --timeout permits", "or let Espalier continue it: --ignore " + code}
	}
	return []string{"no controller is working on it. Let Espalier continue it: --ignore " + code}
}

// pending says what is going on with an object; nothing if it is at rest.
func pending(kind string, item *runnable) (code, message string) {
	operation := lsv1alpha1.Operation(item.Annotations[lsv1alpha1.OperationAnnotation])
	nested := metav1.GetControllerOf(item) != nil
	switch {
	case !nested && !item.Status.IsFinished():
		return codeJobRunning, fmt.Sprintf("has a running job, in phase %s", orNone(string(item.Status.Phase)))
	case kind == "DeployItem" && operation == lsv1alpha1.OperationTestReconcile:
		return codeJobRequested, "has a request for a job, operation " + string(operation)
	case kind != "Installation":
		return "", ""
	}
	return pendingInstallation(item, operation)
}

// pendingInstallation is for installations without a job that runs.
func pendingInstallation(item *runnable, operation lsv1alpha1.Operation) (code, message string) {
	switch {
	case item.DeletionTimestamp != nil && item.Status.Phase == lsv1alpha1.PhaseDeleteFailed:
		return codeDeletionFailed, "could not be deleted"
	case item.DeletionTimestamp != nil:
		return codeJobRequested, "is being deleted, and its deletion has not started"
	case len(item.Status.Dependents) > 0:
		return codeJobRequested, "is about to start jobs of the installations in status.dependentsToTrigger"
	case operation == lsv1alpha1.OperationReconcile || operation == lsv1alpha1.OperationForceReconcile:
		return codeJobRequested, "has a request for a job, operation " + string(operation)
	case item.Annotations[lsv1alpha1.ReconcileIfChangedAnnotation] == "true" && item.Generation != item.Status.ObservedGeneration:
		return codeJobRequested, "has changed and has annotation " + lsv1alpha1.ReconcileIfChangedAnnotation + ", so a job is about to start"
	}
	return "", ""
}

func orNone(phase string) string {
	if phase == "" {
		return "(none)"
	}
	return phase
}
