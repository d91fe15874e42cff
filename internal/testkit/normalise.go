// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"
)

// YAML prints objects, in the given order, such that two runs of the same test print the same: for golden files.
//
// Server-side bookkeeping is omitted. What differs from run to run is replaced by a fixed name: UUIDs by <uuid-1>, <uuid-2> in the order of
// their appearance, so that equal ones remain recognisable; times by <time>; names that the server generated from a generateName by that
// and a number; the object's namespace by <namespace>. Secrets are masked.
func YAML(t testing.TB, objects ...client.Object) string {
	t.Helper()
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	names := newStandIns()
	for i, object := range objects {
		content, err := names.print(scheme, object)
		if err != nil {
			t.Fatalf("print %s %s: %v", object.GetObjectKind().GroupVersionKind().Kind, object.GetName(), err)
		}
		if i > 0 {
			text.WriteString("---\n")
		}
		text.Write(content)
	}
	return text.String()
}

var (
	uuidPattern = regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	timePattern = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)
)

// standIns replaces what differs from run to run, consistently over all objects of one text.
type standIns struct {
	uuids map[string]string
	exact [][2]string // old and new
	named map[string]int
}

func newStandIns() *standIns { return &standIns{uuids: map[string]string{}, named: map[string]int{}} }

func (s *standIns) print(scheme *runtime.Scheme, object client.Object) ([]byte, error) {
	kind, err := apiutil.GVKForObject(object, scheme)
	if err != nil {
		return nil, err
	}
	content, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	plain := &unstructured.Unstructured{}
	if err := json.Unmarshal(content, &plain.Object); err != nil {
		return nil, err
	}
	plain.SetGroupVersionKind(kind)
	plain = masked(plain)
	s.learn(plain)
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp"} {
		unstructured.RemoveNestedField(plain.Object, "metadata", field)
	}
	return yaml.Marshal(s.replace(plain.Object))
}

// learn records the names that only this run has.
func (s *standIns) learn(object *unstructured.Unstructured) {
	if prefix := object.GetGenerateName(); prefix != "" && strings.HasPrefix(object.GetName(), prefix) {
		s.named[prefix]++
		s.exact = append(s.exact, [2]string{object.GetName(), fmt.Sprintf("%s<%d>", prefix, s.named[prefix])})
	}
	if namespace := object.GetNamespace(); namespace != "" && namespace != metav1.NamespaceDefault {
		s.exact = append(s.exact, [2]string{namespace, "<namespace>"})
	}
}

func (s *standIns) replace(value any) any {
	switch typed := value.(type) {
	case map[string]any:
		replaced := make(map[string]any, len(typed))
		for _, key := range slices.Sorted(maps.Keys(typed)) { // in order, because UUIDs are numbered as they appear
			replaced[s.replaceText(key)] = s.replace(typed[key])
		}
		return replaced
	case []any:
		replaced := make([]any, len(typed))
		for i, entry := range typed {
			replaced[i] = s.replace(entry)
		}
		return replaced
	case string:
		return s.replaceText(typed)
	default:
		return value
	}
}

func (s *standIns) replaceText(text string) string {
	for _, pair := range s.exact {
		text = strings.ReplaceAll(text, pair[0], pair[1])
	}
	text = timePattern.ReplaceAllString(text, "<time>")
	return uuidPattern.ReplaceAllStringFunc(text, func(uuid string) string {
		if _, known := s.uuids[uuid]; !known {
			s.uuids[uuid] = fmt.Sprintf("<uuid-%d>", len(s.uuids)+1)
		}
		return s.uuids[uuid]
	})
}
