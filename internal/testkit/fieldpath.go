// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// A field path names a value inside an object the way a human would write it:
//
//	status.phase
//	metadata.annotations[landscaper.gardener.cloud/operation]
//	status.conditions[type=Ready].status
//	spec.items[0].name
//
// Square brackets hold the key of a map entry, the index of a list entry, or one field that identifies a list entry.

// identifyingFields are tried in this order to identify an entry of a list by something more stable than its index.
var identifyingFields = []string{"type", "name", "key", "uid"}

// lookup returns the value at a path, or false where there is none.
func lookup(value any, path string) (any, bool) {
	for _, segment := range splitPath(path) {
		var found bool
		if value, found = step(value, segment); !found {
			return nil, false
		}
	}
	return value, true
}

// splitPath splits at dots outside brackets and before each bracket; the brackets themselves are dropped.
func splitPath(path string) []string {
	var segments []string
	for path != "" {
		if path[0] == '[' {
			inside, rest, _ := strings.Cut(path[1:], "]")
			segments, path = append(segments, inside), strings.TrimPrefix(rest, ".")
			continue
		}
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			return append(segments, path)
		}
		segments, path = append(segments, path[:end]), strings.TrimPrefix(path[end:], ".")
	}
	return segments
}

func step(value any, segment string) (any, bool) {
	switch container := value.(type) {
	case map[string]any:
		next, found := container[segment]
		return next, found
	case []any:
		if field, wanted, identified := strings.Cut(segment, "="); identified {
			return entryWith(container, field, wanted)
		}
		index, err := strconv.Atoi(segment)
		if err != nil || index < 0 || index >= len(container) {
			return nil, false
		}
		return container[index], true
	default:
		return nil, false
	}
}

func entryWith(list []any, field, wanted string) (any, bool) {
	for _, entry := range list {
		if fields, ok := entry.(map[string]any); ok && fields[field] == wanted {
			return entry, true
		}
	}
	return nil, false
}

// flatten lists every leaf below value under its field path. Empty maps and lists are leaves.
func flatten(value any, path string, leaves map[string]string) {
	switch container := value.(type) {
	case map[string]any:
		for key, entry := range container {
			flatten(entry, joinKey(path, key), leaves)
		}
		if len(container) > 0 {
			return
		}
	case []any:
		for i, entry := range container {
			flatten(entry, path+"["+entryName(entry, i)+"]", leaves)
		}
		if len(container) > 0 {
			return
		}
	}
	leaves[path] = render(value)
}

func joinKey(path, key string) string {
	switch {
	case strings.ContainsAny(key, ".[]/"):
		return path + "[" + key + "]"
	case path == "":
		return key
	default:
		return path + "." + key
	}
}

func entryName(entry any, index int) string {
	if fields, ok := entry.(map[string]any); ok {
		for _, field := range identifyingFields {
			if name, ok := fields[field].(string); ok {
				return field + "=" + name
			}
		}
	}
	return strconv.Itoa(index)
}

// render prints a value in one line: strings unquoted, everything else as JSON.
func render(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	content, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(content)
}
