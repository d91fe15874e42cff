// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The functions below read fields of objects with foreign schemas: a field that is missing or has another type is empty.

func text(object map[string]any, path ...string) string {
	value, _, _ := unstructured.NestedString(object, path...)
	return value
}

func flag(object map[string]any, path ...string) bool {
	value, _, _ := unstructured.NestedBool(object, path...)
	return value
}

func number(object map[string]any, path ...string) (int64, bool) {
	value, found, err := unstructured.NestedInt64(object, path...)
	return value, found && err == nil
}

func list(object map[string]any, path ...string) []any {
	value, _, _ := unstructured.NestedFieldNoCopy(object, path...)
	items, _ := value.([]any)
	return items
}

func moment(object map[string]any, path ...string) time.Time {
	value, err := time.Parse(time.RFC3339, text(object, path...))
	if err != nil {
		return time.Time{}
	}
	return value.UTC() // so that equal times compare as equal
}

// condition returns a condition of the status by its type, or nil.
func condition(object map[string]any, kind string) map[string]any {
	for _, entry := range list(object, "status", "conditions") {
		if fields, ok := entry.(map[string]any); ok && text(fields, "type") == kind {
			return fields
		}
	}
	return nil
}

// explain combines the parts of an explanation, omitting empty ones.
func explain(what, reason, message string) string {
	if reason != "" {
		what += " (" + reason + ")"
	}
	if message != "" {
		what += ": " + strings.TrimSpace(message)
	}
	return what
}

// maxMessage limits the stored length of a foreign text.
const maxMessage = 512

func shorten(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	end := maxMessage
	for end > 0 && !utf8.RuneStart(message[end]) {
		end--
	}
	return message[:end] + " ..." // a copy, so that the long string can be freed
}
