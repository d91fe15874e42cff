// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/confidential"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/web/rights"
	"espalier.dev/internal/web/view"
)

func getRight(group, resource string) rights.Right {
	return rights.Right{Verb: "get", Group: group, Resource: resource}
}

// readable is a kind that can be looked at.
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

// refOf is the object that a request is about.
func refOf(r *http.Request) view.Ref {
	q := r.URL.Query()
	return view.Ref{Kind: q.Get("kind"), Namespace: q.Get("namespace"), Name: q.Get("name")}
}

// read gets an object with the rights of the caller.
func (by caller) read(r *http.Request, ref view.Ref) (client.Object, error) {
	kind, known := readables[ref.Kind]
	if !known || ref.Namespace == "" || ref.Name == "" {
		return nil, invalid("Give kind, namespace and name of one object; kind %q is not shown here.", ref.Kind)
	}
	object := kind.make()
	err := by.reader.client.Get(r.Context(), client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, object)
	return object, attempt{
		right: kind.right, namespace: ref.Namespace, what: fmt.Sprintf("read %s %s", ref.Kind, ref.Name),
	}.refusal(err)
}

// maxValue is how much of a value is shown.
const maxValue = 256 << 10

type shownValue struct {
	Value     string `json:"value"`
	Truncated bool   `json:"truncated"`
}

// value shows what an import or export is, to those who may read the object that holds it.
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
		return nil, invalid("%s holds no value: values are in DataObjects, Secrets and ConfigMaps.", ref.Kind)
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

// ofKey is one value, or all of them.
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

// cut shortens a text to what is shown, between characters.
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
	switch o := object.(type) {
	case *lsv1alpha1.DeployItem:
		by.maskItem(r.Context(), o)
	case *lsv1alpha1.Execution:
		if err := by.maskExecution(r.Context(), o); err != nil {
			return nil, err
		}
	}
	object.SetManagedFields(nil)
	gvk, err := by.reader.client.GroupVersionKindFor(object)
	if err != nil {
		return nil, fmt.Errorf("name the kind of %s %s: %w", ref.Kind, ref.Name, err)
	}
	object.GetObjectKind().SetGroupVersionKind(gvk)
	text, err := yaml.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("write %s %s: %w", ref.Kind, ref.Name, err)
	}
	shown, more := cut(string(text))
	if more {
		shown += "\n# There is more."
	}
	return map[string]string{"yaml": shown}, nil
}

// maskItem hides what the configuration of a deploy item has from Secrets and Targets; the whole of it, if the caller may not read these.
func (by caller) maskItem(ctx context.Context, item *lsv1alpha1.DeployItem) {
	if item.Spec.Configuration == nil {
		return
	}
	hideConfiguration(item.Spec.Configuration, confidential.Reader{Live: by.reader.client}.OfDeployItem(ctx, item))
	delete(item.Annotations, corev1.LastAppliedConfigAnnotation)
}

// maskExecution does the same for all deploy items of an execution, which are shown as they are also where they are stored compressed.
func (by caller) maskExecution(ctx context.Context, e *lsv1alpha1.Execution) error {
	items, err := e.Spec.Items()
	if err != nil {
		return fmt.Errorf("read the deploy items of execution %s: %w", e.Name, err)
	}
	secrets := confidential.Reader{Live: by.reader.client}.OfExecution(ctx, e)
	for i := range items {
		if items[i].Configuration != nil {
			hideConfiguration(items[i].Configuration, secrets)
		}
	}
	e.Spec.DeployItems, e.Spec.DeployItemsCompressed = items, ""
	delete(e.Annotations, corev1.LastAppliedConfigAnnotation)
	return nil
}

func hideConfiguration(config *runtime.RawExtension, secrets *masking.Values) {
	shown := []byte(`{"values":"` + masked + `"}`)
	var content any
	if secrets.Known() && json.Unmarshal(config.Raw, &content) == nil {
		hidden, _ := secrets.Value(content)
		if text, err := json.Marshal(hidden); err == nil {
			shown = text
		}
	}
	config.Raw = shown
}

// mask hides the values of kinds that hold them. What was applied last holds them once more, and a hash lets people try values.
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
