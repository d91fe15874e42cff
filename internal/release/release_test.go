// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/crypto/ssh"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"
	"sigs.k8s.io/yaml"

	"espalier.dev/internal/release/signature"
)

// tinyProducts are like ours, with one tiny program.
var tinyProducts = []product{
	{name: "espalier", programs: []program{{"espalier", "module", "./tool"}}, title: "A tool", pages: true, plugin: true},
	{name: "espalier-controller", programs: []program{{"espalier-controller", "module", "./tool"}}, inClusters: true, title: "Another"},
	{name: "espalier-node", programs: []program{{"espalier-node", "module", "./tool"}, {"espalier-pause", "module", "./tool"}}, onLinux: true},
}

// tinyCheckout is a checkout with a tiny program in place of ours, and the real manifests and chart.
func tinyCheckout(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"LICENSE":                 "a licence",
		"module/go.mod":           "module example.com/tiny\n\ngo 1.26\n",
		"module/tool/main.go":     "package main\n\nvar version = \"none\"\n\nfunc main() { println(\"hello of \" + version) }\n",
		"ui/dist/site/index.html": "pages",
		"ui/package-lock.json":    `{"packages": {"node_modules/preact": {"version": "11.2.0"}}}`,
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"config", "charts"} {
		ours, err := filepath.Abs(filepath.Join("..", "..", folder))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(ours, filepath.Join(root, folder)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func parsedOptions(t *testing.T, args ...string) options {
	t.Helper()
	all := []string{"-version=v1.2.3", "-revision=abc", "-address=https://example.com/v1.2.3", "-ldflags=-X main.version=v1.2.3"}
	args = append(all, args...)
	opts, err := parse(args, func(string) string { return "1800000000" })
	if err != nil {
		t.Fatal(err)
	}
	opts.progress = io.Discard
	return opts
}

// released makes a release of the tiny program and returns its files.
func released(t *testing.T, args ...string) map[string][]byte {
	t.Helper()
	return releasedFrom(t, tinyCheckout(t), args...)
}

// releasedFrom is released, from a checkout that the test has prepared.
func releasedFrom(t *testing.T, root string, args ...string) map[string][]byte {
	t.Helper()
	opts := parsedOptions(t, args...)
	opts.root, opts.out, opts.products = root, filepath.Join(t.TempDir(), "dist"), tinyProducts
	var told bytes.Buffer
	opts.progress = &told
	if err := newRelease(opts).make(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, told.String())
	}
	files := map[string][]byte{}
	entries, err := os.ReadDir(opts.out)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(opts.out, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = text
	}
	return files
}

const platformsOfTests = "-platforms=linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64"

func TestARelease(t *testing.T) {
	files := released(t, platformsOfTests)
	want := []string{
		"checksums.txt", "crds.yaml",
		"espalier-1.2.3.tgz",
		"espalier-controller_v1.2.3.spdx.json", "espalier-controller_v1.2.3_image.tar",
		"espalier-controller_v1.2.3_linux_amd64.tar.gz", "espalier-controller_v1.2.3_linux_arm64.tar.gz",
		"espalier-kustomize_v1.2.3.tar.gz",
		"espalier-node_v1.2.3.spdx.json", "espalier-node_v1.2.3_linux_amd64.tar.gz", "espalier-node_v1.2.3_linux_arm64.tar.gz",
		"espalier-pause_v1.2.3.spdx.json",
		"espalier_v1.2.3.spdx.json",
		"espalier_v1.2.3_darwin_amd64.tar.gz", "espalier_v1.2.3_darwin_arm64.tar.gz", "espalier_v1.2.3_image.tar",
		"espalier_v1.2.3_linux_amd64.tar.gz", "espalier_v1.2.3_linux_arm64.tar.gz",
		"espalier_v1.2.3_windows_amd64.zip", "espalier_v1.2.3_windows_arm64.zip",
		"images.txt", "install-ha.yaml", "install.yaml", "krew.yaml",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(files))); diff != "" {
		t.Error(diff)
	}
	t.Run("checksums", func(t *testing.T) { checkSums(t, files) })
	t.Run("archives", func(t *testing.T) { checkArchives(t, files) })
	t.Run("image", func(t *testing.T) { checkImage(t, files) })
	t.Run("plugin", func(t *testing.T) { checkPlugin(t, files) })
	t.Run("list of contents", func(t *testing.T) { checkList(t, files) })

	t.Run("is the same in another place", func(t *testing.T) {
		for name, content := range released(t, platformsOfTests) {
			if !bytes.Equal(files[name], content) {
				t.Errorf("%s differs", name)
			}
		}
	})
}

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func checkSums(t *testing.T, files map[string][]byte) {
	found := map[string]string{}
	for line := range strings.Lines(string(files["checksums.txt"])) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		found[name] = sum
	}
	for name, content := range files {
		if name != "checksums.txt" && found[name] != sumOf(content) {
			t.Errorf("%s has another sum", name)
		}
	}
}

