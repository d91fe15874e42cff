// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package sbom lists what programs are made of, as SPDX 2.3 documents. What is linked into a program it takes from the program itself,
// where the Go linker has written it down, and not from go.mod, which knows nothing of what is left out.
package sbom

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Release is a program in all its builds.
type Release struct {
	// Name and Version are those of the program.
	Name, Version string
	// Created is the time of the commit, so that the same sources give the same document.
	Created time.Time
	Builds  []Build
	// Pages are the npm packages in the web UI that the program serves, by name, with their versions.
	Pages map[string]string
}

// Build is the program for one platform.
type Build struct {
	// Platform is in the form linux/amd64.
	Platform string
	// File is the name of the published file, Checksum its SHA-256, in hexadecimal.
	File, Checksum string
	Info           *debug.BuildInfo
}

const (
	spdxVersion = "SPDX-2.3"
	ownLicence  = "Apache-2.0"
	unknown     = "NOASSERTION"
	documentID  = "SPDXRef-DOCUMENT"
	nodeModules = "node_modules/"
)

type document struct {
	SPDXVersion       string         `json:"spdxVersion"`
	DataLicense       string         `json:"dataLicense"`
	SPDXID            string         `json:"SPDXID"`
	Name              string         `json:"name"`
	DocumentNamespace string         `json:"documentNamespace"`
	CreationInfo      creationInfo   `json:"creationInfo"`
	Packages          []*item        `json:"packages"`
	Relationships     []relationship `json:"relationships"`
}

type creationInfo struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

