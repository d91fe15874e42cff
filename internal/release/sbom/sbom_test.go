// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package sbom

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func listed(t *testing.T, release Release) document {
	t.Helper()
	text, err := New(release)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var doc document
	if err := decoder.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	checkIdentifiers(t, doc)
	return doc
}

var identifier = regexp.MustCompile(`^SPDXRef-[A-Za-z0-9.-]+$`)

// checkIdentifiers wants each identifier once, of the letters that SPDX permits, and no relationship that leads nowhere.
func checkIdentifiers(t *testing.T, doc document) {
	t.Helper()
	known := map[string]bool{doc.SPDXID: true}
	for _, part := range doc.Packages {
		if known[part.SPDXID] || !identifier.MatchString(part.SPDXID) {
			t.Errorf("the identifier %s is there twice, or none", part.SPDXID)
		}
		known[part.SPDXID] = true
		if part.Name == "" || part.DownloadLocation == "" || part.LicenseConcluded == "" || part.CopyrightText == "" || part.Supplier == "" {
			t.Errorf("a field is missing: %+v", part)
		}
	}
	for _, each := range doc.Relationships {
		if !known[each.Element] || !known[each.Related] {
			t.Errorf("nothing is known of %+v", each)
		}
	}
}

// moduleLine matches a line of "go version -m".
var moduleLine = regexp.MustCompile(`(?m)^\t(dep|=>)\t(\S+)\t(\S+)`)

// The list contains every module that the go command finds in a program; here it is the tool that makes releases.
func TestEveryModuleOfTheProgramIsListed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "release")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", path, "espalier.dev/internal/release")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	told, err := exec.CommandContext(t.Context(), "go", "version", "-m", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := moduleLine.FindAllStringSubmatch(string(told), -1)
	if len(modules) < 10 {
		t.Fatalf("the Go command finds no modules:\n%s", told)
	}
	doc := listed(t, Release{Name: "tool", Version: "v1.2.3", Builds: []Build{{Platform: "linux/amd64", Checksum: "abc", Info: info}}})
	for _, module := range modules {
		want := "pkg:golang/" + strings.ReplaceAll(module[2], "@", "%40") + "@" + strings.ReplaceAll(module[3], "+", "%2B")
		if isFolder(module[2]) {
			continue // It is listed beside the module that it replaces.
		}
		has := slices.ContainsFunc(doc.Packages, func(part *item) bool {
			replaced := part.Name == module[2] && part.Version == "v1.2.3"
			return replaced || part.ExternalRefs[0].Locator == want && part.Name == module[2] && part.Version == module[3]
		})
		if !has {
			t.Errorf("%s %s is not listed", module[2], module[3])
		}
	}
}

func example() Release {
	module := func(path, version string) *debug.Module { return &debug.Module{Path: path, Version: version} }
	replaced, own := module("example.com/old", "v1.0.0"), module("espalier.dev/api", "v0.0.0")
	replaced.Replace, own.Replace = module("example.com/New", "v1.1.0+incompatible"), module("./api", "")
	info := func(deps ...*debug.Module) *debug.BuildInfo {
		return &debug.BuildInfo{GoVersion: "go1.26.3", Deps: deps}
	}
	return Release{
		Name: "espalier", Version: "v1.2.3", Created: time.Unix(1_800_000_000, 0),
		Builds: []Build{
			{Platform: "linux/amd64", File: "espalier", Checksum: strings.Repeat("a", 64), Info: info(replaced, own)},
			{
				Platform: "windows/arm64", File: "espalier.exe", Checksum: strings.Repeat("b", 64),
				Info: info(own, module("example.com/win", "v2.0.0")),
			},
		},
		Pages: map[string]string{"@scope/pages": "11.2.0"},
	}
}

func TestWhatIsInWhichProgram(t *testing.T) {
	doc := listed(t, example())
	if doc.SPDXVersion != "SPDX-2.3" || doc.DataLicense != "CC0-1.0" || doc.CreationInfo.Created != "2027-01-15T08:00:00Z" {
		t.Errorf("the document is %s, %s, of %s", doc.SPDXVersion, doc.DataLicense, doc.CreationInfo.Created)
	}
	known := map[string]string{}
	for _, part := range doc.Packages {
		known[part.SPDXID] = part.ExternalRefs[0].Locator + " " + part.LicenseDeclared
		if part.Purpose == "APPLICATION" {
			known[part.SPDXID] = part.FileName + " " + part.Checksums[0].Algorithm + " " + part.Checksums[0].Value[:3]
		}
	}
	var found []string
	for _, each := range doc.Relationships {
		found = append(found, strings.TrimSpace(known[each.Element]+" "+each.Type+" "+known[each.Related]))
	}
	linux, windows := "espalier SHA256 aaa", "espalier.exe SHA256 bbb"
	standard, own := " DEPENDS_ON pkg:golang/stdlib@1.26.3 BSD-3-Clause", " DEPENDS_ON pkg:golang/espalier.dev/api@v1.2.3 Apache-2.0"
	pages := " DEPENDS_ON pkg:npm/%40scope/pages@11.2.0 NOASSERTION"
	want := []string{
		"DESCRIBES " + linux,
		linux + own, linux + " DEPENDS_ON pkg:golang/example.com/New@v1.1.0%2Bincompatible NOASSERTION", linux + pages, linux + standard,
		"DESCRIBES " + windows,
		windows + own, windows + " DEPENDS_ON pkg:golang/example.com/win@v2.0.0 NOASSERTION", windows + pages, windows + standard,
	}
	slices.Sort(found)
	slices.Sort(want)
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
}

func TestTheSameProgramsGiveTheSameList(t *testing.T) {
	first, err := New(example())
	if err != nil {
		t.Fatal(err)
	}
	second, err := New(example())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Error("the lists differ")
	}
	other := example()
	other.Builds[0].Checksum = strings.Repeat("c", 64)
	if listed(t, other).DocumentNamespace == listed(t, example()).DocumentNamespace {
		t.Error("two documents have the same namespace")
	}
}

func TestProgramsWithoutBuildInformationAreRejected(t *testing.T) {
	silent := example()
	silent.Builds[1].Info = nil
	if _, err := New(silent); err == nil || !strings.Contains(err.Error(), "windows/arm64") {
		t.Errorf("got %v", err)
	}
	if _, err := New(Release{Name: "nothing"}); err == nil {
		t.Error("a list of nothing was made")
	}
}

func TestReadPages(t *testing.T) {
	lock := `{"lockfileVersion": 3, "packages": {
		"": {"version": "0.0.0"},
		"node_modules/preact": {"version": "11.2.0"},
		"node_modules/@scope/x/node_modules/y": {"version": "1.0.0"},
		"node_modules/vite": {"version": "8.3.4", "dev": true},
		"node_modules/linked": {"link": true}}}`
	pages, err := ReadPages([]byte(lock))
	if diff := cmp.Diff(map[string]string{"preact": "11.2.0", "y": "1.0.0"}, pages); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for _, broken := range []string{"", `{"lockfileVersion": 1, "dependencies": {}}`} {
		if _, err := ReadPages([]byte(broken)); err == nil {
			t.Errorf("%q was read", broken)
		}
	}
	text, err := os.ReadFile("../../../ui/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	pages, err = ReadPages(text)
	if err != nil || pages["preact"] == "" || pages["vite"] != "" {
		t.Errorf("the pages are made of %v, %v", pages, err)
	}
}