// untarred returns the executable files of a compressed archive, and the names of the others.
func untarred(t *testing.T, packed []byte) (programs map[string][]byte, others []string) {
	t.Helper()
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	programs = map[string][]byte{}
	reader := tar.NewReader(plain)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return programs, others
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Mode&0o111 == 0 || header.Typeflag != tar.TypeReg {
			others = append(others, header.Name)
			continue
		}
		if programs[header.Name], err = io.ReadAll(reader); err != nil {
			t.Fatal(err)
		}
	}
}

// machO begins programs for macOS.
var machO = []byte{0xcf, 0xfa, 0xed, 0xfe}

func checkArchives(t *testing.T, files map[string][]byte) {
	programs, others := untarred(t, files["espalier-node_v1.2.3_linux_arm64.tar.gz"])
	if programs["espalier-node"] == nil || programs["espalier-pause"] == nil || !slices.Equal(others, []string{"LICENSE"}) {
		t.Errorf("the archive has %v and %v", slices.Sorted(maps.Keys(programs)), others)
	}
	if bytes.Contains(programs["espalier-node"], []byte(os.TempDir()+"/")) {
		t.Error("the program names a folder of this machine")
	}
	for _, architecture := range []string{"amd64", "arm64"} {
		mac, _ := untarred(t, files["espalier_v1.2.3_darwin_"+architecture+".tar.gz"])
		if !bytes.HasPrefix(mac["espalier"], machO) {
			t.Errorf("the archive for macOS on %s has no program for it, but %v", architecture, slices.Sorted(maps.Keys(mac)))
		}
		if names := zipped(t, files["espalier_v1.2.3_windows_"+architecture+".zip"]); !slices.Equal(names, []string{"LICENSE", "espalier.exe"}) {
			t.Errorf("the archive for Windows on %s has %v", architecture, names)
		}
	}
}

// zipped returns the names of the files in an archive.
func zipped(t *testing.T, packed []byte) (names []string) {
	t.Helper()
	reader, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range reader.File {
		names = append(names, file.Name)
	}
	return names
}

// checkImage finds the image by its tag, and runs the program in it where possible.
func checkImage(t *testing.T, files map[string][]byte) {
	path := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(path, files["espalier_v1.2.3_image.tar"], 0o644); err != nil {
		t.Fatal(err)
	}
	store, err := oci.NewFromTar(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	root, err := store.Resolve(t.Context(), "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	if name := "espalier.dev/espalier:v1.2.3@" + root.Digest.String() + "\n"; !strings.Contains(string(files["images.txt"]), name) {
		t.Errorf("images.txt does not have %s but\n%s", name, files["images.txt"])
	}
	index := read[ocispec.Index](t, store, root)
	var architectures []string
	for _, each := range index.Manifests {
		architectures = append(architectures, each.Platform.Architecture)
		if each.Platform.OS != runtime.GOOS || each.Platform.Architecture != runtime.GOARCH {
			continue
		}
		layer, err := content.FetchAll(t.Context(), store, read[ocispec.Manifest](t, store, each).Layers[0])
		if err != nil {
			t.Fatal(err)
		}
		programs, _ := untarred(t, layer)
		runProgram(t, programs["espalier"])
	}
	if !slices.Equal(architectures, []string{"amd64", "arm64"}) {
		t.Errorf("the image is for %v", architectures)
	}
}

func read[T any](t *testing.T, store content.Fetcher, descriptor ocispec.Descriptor) T {
	t.Helper()
	text, err := content.FetchAll(t.Context(), store, descriptor)
	if err != nil {
		t.Fatal(err)
	}
	var value T
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func runProgram(t *testing.T, program []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, program, 0o755); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), path).CombinedOutput(); err != nil || string(said) != "hello of v1.2.3\n" {
		t.Errorf("the program said %q, %v", said, err)
	}
}

