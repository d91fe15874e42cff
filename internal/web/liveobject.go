// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/confidential"
	"espalier.dev/internal/live"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/preview"
	"espalier.dev/internal/web/view"
)

// liveObject shows one object of a deploy item as it is in the target cluster, beside its desired state. The Target and everything that
// determines what is secret are read with the caller's rights. Without these rights nothing is shown, because it would be unknown what to
// mask.
func (s *Server) liveObject(r *http.Request, by caller) (any, error) {
	item, err := by.deployItemOf(r)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	wanted := objecttree.DeployedObject{
		APIVersion: q.Get("objectVersion"), Kind: q.Get("objectKind"), Namespace: q.Get("objectNamespace"), Name: q.Get("objectName"),
	}
	if wanted.APIVersion == "" || wanted.Kind == "" || wanted.Name == "" {
		return nil, invalid("Specify objectVersion, objectKind and objectName of one object, and objectNamespace if it has one.")
	}
	secrets := confidential.Reader{Live: by.reader.client}.OfDeployItem(r.Context(), item)
	if !secrets.Known() {
		return nil, invalid("%s %s is not shown, because it may contain secrets that cannot be distinguished from other values: %s.",
			wanted.Kind, wanted.Name, secrets.Text("x"))
	}
	reader := live.Reader{Host: by.reader.client, Clusters: by.reader.clustersOf()}
	found, err := reader.Object(r.Context(), item, objecttree.RecordedBy(item), wanted)
	if err != nil {
		return nil, whyNotShown(item, wanted, err)
	}
	rendered := s.renderedFor(r.Context(), item, wanted)
	return liveYAML(found.Object, rendered, secrets)
}

// whyNotShown says why an object cannot be shown, without quoting the Target.
func whyNotShown(item *lsv1alpha1.DeployItem, wanted objecttree.DeployedObject, err error) error {
	var refused *live.ObjectError
	switch {
	case !errors.As(err, &refused):
		return invalid("%s", whyNotLooked(item, err))
	case refused.Gone:
		return &problem{Status: http.StatusNotFound, Message: fmt.Sprintf("%s %s is no longer in the cluster. Refresh the list.",
			wanted.Kind, wanted.Name)}
	case refused.Strange:
		return &problem{Status: http.StatusNotFound, Message: upper(refused.Error()) + ", so it is not shown here."}
	}
	return invalid("The Target does not permit reading %s %s: %s.", wanted.Kind, wanted.Name, refused)
}

// renderedFor returns the desired state of an object of a deploy item, from its configuration, or from its chart if the configuration
// contains that.
func (s *Server) renderedFor(ctx context.Context, item *lsv1alpha1.DeployItem, wanted objecttree.DeployedObject) map[string]any {
	var config any
	if item.Spec.Configuration == nil || json.Unmarshal(item.Spec.Configuration.Raw, &config) != nil {
		return nil
	}
	if found := manifestIn(config, wanted); found != nil {
		return found
	}
	inspect, known := s.options.Inspectors[item.Spec.Type]
	if !known {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, outsideLimit)
	defer cancel()
	objects, err := inspect(ctx, lsv1alpha1.DeployItemTemplate{
		Name: item.Name, Type: item.Spec.Type, Target: item.Spec.Target, Configuration: item.Spec.Configuration,
	})
	if err != nil {
		return nil // The deployer reports it.
	}
	for _, object := range objects {
		if is(object, wanted) {
			return object.Object
		}
	}
	return nil
}

// manifestIn searches JSON values for the manifest of an object.
func manifestIn(value any, wanted objecttree.DeployedObject) map[string]any {
	switch value := value.(type) {
	case map[string]any:
		if is(&unstructured.Unstructured{Object: value}, wanted) {
			return value
		}
		for _, inner := range value {
			if found := manifestIn(inner, wanted); found != nil {
				return found
			}
		}
	case []any:
		for _, inner := range value {
			if found := manifestIn(inner, wanted); found != nil {
				return found
			}
		}
	}
	return nil
}

// is reports whether a manifest describes an object. A manifest without a namespace gets that of its Target or release.
func is(manifest *unstructured.Unstructured, wanted objecttree.DeployedObject) bool {
	return manifest.GetAPIVersion() == wanted.APIVersion && manifest.GetKind() == wanted.Kind && manifest.GetName() == wanted.Name &&
		cmp.Or(manifest.GetNamespace(), wanted.Namespace) == wanted.Namespace
}

// liveYAML returns an object and its desired state. A live value in place of a secret is masked as well: it may be an earlier one.
func liveYAML(found, rendered map[string]any, secrets *masking.Values) (view.LiveYAML, error) {
	bare(found)
	hidden := without(found, secrets)
	shown := view.LiveYAML{}
	if rendered != nil {
		wanted := without(rendered, secrets)
		hidden = preview.HideBeside(hidden, wanted, rendered)
		text, err := yaml.Marshal(wanted)
		if err != nil {
			return shown, fmt.Errorf("write what was rendered: %w", err)
		}
		shown.Rendered, shown.Cut = cut(string(text))
	}
	text, err := yaml.Marshal(hidden)
	if err != nil {
		return shown, fmt.Errorf("write a live object: %w", err)
	}
	whole := shown.Cut
	shown.Live, shown.Cut = cut(string(text))
	shown.Cut = shown.Cut || whole
	return shown, nil
}

// bare removes noise, and annotations that repeat all values.
func bare(object map[string]any) {
	unstructured.RemoveNestedField(object, "metadata", "managedFields")
	unstructured.RemoveNestedField(object, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
}

// without masks secrets, and all values of a Secret, wherever they come from.
func without(object map[string]any, secrets *masking.Values) any {
	masked, _ := secrets.Value(object)
	fields, ok := masked.(map[string]any)
	if !ok || fields["kind"] != "Secret" {
		return masked
	}
	for _, key := range []string{"data", "stringData"} {
		if content, exists := fields[key]; exists {
			fields[key] = masking.All(content)
		}
	}
	return masked
}
