// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package krew writes the manifest by which krew, the package manager of kubectl, installs the command line as a plugin.
package krew

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Name is the name of the plugin after "kubectl".
const Name = "espalier"

// Release is a version of the plugin.
type Release struct {
	// Version is a semantic version with a leading v.
	Version string
	// Address is the URL where the archives are published.
	Address  string
	Archives []Archive
}

// Archive is the plugin for one platform.
type Archive struct {
	// File is the name of the archive, Checksum its SHA-256, Program the name of the program in it.
	File, Checksum, Program string
	// OS and Architecture are named as in Go.
	OS, Architecture string
}

type plugin struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       spec     `json:"spec"`
}

type metadata struct {
	Name string `json:"name"`
}

type spec struct {
	Version          string     `json:"version"`
	Homepage         string     `json:"homepage"`
	ShortDescription string     `json:"shortDescription"`
	Description      string     `json:"description"`
	Caveats          string     `json:"caveats"`
	Platforms        []platform `json:"platforms"`
}

type platform struct {
	Selector selector `json:"selector"`
	URI      string   `json:"uri"`
	SHA256   string   `json:"sha256"`
	Bin      string   `json:"bin"`
	Files    []file   `json:"files"`
}

type selector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

type file struct {
	From string `json:"from"`
	To   string `json:"to"`
}

const description = `Shows and steers Installations and Pipelines of Espalier: what is below them,
why something waits and what to do about it, jobs, approvals of promotions, and
what an installation would become, without a cluster.
`

const caveats = `To complete names, put a link kubectl_complete-espalier on the path:
  ln -s "$(command -v kubectl-espalier)" ~/.local/bin/kubectl_complete-espalier
`

// semantic matches the versions that krew accepts.
var semantic = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// Manifest returns the manifest of a release.
func Manifest(release Release) ([]byte, error) {
	if !semantic.MatchString(release.Version) {
		return nil, fmt.Errorf("krew takes no version %q: it must be like v1.2.3", release.Version)
	}
	if len(release.Archives) == 0 {
		return nil, fmt.Errorf("the plugin has no archives")
	}
	result := plugin{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: metadata{Name: Name},
		Spec: spec{
			Version: release.Version, Homepage: "https://espalier.dev", ShortDescription: "Follow installations and promotions",
			Description: description, Caveats: caveats,
		},
	}
	for _, archive := range release.Archives {
		result.Spec.Platforms = append(result.Spec.Platforms, platform{
			Selector: selector{MatchLabels: map[string]string{"os": archive.OS, "arch": archive.Architecture}},
			URI:      strings.TrimSuffix(release.Address, "/") + "/" + archive.File,
			SHA256:   archive.Checksum,
			Bin:      archive.Program,
			Files:    []file{{From: archive.Program, To: "."}, {From: "LICENSE", To: "."}},
		})
	}
	slices.SortFunc(result.Spec.Platforms, func(a, b platform) int { return strings.Compare(a.URI, b.URI) })
	return yaml.Marshal(result)
}
