// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package version says which build of Espalier is running.
package version

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// The linker sets these in builds made by the Makefile.
var (
	version string
	// documentation is the address of the documentation as a site; empty if it is not published anywhere.
	documentation string
)

// Info describes a build.
type Info struct {
	// Version is a tag, a commit, or "devel".
	Version string `json:"version"`
	// Go is the version of the compiler.
	Go string `json:"go"`
	// Platform is the operating system and the processor.
	Platform string `json:"platform"`
}

// Get describes this build.
func Get() Info {
	return Info{Version: name(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
}

// UserAgent is what a program of this build calls itself towards API servers.
func UserAgent(program string) string {
	return program + "/" + name() + " (" + runtime.GOOS + "/" + runtime.GOARCH + ")"
}

// Page returns where users of this build find a page of the documentation, with its anchor if it has one: its address in the published
// site, or else its path in the repository.
func Page(path string) string {
	if documentation == "" {
		return path
	}
	file, anchor, _ := strings.Cut(path, "#")
	if anchor != "" {
		anchor = "#" + anchor
	}
	return strings.TrimSuffix(documentation, "/") + "/" + strings.TrimSuffix(file, ".md") + ".html" + anchor
}

func name() string {
	if version != "" {
		return version
	}
	if build, ok := debug.ReadBuildInfo(); ok && build.Main.Version != "" && build.Main.Version != "(devel)" {
		return build.Main.Version
	}
	return "devel"
}
