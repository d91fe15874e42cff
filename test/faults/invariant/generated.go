// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"encoding/base64"
	"encoding/json"
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"espalier.dev/internal/testkit"
)

// GeneratedForm matches a text that a template generates for its state, so that rules recognise it anywhere, and so that it is compared by
// its relations, like identities. No two states of a history may have the same one.
var GeneratedForm = regexp.MustCompile(`generated-[0-9a-f]{40}\b`)

// generatedOnce holds for everything that was ever written: its generated text is always the same. A second generation would leave one
// value in the state and another one deployed, or a password that changes while it is in use.
func generatedOnce(history testkit.History) []Violation {
	f := &findings{rule: "I16"}
	known := ""
	replayAll(history, func(s step) {
		if s.after == nil {
			return
		}
		text, _ := json.Marshal(readable(s.after.raw))
		for _, found := range GeneratedForm.FindAllString(string(text), -1) {
			if known == "" {
				known = found
			}
			if found != known {
				f.add(s, "it has %s, but %s was generated before", found, known)
				return
			}
		}
	})
	return f.found
}

// readable returns an object with the data of a Secret as text.
func readable(o *unstructured.Unstructured) map[string]any {
	data, found, _ := unstructured.NestedStringMap(o.Object, "data")
	if o.GetKind() != "Secret" || !found {
		return o.Object
	}
	texts := map[string]any{}
	for key, value := range data {
		content, _ := base64.StdEncoding.DecodeString(value)
		texts[key] = string(content)
	}
	changed := o.DeepCopy()
	changed.Object["data"] = texts
	return changed.Object
}
