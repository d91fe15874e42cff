// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"espalier.dev/internal/release/bundle"
	"espalier.dev/internal/release/image"
	"espalier.dev/internal/release/krew"
	"espalier.dev/internal/release/manifest"
	"espalier.dev/internal/release/sbom"
	"espalier.dev/internal/release/signature"
)

// release is a release that is being made.
type release struct {
	options
	// work is a folder for programs before they are packed.
	work string
	// built are the programs built so far.
	built []build
	// done and steps count the progress.
	done, steps int
	// plugins and images are the results for the files that list them.
	plugins []krew.Archive
	images  []string
	// key signs, if there is one.
	key *signature.Key
}

// sumsFile has the checksums of all other files.
const sumsFile = "checksums.txt"

// build is a program for one platform.
type build struct {
	product  product
	program  program
	platform platform
	path     string
}

func newRelease(opts options) *release { return &release{options: opts} }

// make makes all artefacts. After an error, the folder is not a release: it has no checksums.
func (r *release) make(ctx context.Context) error {
	if err := r.prepare(); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(r.work) }()
	for _, step := range []func(context.Context) error{r.buildAll, r.packAll, r.listAll, r.writeImages, r.writeManifests, r.writeSums} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	r.say("%s is in %s", r.version, r.out)
	return nil
}

func (r *release) has(part string) bool { return slices.Contains(r.parts, part) }

func (r *release) say(format string, args ...any) {
	fmt.Fprintf(r.progress, "release: "+format+"\n", args...)
}

func (r *release) prepare() error {
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return fmt.Errorf("create the folder for the artefacts: %w", err)
	}
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return fmt.Errorf("look into the folder for the artefacts: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s is not empty: remove it, so that nothing of an earlier release stays", r.out)
	}
	if err := errors.Join(r.checkPages(), r.readKey()); err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp("", "espalier-release-"); err != nil {
		return fmt.Errorf("create a folder for programs: %w", err)
	}
	return nil
}

// readKey reads the key before everything that takes long.
func (r *release) readKey() error {
	if r.keyFile == "" {
		return nil
	}
	text, err := os.ReadFile(r.keyFile)
	if err != nil {
		return fmt.Errorf("-sign: %w", err)
	}
	key, err := signature.Read(text)
	if err != nil {
		return fmt.Errorf("-sign: %s cannot sign: %w", r.keyFile, err)
	}
	r.key = &key
	return nil
}

// checkPages checks that the pages exist that a program will serve.
func (r *release) checkPages() error {
	served := slices.ContainsFunc(r.products, func(p product) bool { return p.pages && len(r.platformsOf(p)) > 0 })
	if !r.pages || !served {
		return nil
	}
	if built, err := r.pagesBuilt(); built || err != nil {
		return err
	}
	return errors.New("the pages of the web UI are not built: run \"make ui\", which needs npm, or leave them out with UI=no")
}

