// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"espalier.dev/internal/release/bundle"
	"espalier.dev/internal/release/sbom"
)

// settled overrides settings in the environment of a machine that would change the program.
var settled = []string{"CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0", "GOFIPS140=off"}

// compile builds a program reproducibly, regardless of the machine and the time.
func (r *release) compile(ctx context.Context, b build) error {
	flags := strings.TrimSpace("-s -w -buildid= " + r.linkFlags)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", b.path, b.program.folder)
	cmd.Dir = filepath.Join(r.root, filepath.FromSlash(b.program.module))
	cmd.Env = append(os.Environ(), settled...)
	cmd.Env = append(cmd.Env, "GOOS="+b.platform.os, "GOARCH="+b.platform.architecture)
	cmd.Stdout, cmd.Stderr = r.progress, r.progress
	return cmd.Run()
}

// partOf reads the build information of a program.
func partOf(b build) (sbom.Build, error) {
	file, err := os.Open(b.path)
	if err != nil {
		return sbom.Build{}, err
	}
	defer file.Close()
	info, err := buildinfo.Read(file)
	if err != nil {
		return sbom.Build{}, err
	}
	sum, err := bundle.Sum(file)
	return sbom.Build{Platform: b.platform.String(), File: filepath.Base(b.path), Checksum: sum, Info: info}, err
}
