// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"net/url"
	"strconv"
	"strings"
)

func cutFragment(ref string) (address, fragment string, found bool) {
	return strings.Cut(ref, "#")
}

var unescapeToken = strings.NewReplacer("~1", "/", "~0", "~")

// lookUp returns the part of a document that the fragment of a URI points to. It only supports JSON pointers.
func lookUp(root any, fragment string) (any, bool) {
	if fragment == "" {
		return root, true
	}
	text, err := url.PathUnescape(fragment)
	if err != nil || !strings.HasPrefix(text, "/") {
		return nil, false
	}
	current := root
	for token := range strings.SplitSeq(text[1:], "/") {
		var ok bool
		if current, ok = child(current, unescapeToken.Replace(token)); !ok {
			return nil, false
		}
	}
	return current, true
}

func child(value any, token string) (any, bool) {
	switch v := value.(type) {
	case map[string]any:
		next, ok := v[token]
		return next, ok
	case []any:
		index, err := strconv.Atoi(token)
		if err != nil || index < 0 || index >= len(v) {
			return nil, false
		}
		return v[index], true
	}
	return nil, false
}

// steps is the number of pointer tokens from a schema, through a keyword, to a schema inside it. Two means that a name or
// number follows the keyword.
var steps = map[string]int{
	"properties": 2, "patternProperties": 2, "definitions": 2, "$defs": 2, "dependentSchemas": 2, "dependencies": 2,
	"allOf": 2, "anyOf": 2, "oneOf": 2, "prefixItems": 2,
	"additionalItems": 1, "additionalProperties": 1, "contains": 1, "propertyNames": 1, "not": 1, "if": 1, "then": 1,
	"else": 1, "unevaluatedItems": 1, "unevaluatedProperties": 1, "items": 1,
}

// usualPlace reports whether a fragment points to a place where every draft expects a schema.
func usualPlace(fragment string, in draft) bool {
	tokens := strings.Split(strings.TrimPrefix(fragment, "/"), "/")
	for fragment != "" && len(tokens) > 0 {
		length := steps[tokens[0]]
		if length == 0 || length > len(tokens) || tokens[0] == "$defs" && in.version < 2019 {
			return false
		}
		if _, err := strconv.Atoi(tokens[min(1, len(tokens)-1)]); err == nil && tokens[0] == "items" {
			length = 2
		}
		tokens = tokens[length:]
	}
	return true
}
