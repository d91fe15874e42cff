// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"
	"strings"

	"espalier.dev/internal/offline"
)

// Manifests prints manifests: as documents of YAML, by their names, as a List, or as what a template makes of that List.
func (p Printer) Manifests(manifests []map[string]any, format Format) error {
	switch format {
	case FormatYAML:
		return offline.Write(p.w, offline.FormatYAML, manifests)
	case FormatName:
		var names []string
		for _, manifest := range manifests {
			names = append(names, ManifestName(manifest))
		}
		return p.Lines(names...)
	}
	if manifests == nil {
		manifests = []map[string]any{}
	}
	return p.Data(map[string]any{"apiVersion": "v1", "kind": "List", "items": manifests}, format)
}

// ManifestName names the object of a manifest in the form that kubectl takes.
func ManifestName(manifest map[string]any) string {
	version, _ := manifest["apiVersion"].(string)
	kind, _ := manifest["kind"].(string)
	metadata, _ := manifest["metadata"].(map[string]any)
	resource := strings.ToLower(kind)
	if group, _, found := strings.Cut(version, "/"); found {
		resource += "." + group
	}
	return Clean(fmt.Sprintf("%s/%v", resource, metadata["name"]))
}
