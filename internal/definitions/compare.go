// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/version"
)

// Refusal returns why a CRD in a cluster must not be replaced by the wanted one; nil if it may.
func Refusal(existing, wanted *apiextensionsv1.CustomResourceDefinition, options Options) error {
	if existing.DeletionTimestamp != nil {
		return fmt.Errorf("CRD %s is being deleted, and all its objects with it: wait until it is gone, and restart", existing.Name)
	}
	for _, stored := range existing.Status.StoredVersions {
		kept := func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == stored }
		if !slices.ContainsFunc(wanted.Spec.Versions, kept) {
			return fmt.Errorf("CRD %s is not replaced, because objects may be stored in version %s, which this build does not know: "+
				"use a version of Espalier that does", existing.Name, stored)
		}
	}
	if options.Back {
		return nil
	}
	from := existing.Annotations[VersionAnnotation]
	if newer, comparable := compareVersions(from, options.Version); comparable {
		if newer {
			return fmt.Errorf("CRD %s is of Espalier %s and this is %s: CRDs are never downgraded, because fields would be lost. %s",
				existing.Name, from, options.Version, wayBack)
		}
		return nil
	}
	lost := Missing(existing, wanted)
	if !IsOurs(existing) || len(lost) == 0 {
		return nil
	}
	return fmt.Errorf("CRD %s has fields that this build (%s) does not know, such as %s, so it seems to belong to a newer version. %s",
		existing.Name, options.Version, lost[0], wayBack)
}

const wayBack = "Start the newer version, or this one without --install-crds: it works with the CRDs of the next minor version"

// IsOurs reports whether a CRD belongs to Espalier, however it was installed, and not to the controllers that it takes over from.
func IsOurs(definition *apiextensionsv1.CustomResourceDefinition) bool {
	return definition.Annotations[VersionAnnotation] != "" || slices.Contains(definition.Spec.Names.Categories, "espalier")
}

// described matches the suffixes that "git describe" adds to the last tag.
var described = regexp.MustCompile(`-\d+-g[0-9a-f]+(-dirty)?$|-dirty$`)

// compareVersions reports whether the version in the cluster is newer than that of this build, and whether both are versions at all.
func compareVersions(existing, own string) (newer, comparable bool) {
	there, err := version.ParseSemantic(described.ReplaceAllString(existing, ""))
	if err != nil {
		return false, false
	}
	here, err := version.ParseSemantic(described.ReplaceAllString(own, ""))
	if err != nil {
		return false, false
	}
	return here.LessThan(there), true
}

// Missing lists the fields of one CRD that another lacks, by version, sorted. Fields below one that the other preserves with any content
// are not missing.
func Missing(from, in *apiextensionsv1.CustomResourceDefinition) []string {
	var missing []string
	for _, version := range from.Spec.Versions {
		for _, other := range in.Spec.Versions {
			if version.Name == other.Name && version.Schema != nil && other.Schema != nil {
				missing = append(missing, lacking(version.Schema.OpenAPIV3Schema, other.Schema.OpenAPIV3Schema, nil)...)
			}
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

func lacking(from, in *apiextensionsv1.JSONSchemaProps, path []string) []string {
	if from == nil || in == nil || keepsAnything(in) {
		return nil
	}
	var missing []string
	for name, property := range from.Properties {
		at := append(slices.Clone(path), name)
		if other, found := in.Properties[name]; found {
			missing = append(missing, lacking(&property, &other, at)...)
		} else if !takesAnyName(in) {
			missing = append(missing, strings.Join(at, "."))
		}
	}
	entries := append(slices.Clone(path), "*")
	if from.Items != nil && in.Items != nil {
		missing = append(missing, lacking(from.Items.Schema, in.Items.Schema, entries)...)
	}
	if from.AdditionalProperties != nil && in.AdditionalProperties != nil {
		missing = append(missing, lacking(from.AdditionalProperties.Schema, in.AdditionalProperties.Schema, entries)...)
	}
	return missing
}

// keepsAnything reports whether the API server stores any content unchanged.
func keepsAnything(in *apiextensionsv1.JSONSchemaProps) bool {
	return in.XPreserveUnknownFields != nil && *in.XPreserveUnknownFields
}

// takesAnyName reports whether a schema is a map, and not an object with certain fields.
func takesAnyName(in *apiextensionsv1.JSONSchemaProps) bool {
	return in.AdditionalProperties != nil && (in.AdditionalProperties.Allows || in.AdditionalProperties.Schema != nil)
}
