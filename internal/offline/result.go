// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/masking"
)

// Result is the result of Render.
type Result struct {
	// Warnings name what has no effect, Waiting the installations that need unknown exports.
	Warnings, Waiting []string
	// Made are the rendered installations, each before those nested in it.
	Made []Made
	// Assumed names exports that were taken from a cluster, because their next values are not known.
	Assumed []string
	// Failed lists the nested installations that cannot be rendered, with the reason; LeftOut is how many exceed the limit.
	Failed  []string
	LeftOut int

	objects []rendered
	secrets *masking.Values
}

// Made is a rendered installation.
type Made struct{ Namespace, Name, Path string }

type rendered struct {
	object metav1.Object
	// secret reports whether all of the content is that of a Secret.
	secret bool
	// deployed reports whether the object is one that a deploy item would deploy, not one of ours.
	deployed bool
}

// warn adds a warning, unless it already exists.
func (r *Result) warn(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(r.Warnings, text) {
		r.Warnings = append(r.Warnings, text)
	}
}

func (r *Result) add(object metav1.Object) { r.objects = append(r.objects, rendered{object: object}) }

func (r *Result) addData(object *lsv1alpha1.DataObject, secret bool) {
	r.objects = append(r.objects, rendered{object: object, secret: secret})
}

// addState adds the Secret of a state. Its content is written as text, for readability.
func (r *Result) addState(namespace, name string, content map[string][]byte) {
	secret := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		StringData: map[string]string{},
	}
	for key, text := range content {
		secret.StringData[key] = string(text)
	}
	r.objects = append(r.objects, rendered{object: secret, secret: true})
}

// Manifests returns the objects in the order in which they were rendered, without owners, which only exist in the cluster. Unless secrets
// are shown, values of imported Secrets are masked wherever they occur, and so are the states of templates and the kubeconfigs of Targets.
func (r *Result) Manifests(showSecrets bool) ([]map[string]any, error) {
	var manifests []map[string]any
	for _, object := range r.objects {
		manifest, err := plain(object.object)
		if err != nil {
			return nil, err
		}
		if !showSecrets {
			if object.deployed {
				manifest = r.maskEverywhere(manifest)
			}
			r.mask(manifest, object.secret)
		}
		manifests = append(manifests, manifest)
	}
	return manifests, nil
}

func plain(object metav1.Object) (map[string]any, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", object.GetName(), err)
	}
	var manifest map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &manifest); err != nil {
		return nil, fmt.Errorf("write %s: %w", object.GetName(), err)
	}
	if metadata, ok := manifest["metadata"].(map[string]any); ok {
		delete(metadata, "ownerReferences")
	}
	return manifest, nil
}

// maskEverywhere hides secret values in an object of any kind.
func (r *Result) maskEverywhere(manifest map[string]any) map[string]any {
	masked, _ := r.secrets.Value(manifest)
	result, _ := masked.(map[string]any)
	return result
}

// mask hides secret values in the content of an object. The hash of hidden content is also hidden: it would allow guessing values.
func (r *Result) mask(manifest map[string]any, all bool) {
	found := false
	for _, field := range []string{"spec", "data", "stringData"} {
		content, exists := manifest[field]
		if !exists {
			continue
		}
		masked, changed := r.secrets.Value(content)
		if all {
			masked, changed = masking.All(content), true
		}
		manifest[field] = masked
		found = found || changed
	}
	metadata, _ := manifest["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if _, hashed := annotations[lsv1alpha1.DataObjectHashAnnotation]; found && hashed {
		annotations[lsv1alpha1.DataObjectHashAnnotation] = Mask
	}
}

// Formats in which manifests can be written.
const (
	FormatYAML = "yaml"
	FormatJSON = "json"
)

// Write writes manifests: as documents of YAML, or as one List in JSON.
func Write(w io.Writer, format string, manifests []map[string]any) error {
	if format == FormatJSON {
		items := manifests
		if items == nil {
			items = []map[string]any{}
		}
		return WriteJSON(w, map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	}
	var text bytes.Buffer
	for i, manifest := range manifests {
		if i > 0 {
			text.WriteString("---\n")
		}
		document, err := yaml.Marshal(manifest)
		if err != nil {
			return fmt.Errorf("write manifests: %w", err)
		}
		text.Write(document)
	}
	_, err := w.Write(text.Bytes())
	return err
}

// WriteJSON writes a value as JSON: indented, and with < and > unescaped.
func WriteJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