// pagesBuilt reports whether the pages exist, so that a program that serves them contains them.
func (r *release) pagesBuilt() (bool, error) {
	_, err := os.Stat(filepath.Join(r.root, "ui", "dist", "site", "index.html"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the pages of the web UI: %w", err)
	}
	return true, nil
}

// platformsOf returns the platforms of a product. Without archives, only those of an image.
func (r *release) platformsOf(p product) []platform {
	var result []platform
	for _, each := range r.platforms {
		asImage := r.has(partImages) && p.title != "" && each.os == linux
		asArchive := r.has(partPrograms) && (each.os == linux || !p.inClusters && !p.onLinux)
		if asImage || asArchive {
			result = append(result, each)
		}
	}
	return result
}

func (r *release) buildAll(ctx context.Context) error {
	for _, p := range r.products {
		r.steps += len(r.platformsOf(p)) * len(p.programs)
	}
	for _, p := range r.products {
		for _, each := range r.platformsOf(p) {
			for _, program := range p.programs {
				if err := r.build(ctx, build{product: p, program: program, platform: each}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (r *release) build(ctx context.Context, b build) error {
	r.done++
	began := time.Now()
	r.say("[%d/%d] building %s for %s", r.done, r.steps, b.program.name, b.platform)
	b.path = filepath.Join(r.work, b.platform.os+"_"+b.platform.architecture, b.program.name+b.platform.extension())
	if err := r.compile(ctx, b); err != nil {
		return fmt.Errorf("build %s for %s: %w", b.program.name, b.platform, err)
	}
	info, err := os.Stat(b.path)
	if err != nil {
		return err
	}
	r.say("[%d/%d] built it in %.0f s: %d MiB", r.done, r.steps, time.Since(began).Seconds(), info.Size()>>20)
	r.built = append(r.built, b)
	return nil
}

// buildsOf returns the programs of a product for a platform, or for all of them if it is nil.
func (r *release) buildsOf(p product, only *platform) []build {
	var result []build
	for _, b := range r.built {
		if b.product.name == p.name && (only == nil || b.platform == *only) {
			result = append(result, b)
		}
	}
	return result
}

// packAll makes the archives.
func (r *release) packAll(context.Context) error {
	if !r.has(partPrograms) {
		return nil
	}
	for _, p := range r.products {
		for _, each := range r.platformsOf(p) {
			if err := r.pack(p, each); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *release) pack(p product, each platform) error {
	licence, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return err
	}
	files := []bundle.File{{Name: "LICENSE", Mode: bundle.Text, Content: licence}}
	for _, b := range r.buildsOf(p, &each) {
		content, err := os.ReadFile(b.path)
		if err != nil {
			return err
		}
		files = append(files, bundle.File{Name: filepath.Base(b.path), Mode: bundle.Program, Content: content})
	}
	pack := bundle.TarGz
	if each.os == windows {
		pack = bundle.Zip
	}
	content, err := pack(files, r.time)
	if err != nil {
		return err
	}
	name := r.archiveName(p, each)
	if p.plugin {
		sum, err := bundle.Sum(bytes.NewReader(content))
		if err != nil {
			return err
		}
		r.plugins = append(r.plugins, krew.Archive{
			File: name, Checksum: sum, Program: p.programs[0].name + each.extension(), OS: each.os, Architecture: each.architecture,
		})
	}
	return r.write(name, content)
}

func (r *release) archiveName(p product, each platform) string {
	extension := ".tar.gz"
	if each.os == windows {
		extension = ".zip"
	}
	return strings.Join([]string{p.name, r.version, each.os, each.architecture}, "_") + extension
}

// listAll writes the bill of materials of each program.
func (r *release) listAll(context.Context) error {
	for _, p := range r.products {
		for _, program := range p.programs {
			if err := r.list(p, program); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *release) list(p product, listed program) error {
	content := sbom.Release{Name: listed.name, Version: r.version, Created: r.time}
	for _, b := range r.buildsOf(p, nil) {
		if b.program != listed {
			continue
		}
		part, err := partOf(b)
		if err != nil {
			return fmt.Errorf("list what is in %s for %s: %w", listed.name, b.platform, err)
		}
		content.Builds = append(content.Builds, part)
	}
	if len(content.Builds) == 0 {
		return nil
	}
	if p.pages {
		pages, err := r.pagePackages()
		if err != nil {
			return err
		}
		content.Pages = pages
	}
	text, err := sbom.New(content)
	if err != nil {
		return err
	}
	return r.write(listed.name+"_"+r.version+".spdx.json", text)
}

// pagePackages returns the npm packages in the pages that a program contains: none without pages.
func (r *release) pagePackages() (map[string]string, error) {
	if built, err := r.pagesBuilt(); !built || err != nil {
		return nil, err
	}
	lock, err := os.ReadFile(filepath.Join(r.root, "ui", "package-lock.json"))
	if err != nil {
		return nil, err
	}
	return sbom.ReadPages(lock)
}

// writeImages writes an image for each product that has one, from the programs for Linux.
func (r *release) writeImages(context.Context) error {
	if !r.has(partImages) {
		return nil
	}
	for _, p := range r.products {
		if p.title == "" {
			continue
		}
		if err := r.writeImage(p); err != nil {
			return err
		}
	}
	if len(r.images) == 0 {
		return nil
	}
	return r.write("images.txt", []byte(strings.Join(r.images, "\n")+"\n"))
}

func (r *release) writeImage(p product) error {
	wanted := image.Image{
		Repository: manifest.Registry + "/" + p.name, Tag: r.version, Program: p.programs[0].name, Title: p.title,
		Source: "https://" + manifest.Registry, Revision: r.revision, Created: r.time, Builds: map[string][]byte{},
	}
	for _, b := range r.buildsOf(p, nil) {
		if b.platform.os != linux || b.program != p.programs[0] {
			continue
		}
		content, err := os.ReadFile(b.path)
		if err != nil {
			return err
		}
		wanted.Builds[b.platform.architecture] = content
	}
	if len(wanted.Builds) == 0 {
		r.say("no image of %s: its platforms are not for Linux", p.name)
		return nil
	}
	layout, err := image.New(wanted)
	if err != nil {
		return err
	}
	content, err := layout.Archive(r.time)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s:%s@%s", wanted.Repository, wanted.Tag, layout.Index)
	r.images = append(r.images, name)
	r.say("image %s", name)
	return r.write(p.name+"_"+r.version+"_image.tar", content)
}

// writeManifests writes the manifests for clusters, and the manifest of the plugin if there is one.
func (r *release) writeManifests(context.Context) error {
	if !r.has(partManifests) {
		return nil
	}
	files, err := manifest.Kustomizations(os.DirFS(filepath.Join(r.root, "config")), r.version)
	if err != nil {
		return err
	}
	for name, folder := range map[string]string{
		"crds.yaml": manifest.Definitions, "install.yaml": manifest.Default, "install-ha.yaml": manifest.HighAvailability,
	} {
		text, err := manifest.Build(files, folder)
		if err != nil {
			return err
		}
		if err := r.write(name, text); err != nil {
			return err
		}
	}
	for i := range files {
		files[i].Name = "espalier/" + files[i].Name
	}
	packed, err := bundle.TarGz(files, r.time)
	if err != nil {
		return err
	}
	return errors.Join(r.write("espalier-kustomize_"+r.version+".tar.gz", packed), r.writeChart(), r.writePlugin())
}

func (r *release) writeChart() error {
	versions := manifest.Versions{Chart: strings.TrimPrefix(semanticVersion(r.version), "v"), App: r.version}
	packed, err := manifest.Chart(filepath.Join(r.root, "charts", "espalier"), versions, r.time)
	if err != nil {
		return err
	}
	return r.write("espalier-"+versions.Chart+".tgz", packed)
}

func (r *release) writePlugin() error {
	if len(r.plugins) == 0 {
		return nil
	}
	text, err := krew.Manifest(krew.Release{Version: semanticVersion(r.version), Address: r.address, Archives: r.plugins})
	if err != nil {
		return err
	}
	return r.write("krew.yaml", text)
}

// writeSums runs last, and writes the checksums after their signature, so that a release without checksums is unfinished.
func (r *release) writeSums(context.Context) error {
	sums, err := bundle.Checksums(os.DirFS(r.out))
	if err != nil {
		return fmt.Errorf("add up the artefacts: %w", err)
	}
	if r.key != nil {
		signed, err := r.key.Sign([]byte(sums))
		if err != nil {
			return err
		}
		if err := r.write(sumsFile+".sig", signed); err != nil {
			return err
		}
		r.say("signed by %s", r.key.Public())
	}
	return r.write(sumsFile, []byte(sums))
}

func (r *release) write(name string, content []byte) error {
	return os.WriteFile(filepath.Join(r.out, name), content, 0o644)
}
