// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

// program is a main package.
type program struct {
	name string
	// module is the folder of its module, folder that of the package in it.
	module, folder string
}

// product is published as one archive, and as an image if it has a title.
type product struct {
	name     string
	programs []program
	// inClusters reports whether it runs in pods, so it is built only for Linux. onLinux has the same effect for other reasons.
	inClusters, onLinux bool
	// title describes the image, which contains the first program.
	title string
	// pages reports whether it serves the pages of the web UI, plugin whether kubectl can run it.
	pages, plugin bool
}

var products = []product{
	{
		name: "espalier", programs: []program{{"espalier", "cmd/espalier", "."}}, title: "Espalier: command line and web UI",
		pages: true, plugin: true,
	},
	{
		name: "espalier-controller", programs: []program{{"espalier-controller", ".", "./cmd/espalier-controller"}},
		inClusters: true, title: "Espalier: controllers and deployers",
	},
	{
		name: "espalier-container", programs: []program{{"espalier-container", ".", "./cmd/espalier-container"}},
		inClusters: true, title: "Espalier: what runs in the pods of the container deployer",
	},
	{
		name: "espalier-node", onLinux: true,
		programs: []program{{"espalier-node", "cmd/espalier", "./node"}, {"espalier-pause", "cmd/espalier", "./pause"}},
	},
}

func names(products []product) []string {
	var result []string
	for _, p := range products {
		result = append(result, p.name)
	}
	return result
}

// Parts of a release.
const (
	partPrograms  = "programs"
	partImages    = "images"
	partManifests = "manifests"
)

var allParts = []string{partPrograms, partImages, partManifests}

// platform is a target of builds.
type platform struct{ os, architecture string }

func (p platform) String() string { return p.os + "/" + p.architecture }

// extension returns the extension of programs.
func (p platform) extension() string {
	if p.os == windows {
		return ".exe"
	}
	return ""
}

const (
	linux   = "linux"
	windows = "windows"
)

// knownPlatforms are the platforms whose builds are tested.
var knownPlatforms = []platform{
	{linux, "amd64"},
	{linux, "arm64"},
	{"darwin", "amd64"},
	{"darwin", "arm64"},
	{windows, "amd64"},
	{windows, "arm64"},
}

type options struct {
	// root is the checkout, out the folder for artefacts.
	root, out string
	// version may be any that git describes; revision is a commit, and time is its time.
	version, revision string
	time              time.Time
	address           string
	linkFlags         string
	// keyFile contains the signing key; empty leaves the release unsigned.
	keyFile   string
	pages     bool
	products  []product
	platforms []platform
	parts     []string
	progress  io.Writer
}

func (o *options) setPlatforms(texts []string) error {
	for _, text := range texts {
		system, architecture, _ := strings.Cut(text, "/")
		wanted := platform{system, architecture}
		if !slices.Contains(knownPlatforms, wanted) {
			return fmt.Errorf("-platforms: %q is none of %v", text, knownPlatforms)
		}
		if !slices.Contains(o.platforms, wanted) {
			o.platforms = append(o.platforms, wanted)
		}
	}
	return nil
}

func (o *options) setProducts(wanted []string) error {
	for _, name := range wanted {
		if !slices.Contains(names(products), name) {
			return fmt.Errorf("-products: %q is none of %s", name, strings.Join(names(products), ", "))
		}
	}
	if len(wanted) > 0 {
		o.products = slices.DeleteFunc(slices.Clone(products), func(p product) bool { return !slices.Contains(wanted, p.name) })
	}
	return nil
}

func (o *options) setParts(wanted []string) error {
	for _, part := range wanted {
		if !slices.Contains(allParts, part) {
			return fmt.Errorf("-parts: %q is none of %s", part, strings.Join(allParts, ", "))
		}
	}
	o.parts = wanted
	if len(wanted) == 0 {
		o.parts = allParts
	}
	return nil
}

// tags matches what may be the tag of an image and part of a file name.
var tags = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$`)

func (o *options) check() error {
	var problems []error
	if !tags.MatchString(o.version) {
		problems = append(problems, fmt.Errorf("-version is %q: it must be like v1.2.3, of letters, digits, dots and dashes", o.version))
	}
	if len(o.platforms) == 0 {
		problems = append(problems, errors.New("-platforms is empty: name one at least, such as linux/amd64"))
	}
	return errors.Join(problems...)
}

var semantic = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// semanticVersion returns the version in the form for charts and plugins, with a leading v. The version of a commit without a tag precedes
// every release.
func semanticVersion(version string) string {
	if semantic.MatchString(version) {
		return version
	}
	return "v0.0.0-dev-" + strings.ReplaceAll(version, "_", "-")
}
