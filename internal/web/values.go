// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"fmt"
	"net/http"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/confidential"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/web/rights"
	"espalier.dev/internal/web/view"
)

func getRight(group, resource string) rights.Right {
	return rights.Right{Verb: "get", Group: group, Resource: resource}
}

// readable is a kind that can be read.
type readable struct {
	right rights.Right
	make  func() client.Object
}

var readables = map[string]readable{
	"Installation": {getRight(lsv1alpha1.GroupName, "installations"), func() client.Object { return &lsv1alpha1.Installation{} }},
	"Execution":    {getRight(lsv1alpha1.GroupName, "executions"), func() client.Object { return &lsv1alpha1.Execution{} }},
	"DeployItem":   {getRight(lsv1alpha1.GroupName, "deployitems"), func() client.Object { return &lsv1alpha1.DeployItem{} }},
	"DataObject":   {getRight(lsv1alpha1.GroupName, "dataobjects"), func() client.Object { return &lsv1alpha1.DataObject{} }},
	"Target":       {getRight(lsv1alpha1.GroupName, "targets"), func() client.Object { return &lsv1alpha1.Target{} }},
	"Pipeline":     {getRight(pipelines.GroupName, "pipelines"), func() client.Object { return &pipelines.Pipeline{} }},
	"Secret":       {getRight("", "secrets"), func() client.Object { return &corev1.Secret{} }},
	"ConfigMap":    {getRight("", "configmaps"), func() client.Object { return &corev1.ConfigMap{} }},
}

// refOf returns the object that a request names.
func refOf(r *http.Request) view.Ref {
	q := r.URL.Query()
	return view.Ref{Kind: q.Get("kind"), Namespace: q.Get("namespace"), Name: q.Get("name")}
}

// read gets an object with the rights of the caller.
func (by caller) read(r *http.Request, ref view.Ref) (client.Object, error) {
	kind, known := readables[ref.Kind]
	if !known || ref.Namespace == "" || ref.Name == "" {
		return nil, invalid("Specify kind, namespace and name of one object; kind %q is not shown here.", ref.Kind)
	}
	object := kind.make()
	err := by.reader.client.Get(r.Context(), client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, object)
	return object, attempt{
		right: kind.right, namespace: ref.Namespace, what: fmt.Sprintf("read %s %s", ref.Kind, ref.Name),
	}.refusal(err)
}

// maxValue is the maximum length of a displayed value.
const maxValue = 256 << 10

type shownValue struct {
	Value     string `json:"value"`
	Truncated bool   `json:"truncated"`
}

// value shows the value of an import or export, to readers who may read the object that holds it.
func (s *Server) value(r *http.Request, by caller) (any, error) {
	ref, key := refOf(r), r.URL.Query().Get("key")
	object, err := by.read(r, ref)
	if err != nil {
		return nil, err
	}
	var text string
	switch o := object.(type) {
	case *lsv1alpha1.DataObject:
		text, err = plainYAML(o.Data.Raw)
	case *corev1.Secret:
		text, err = ofKey(asText(o.Data), ref, key)
	case *corev1.ConfigMap:
		text, err = ofKey(o.Data, ref, key)
	default:
		return nil, invalid("%s has no value: values are in DataObjects, Secrets and ConfigMaps.", ref.Kind)
	}
	if err != nil {
		return nil, err
	}
	shown, truncated := cut(text)
	return shownValue{Value: shown, Truncated: truncated}, nil
}

func asText(data map[string][]byte) map[string]string {
	result := map[string]string{}
	for key, value := range data {
		if utf8.Valid(value) {
			result[key] = string(value)
			continue
		}
		result[key] = fmt.Sprintf("(%d bytes that are no text)", len(value))
	}
	return result
}

// ofKey returns one value, or all of them.
func ofKey(data map[string]string, ref view.Ref, key string) (string, error) {
	if key == "" {
		text, err := yaml.Marshal(data)
		return string(text), err
	}
	text, exists := data[key]
	if !exists {
		return "", &problem{Status: http.StatusNotFound, Message: fmt.Sprintf("%s %s has no key %q.", ref.Kind, ref.Name, key)}
	}
	return text, nil
}

