// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Program is a program that tests start.
type Program struct {
	Name  string // of its files in the cache
	Title string // its name in messages

	module string // the folder of the module that contains it, relative to the checkout
	pkg    string // its main package, as the go command in that folder knows it
	flags  []string
	env    []string // additions to the common environment of builds

	version   string // its own variable for its version, if any
	versionOf string // the module whose version that is
}

// The programs.
var (
	APIServer = Program{Name: "apiserver", Title: "the test API server", module: "cmd/espalier", pkg: "./apiserver"}
	// Gitea reports a development version, which its clients reject, unless the version is set. Its SQLite is written in C.
	Gitea = Program{
		Name: "gitea", Title: "Gitea", module: "test/externals/gitea", pkg: "code.gitea.io/gitea",
		version: "main.Version", versionOf: "code.gitea.io/gitea",
		flags: []string{"-tags", "sqlite sqlite_unlock_notify"}, env: []string{"CGO_ENABLED=1"},
	}
	// Dex is an OpenID Connect provider.
	Dex = Program{
		Name: "dex", Title: "Dex", module: "test/externals/dex", pkg: "github.com/dexidp/dex/cmd/dex",
		env: []string{"CGO_ENABLED=1"}, // for SQLite, which requires it
	}
	SourceController = Program{
		Name: "source-controller", Title: "Flux's source-controller", module: "test/externals/source", pkg: "github.com/fluxcd/source-controller",
	}
	KustomizeController = Program{
		Name:   "kustomize-controller",
		Title:  "Flux's kustomize-controller",
		module: "test/externals/kustomize",
		pkg:    "github.com/fluxcd/kustomize-controller",
	}
	HelmController = Program{
		Name: "helm-controller", Title: "Flux's helm-controller", module: "test/externals/helm", pkg: "github.com/fluxcd/helm-controller",
	}
)

// FileDeployer is the example of a third-party deployer. It is small, so it is built on demand.
var FileDeployer = Program{Name: "file-deployer", Title: "the example of a deployer", module: "examples/file-deployer", pkg: "."}

// The programs of a node, which "espalier up --node" starts and which only its tests need.
var (
	Node = Program{Name: "node", Title: "the programs of a node", module: "cmd/espalier", pkg: "./node"}
	// Pause runs in containers.
	Pause = Program{Name: "pause", Title: "the pause program", module: "cmd/espalier", pkg: "./pause"}
)

// All lists the programs that take long to build, those first that most tests need.
var All = []Program{APIServer, Gitea, Dex, SourceController, KustomizeController, HelmController}

// Variable names the environment variable that may point at a finished binary. When it is set, nothing is built.
func (p Program) Variable() string {
	return "ESPALIER_TEST_" + strings.ToUpper(strings.ReplaceAll(p.Name, "-", "_"))
}

// Binary returns the path of an up-to-date binary and builds it when its sources have changed. Concurrent callers, in this
// process or in others, wait for each other. Progress goes to the given writer once building takes longer than two seconds.
func (p Program) Binary(ctx context.Context, progress io.Writer) (string, error) {
	if path := os.Getenv(p.Variable()); path != "" {
		return path, nil
	}
	root, err := p.checkout()
	if err != nil {
		return "", err
	}
	b := builder{
		Program: p, root: root, cache: filepath.Join(root, ".cache", "testkit"), progress: progress, patience: 2 * time.Second,
	}
	return b.ensure(ctx)
}

// Files returns the folder with the unpacked module of a third-party program, for what it needs beside its binary.
func (p Program) Files(ctx context.Context) (string, error) {
	root, err := p.checkout()
	if err != nil {
		return "", err
	}
	b := builder{Program: p, root: root}
	output, err := b.goCommand(ctx, "mod", "download", "-json", p.pkg)
	if err != nil {
		return "", fmt.Errorf("find the files of %s: %w", p.Title, err)
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal([]byte(output), &downloaded); err != nil {
		return "", fmt.Errorf("find the files of %s: %w", p.Title, err)
	}
	return downloaded.Dir, nil
}

// InstallGitea puts Gitea into a folder, with the files that it reads, as "make gitea" does, and returns its path.
func InstallGitea(ctx context.Context, dir string, progress io.Writer) (string, error) {
	binary, err := Gitea.Binary(ctx, progress)
	if err != nil {
		return "", err
	}
	files, err := Gitea.Files(ctx)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "gitea")
	if err := errors.Join(os.Symlink(binary, path), os.Symlink(files, filepath.Join(dir, "gitea-static"))); err != nil {
		return "", fmt.Errorf("install Gitea: %w", err)
	}
	return path, nil
}

func (p Program) checkout() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the checkout: %w", err)
	}
	root, err := findRoot(dir)
	if err != nil {
		return "", fmt.Errorf("%w, or set %s", err, p.Variable())
	}
	return root, nil
}