// checkPlugin follows the manifest of krew as krew does: from a platform to an archive, its checksum, and the program in it.
func checkPlugin(t *testing.T, files map[string][]byte) {
	var manifest struct {
		Spec struct {
			Version   string
			Platforms []struct{ URI, SHA256, Bin string }
		}
	}
	if err := yaml.Unmarshal(files["krew.yaml"], &manifest); err != nil {
		t.Fatal(err)
	}
	if len(manifest.Spec.Platforms) != 6 || manifest.Spec.Version != "v1.2.3" {
		t.Errorf("the manifest is %+v", manifest)
	}
	for _, platform := range manifest.Spec.Platforms {
		name, ours := strings.CutPrefix(platform.URI, "https://example.com/v1.2.3/")
		if !ours || files[name] == nil || sumOf(files[name]) != platform.SHA256 {
			t.Errorf("nothing is at %s with the sum %s", platform.URI, platform.SHA256)
		}
		if strings.HasSuffix(name, ".zip") != (platform.Bin == "espalier.exe") {
			t.Errorf("%s has no program %s", name, platform.Bin)
		}
	}
}

func checkList(t *testing.T, files map[string][]byte) {
	parts, sums := listed(t, files)
	wanted := append(slices.Repeat([]string{"espalier"}, 6), "preact", "stdlib")
	if diff := cmp.Diff(wanted, slices.Sorted(slices.Values(parts))); diff != "" {
		t.Errorf("the parts (-want +got):\n%s", diff)
	}
	programs, _ := untarred(t, files["espalier_v1.2.3_linux_amd64.tar.gz"])
	if !slices.Contains(sums, sumOf(programs["espalier"])) {
		t.Error("the list has another sum than the program")
	}
}

// listed returns the names and sums of all parts in the bill of materials of espalier.
func listed(t *testing.T, files map[string][]byte) (parts, sums []string) {
	t.Helper()
	var list struct {
		Packages []struct {
			Name      string `json:"name"`
			Checksums []struct {
				Value string `json:"checksumValue"`
			} `json:"checksums"`
		} `json:"packages"`
	}
	if err := json.Unmarshal(files["espalier_v1.2.3.spdx.json"], &list); err != nil {
		t.Fatal(err)
	}
	for _, each := range list.Packages {
		parts = append(parts, each.Name)
		for _, sum := range each.Checksums {
			sums = append(sums, sum.Value)
		}
	}
	return parts, sums
}

// A program contains the pages if they are built, whether or not the release insists on them. Only then does it contain their packages.
func TestPagesThatAreNotBuiltAreNotListed(t *testing.T) {
	root := tinyCheckout(t)
	for _, built := range []bool{true, false} {
		if !built {
			if err := os.RemoveAll(filepath.Join(root, "ui", "dist")); err != nil {
				t.Fatal(err)
			}
		}
		parts, _ := listed(t, releasedFrom(t, root, "-platforms=linux/amd64", "-parts=programs", "-pages=false"))
		if slices.Contains(parts, "preact") != built {
			t.Errorf("pages built: %t, but the list has %s", built, parts)
		}
	}
}

// keyFile returns a file with a private key.
func keyFile(t *testing.T) (path string, key signature.Key) {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize)), "")
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	if key, err = signature.Read(pem.EncodeToMemory(block)); err != nil {
		t.Fatal(err)
	}
	return path, key
}

func TestASignedRelease(t *testing.T) {
	path, key := keyFile(t)
	files := released(t, "-platforms=linux/amd64", "-parts=manifests", "-sign="+path)
	want, err := key.Sign(files["checksums.txt"])
	if err != nil || !bytes.Equal(files["checksums.txt.sig"], want) {
		t.Errorf("the signature is of something else: %v\n%s", err, files["checksums.txt.sig"])
	}
	if bytes.Contains(files["checksums.txt"], []byte("checksums.txt")) {
		t.Errorf("the checksums speak of themselves:\n%s", files["checksums.txt"])
	}
}

func TestImagesAlone(t *testing.T) {
	files := released(t, "-platforms=linux/amd64,windows/amd64", "-parts=images")
	want := []string{
		"checksums.txt", "espalier-controller_v1.2.3.spdx.json", "espalier-controller_v1.2.3_image.tar", "espalier_v1.2.3.spdx.json",
		"espalier_v1.2.3_image.tar", "images.txt",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(files))); diff != "" {
		t.Error(diff)
	}
}

