// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package version says which build of Espalier is running.
package version

import (
	"runtime"
	"runtime/debug"
)

// version is set by the linker in builds made by the Makefile.
var version string

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

func name() string {
	if version != "" {
		return version
	}
	if build, ok := debug.ReadBuildInfo(); ok && build.Main.Version != "" && build.Main.Version != "(devel)" {
		return build.Main.Version
	}
	return "devel"
}
