// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package documents splits YAML from users and templates into single objects: streams of YAML, and lists of objects.
package documents

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Item is an object of a list.
type Item struct {
	// Path is its position in the list, such as .items[2]; empty for an object that is not a list.
	Path   string
	Object *unstructured.Unstructured
}

// Items returns the objects of a list, or the object itself. For an item that is not an object, Object is nil.
func Items(content *unstructured.Unstructured) []Item {
	if !strings.HasSuffix(content.GetKind(), "List") || !content.IsList() {
		return []Item{{Object: content}}
	}
	list, _ := content.Object["items"].([]any)
	var result []Item
	for i, each := range list {
		item := Item{Path: fmt.Sprintf(".items[%d]", i)}
		if fields, ok := each.(map[string]any); ok {
			item.Object = itemOf(content, fields)
		}
		result = append(result, item)
	}
	return result
}

// itemOf fills in the kind, which the items of a typed list omit.
func itemOf(list *unstructured.Unstructured, fields map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: fields}
	if kind, typed := strings.CutSuffix(list.GetKind(), "List"); typed && kind != "" && object.GetKind() == "" {
		object.SetKind(kind)
		object.SetAPIVersion(list.GetAPIVersion())
	}
	return object
}

// Split returns the objects in a stream of YAML, with lists expanded. YAML that is not a Kubernetes object, such as a plain
// text, is omitted.
func Split(text string) ([]*unstructured.Unstructured, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(ended(text))))
	var result []*unstructured.Unstructured
	for count := 1; ; count++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return result, nil
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", count, err)
		}
		objects, err := read(document)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", count, err)
		}
		result = append(result, objects...)
	}
}

// ended appends a missing line break at the end: the reader loses a last line without one that exactly fills its buffer.
func ended(text string) string {
	if strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

var errNotYAML = errors.New("not YAML")

func read(document []byte) ([]*unstructured.Unstructured, error) {
	text, err := yaml.YAMLToJSON(document)
	if err != nil {
		return nil, errNotYAML
	}
	content := &unstructured.Unstructured{}
	if utiljson.Unmarshal(text, &content.Object) != nil || content.GetAPIVersion() == "" || content.GetKind() == "" {
		return nil, nil
	}
	var result []*unstructured.Unstructured
	for _, item := range Items(content) {
		if item.Object == nil {
			return nil, fmt.Errorf("%s: %s is not an object", content.GetKind(), item.Path)
		}
		result = append(result, item.Object)
	}
	return result, nil
}