func TestManifestsAlone(t *testing.T) {
	files := released(t, "-parts=manifests", "-version=752ccbd-dirty")
	want := []string{
		"checksums.txt", "crds.yaml", "espalier-0.0.0-dev-752ccbd-dirty.tgz", "espalier-kustomize_752ccbd-dirty.tar.gz",
		"install-ha.yaml", "install.yaml",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(files))); diff != "" {
		t.Error(diff)
	}
	if !bytes.Contains(files["install.yaml"], []byte("espalier.dev/espalier-controller:752ccbd-dirty\n")) {
		t.Error("install.yaml does not name the version")
	}
}

// An error leaves no release.
func TestReleasesThatAreNotMade(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(t *testing.T, opts *options)
		want  string
	}{
		"a folder with something in it": {func(t *testing.T, o *options) {
			if err := errors.Join(os.MkdirAll(o.out, 0o755), os.WriteFile(filepath.Join(o.out, "old"), nil, 0o644)); err != nil {
				t.Fatal(err)
			}
		}, "is not empty"},
		"no pages": {func(t *testing.T, o *options) {
			if err := os.RemoveAll(filepath.Join(o.root, "ui", "dist")); err != nil {
				t.Fatal(err)
			}
		}, "make ui"},
		"a program that does not compile": {func(t *testing.T, o *options) {
			if err := os.WriteFile(filepath.Join(o.root, "module", "tool", "broken.go"), []byte("package other\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "build espalier for linux/amd64"},
		"no key": {func(_ *testing.T, o *options) { o.keyFile = filepath.Join(o.root, "nowhere") }, "-sign: open "},
		"a key that is none": {func(_ *testing.T, o *options) {
			o.keyFile = filepath.Join(o.root, "LICENSE")
		}, "LICENSE cannot sign: it is not a private key"},
		"no chart": {func(_ *testing.T, o *options) {
			o.root = filepath.Join(o.root, "module")
			o.parts = []string{partManifests}
		}, "read the Kustomizations"},
	} {
		t.Run(name, func(t *testing.T) {
			opts := parsedOptions(t, "-platforms=linux/amd64")
			opts.root, opts.out, opts.products = tinyCheckout(t), filepath.Join(t.TempDir(), "dist"), tinyProducts
			test.spoil(t, &opts)
			if err := newRelease(opts).make(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
			if _, err := os.Stat(filepath.Join(opts.out, "checksums.txt")); err == nil {
				t.Error("there are checksums")
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	for name, test := range map[string]struct {
		args  []string
		epoch string
		want  string
	}{
		"no time":            {nil, "", "SOURCE_DATE_EPOCH"},
		"no version":         {[]string{"-version="}, "1", "-version"},
		"a version with +":   {[]string{"-version=v1.0.0+meta"}, "1", "-version"},
		"an unknown system":  {[]string{"-platforms=plan9/amd64"}, "1", `-platforms: "plan9/amd64" is none of`},
		"half a platform":    {[]string{"-platforms=linux"}, "1", "-platforms"},
		"no platforms":       {[]string{"-platforms="}, "1", "-platforms is empty"},
		"an unknown part":    {[]string{"-parts=docs"}, "1", "-parts"},
		"an unknown product": {[]string{"-products=espalier,nope"}, "1", `-products: "nope" is none of espalier, espalier-controller`},
		"an argument":        {[]string{"now"}, "1", `unknown argument "now"`},
	} {
		_, err := parse(append([]string{"-version=v1.0.0"}, test.args...), func(string) string { return test.epoch })
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestSemanticVersion(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3": "v1.2.3", "v1.2.3-rc.1": "v1.2.3-rc.1", "v0.1.0-5-g752ccbd": "v0.1.0-5-g752ccbd", "752ccbd": "v0.0.0-dev-752ccbd",
		"1.2.3": "v0.0.0-dev-1.2.3", "v01.2.3": "v0.0.0-dev-v01.2.3", "a_b": "v0.0.0-dev-a-b",
	} {
		if got := semanticVersion(version); got != want {
			t.Errorf("%s becomes %s", version, got)
		}
	}
}

// The packages in the table exist.
func TestProgramsExist(t *testing.T) {
	for _, p := range products {
		for _, each := range p.programs {
			folder := filepath.Join("..", "..", filepath.FromSlash(each.module), filepath.FromSlash(each.folder))
			if files, err := filepath.Glob(filepath.Join(folder, "main*.go")); err != nil || len(files) == 0 {
				t.Errorf("%s is not in %s: %v", each.name, folder, err)
			}
			if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(each.module), "go.mod")); err != nil {
				t.Error(err)
			}
		}
	}
}