// item is what SPDX calls a package.
type item struct {
	Name             string        `json:"name"`
	SPDXID           string        `json:"SPDXID"`
	Version          string        `json:"versionInfo,omitempty"`
	FileName         string        `json:"packageFileName,omitempty"`
	Supplier         string        `json:"supplier"`
	DownloadLocation string        `json:"downloadLocation"`
	FilesAnalyzed    bool          `json:"filesAnalyzed"`
	Checksums        []checksum    `json:"checksums,omitempty"`
	LicenseConcluded string        `json:"licenseConcluded"`
	LicenseDeclared  string        `json:"licenseDeclared"`
	CopyrightText    string        `json:"copyrightText"`
	ExternalRefs     []externalRef `json:"externalRefs,omitempty"`
	Purpose          string        `json:"primaryPackagePurpose"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type externalRef struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

// New returns the document.
func New(release Release) ([]byte, error) {
	if len(release.Builds) == 0 {
		return nil, fmt.Errorf("the list of %s has no programs", release.Name)
	}
	doc := &document{
		SPDXVersion: spdxVersion, DataLicense: "CC0-1.0", SPDXID: documentID, Name: release.Name + "-" + release.Version,
		// Each document needs its own namespace; the checksum of a program distinguishes them.
		DocumentNamespace: fmt.Sprintf("https://espalier.dev/spdx/%s-%s-%s", release.Name, url.PathEscape(release.Version), identity(release)),
		CreationInfo: creationInfo{
			Created:  release.Created.UTC().Format("2006-01-02T15:04:05Z"),
			Creators: []string{"Organization: The Espalier authors", "Tool: espalier-release"},
		},
	}
	known := map[string]*item{}
	for _, build := range release.Builds {
		if build.Info == nil {
			return nil, fmt.Errorf("%s for %s contains no build information", release.Name, build.Platform)
		}
		doc.addBuild(release, build, known)
	}
	for _, id := range slices.Sorted(maps.Keys(known)) {
		doc.Packages = append(doc.Packages, known[id])
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	return append(text, '\n'), err
}

// identity is the same for the same builds.
func identity(release Release) string {
	var sums []string
	for _, build := range release.Builds {
		sums = append(sums, build.Checksum[:min(16, len(build.Checksum))])
	}
	return strings.Join(sums, "-")
}

// addBuild adds a program and its content, and updates the known items.
func (d *document) addBuild(release Release, build Build, known map[string]*item) {
	program := &item{
		Name: release.Name, SPDXID: "SPDXRef-Program-" + clean(release.Name+"-"+build.Platform), Version: release.Version,
		FileName: build.File, Supplier: "Organization: The Espalier authors", DownloadLocation: unknown,
		Checksums:        []checksum{{Algorithm: "SHA256", Value: build.Checksum}},
		LicenseConcluded: ownLicence, LicenseDeclared: ownLicence, CopyrightText: "The Espalier authors", Purpose: "APPLICATION",
		ExternalRefs: []externalRef{purl("generic", release.Name, release.Version)},
	}
	d.Packages = append(d.Packages, program)
	d.Relationships = append(d.Relationships, relationship{documentID, "DESCRIBES", program.SPDXID})
	for _, part := range partsOf(release, build) {
		if known[part.SPDXID] == nil {
			known[part.SPDXID] = part
		}
		d.Relationships = append(d.Relationships, relationship{program.SPDXID, "DEPENDS_ON", part.SPDXID})
	}
}

// partsOf returns the modules in a program, including the standard library, and the packages in its pages, sorted by name.
func partsOf(release Release, build Build) []*item {
	standard := strings.TrimPrefix(build.Info.GoVersion, "go")
	parts := []*item{library("stdlib", standard, purl("golang", "stdlib", standard))}
	parts[0].LicenseConcluded, parts[0].LicenseDeclared = "BSD-3-Clause", "BSD-3-Clause"
	for _, module := range build.Info.Deps {
		linked := module
		if module.Replace != nil {
			linked = module.Replace
		}
		parts = append(parts, moduleItem(module, linked, release.Version))
	}
	for name, version := range release.Pages {
		parts = append(parts, library(name, version, purl("npm", name, version)))
	}
	slices.SortFunc(parts, func(a, b *item) int { return cmp.Compare(a.SPDXID, b.SPDXID) })
	return parts
}

// moduleItem describes a module. A module that is replaced by a folder of this project has the version of the release.
func moduleItem(module, linked *debug.Module, own string) *item {
	if isFolder(linked.Path) {
		part := library(module.Path, own, purl("golang", module.Path, own))
		part.LicenseConcluded, part.LicenseDeclared, part.CopyrightText = ownLicence, ownLicence, "The Espalier authors"
		return part
	}
	return library(linked.Path, linked.Version, purl("golang", linked.Path, linked.Version))
}

func isFolder(path string) bool {
	return strings.HasPrefix(path, "./") || strings.HasPrefix(path, "../") || path == ".."
}

func library(name, version string, reference externalRef) *item {
	return &item{
		Name: name, SPDXID: "SPDXRef-Part-" + clean(name+"-"+version), Version: version, Supplier: unknown, DownloadLocation: unknown,
		LicenseConcluded: unknown, LicenseDeclared: unknown, CopyrightText: unknown, Purpose: "LIBRARY",
		ExternalRefs: []externalRef{reference},
	}
}

// purl returns a package URL, by which vulnerability databases identify a part.
func purl(kind, name, version string) externalRef {
	var segments []string
	for segment := range strings.SplitSeq(name, "/") {
		segments = append(segments, strings.ReplaceAll(url.PathEscape(segment), "@", "%40"))
	}
	return externalRef{
		Category: "PACKAGE-MANAGER", Type: "purl",
		Locator: "pkg:" + kind + "/" + strings.Join(segments, "/") + "@" + strings.ReplaceAll(url.PathEscape(version), "+", "%2B"),
	}
}

var notInIDs = regexp.MustCompile(`[^A-Za-z0-9.]+`)

// clean converts a name into an identifier.
func clean(name string) string { return strings.Trim(notInIDs.ReplaceAllString(name, "-"), "-") }

// ReadPages returns the packages from which the pages of the web UI are built, by name, from the lock file of npm. It omits development
// dependencies, because they are not in the pages.
func ReadPages(lockFile []byte) (map[string]string, error) {
	var lock struct {
		Packages map[string]struct {
			Version string `json:"version"`
			Dev     bool   `json:"dev"`
			Link    bool   `json:"link"`
		} `json:"packages"`
	}
	if err := json.Unmarshal(lockFile, &lock); err != nil {
		return nil, fmt.Errorf("read the lock file of npm: %w", err)
	}
	pages := map[string]string{}
	for path, entry := range lock.Packages {
		if i := strings.LastIndex(path, nodeModules); i >= 0 && !entry.Dev && !entry.Link {
			pages[path[i+len(nodeModules):]] = entry.Version
		}
	}
	if len(pages) == 0 {
		return nil, fmt.Errorf("the lock file of npm names no packages of the pages: is it of version 2 or 3?")
	}
	return pages, nil
}