func plainYAML(raw []byte) (string, error) {
	text, err := yaml.JSONToYAML(raw)
	if err != nil {
		return "", fmt.Errorf("write a value as YAML: %w", err)
	}
	return string(text), nil
}

// cut truncates a text between characters.
func cut(text string) (string, bool) {
	if len(text) <= maxValue {
		return text, false
	}
	end := maxValue
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end], true
}

const masked = "<masked>"

// object shows an object as YAML. Values are masked: value shows them.
func (s *Server) object(r *http.Request, by caller) (any, error) {
	ref := refOf(r)
	object, err := by.read(r, ref)
	if err != nil {
		return nil, err
	}
	mask(object)
	object.SetManagedFields(nil)
	gvk, err := by.reader.client.GroupVersionKindFor(object)
	if err != nil {
		return nil, fmt.Errorf("name the kind of %s %s: %w", ref.Kind, ref.Name, err)
	}
	object.GetObjectKind().SetGroupVersionKind(gvk)
	fields, err := by.conceal(r.Context(), object)
	if err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("write %s %s: %w", ref.Kind, ref.Name, err)
	}
	shown, more := cut(string(text))
	if more {
		shown += "\n# There is more."
	}
	return map[string]string{"yaml": shown}, nil
}

// conceal returns an object without the values from Secrets and Targets that templates have written into it, which can be anywhere. If the
// caller may not read these, nothing is shown that templates write.
func (by caller) conceal(ctx context.Context, object client.Object) (map[string]any, error) {
	secrets, err := by.secretsIn(ctx, object)
	if err != nil {
		return nil, err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("read the fields of %s: %w", object.GetName(), err)
	}
	if secrets == nil {
		return fields, nil
	}
	for _, path := range [][]string{{"metadata", "labels"}, {"metadata", "annotations"}, {"spec"}} {
		content, exists, err := unstructured.NestedMap(fields, path...)
		if err != nil || !exists {
			continue
		}
		hidden, _ := secrets.Value(content)
		if !secrets.Known() {
			hidden = masked
		}
		if err := unstructured.SetNestedField(fields, hidden, path...); err != nil {
			return nil, fmt.Errorf("mask the fields of %s: %w", object.GetName(), err)
		}
	}
	return fields, nil
}

// secretsIn returns what an object that a template has created may contain; nil for other objects. Compressed deploy items of an execution
// are uncompressed.
func (by caller) secretsIn(ctx context.Context, object client.Object) (*masking.Values, error) {
	reader := confidential.Reader{Live: by.reader.client}
	switch o := object.(type) {
	case *lsv1alpha1.Installation:
		if objecttree.ParentOf(o) != "" {
			return reader.OfInstallation(ctx, o), nil
		}
	case *lsv1alpha1.DeployItem:
		delete(o.Annotations, corev1.LastAppliedConfigAnnotation)
		return reader.OfDeployItem(ctx, o), nil
	case *lsv1alpha1.Execution:
		items, err := o.Spec.Items()
		if err != nil {
			return nil, fmt.Errorf("read the deploy items of execution %s: %w", o.Name, err)
		}
		o.Spec.DeployItems, o.Spec.DeployItemsCompressed = items, ""
		delete(o.Annotations, corev1.LastAppliedConfigAnnotation)
		return reader.OfExecution(ctx, o), nil
	}
	return nil, nil
}

// mask masks the values of kinds that hold them. The last applied configuration repeats them, and a hash would allow guessing them.
func mask(object client.Object) {
	hidden := lsv1alpha1.AnyJSON{Raw: []byte(`"` + masked + `"`)}
	switch o := object.(type) {
	case *corev1.Secret:
		o.StringData = map[string]string{}
		for key := range o.Data {
			o.StringData[key] = masked
		}
		o.Data = nil
	case *lsv1alpha1.DataObject:
		o.Data = hidden
	case *lsv1alpha1.Target:
		if o.Spec.Configuration == nil {
			return
		}
		o.Spec.Configuration = &hidden
	default:
		return
	}
	annotations := object.GetAnnotations()
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	if _, hashed := annotations[lsv1alpha1.DataObjectHashAnnotation]; hashed {
		annotations[lsv1alpha1.DataObjectHashAnnotation] = masked
	}
}
