// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package giteaserver

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// MinimumVersion is the first Gitea that can commit files whether or not they exist. Versions before 1.23.7 cannot restrict the token of a
// new user, and those before 1.21 serve no custom files.
const MinimumVersion = "1.25"

// checkVersion rejects a Gitea that is too old before anything depends on it.
func (s *Server) checkVersion(ctx context.Context) error {
	var answer struct {
		Version string `json:"version"`
	}
	if err := s.Call(ctx, Login{}, Request{Path: "/version", Into: &answer}); err != nil {
		return fmt.Errorf("read the version of Gitea: %w", err)
	}
	if isOld(answer.Version) {
		return fmt.Errorf("%s is Gitea %s: use Gitea %s or newer", s.Binary, answer.Version, MinimumVersion)
	}
	return nil
}

var versionNumbers = regexp.MustCompile(`^v?(\d+)\.(\d+)`)

// isOld reports whether a version is older than the minimum. It accepts versions that have no number, such as those of development builds.
// Forgejo appends the version of Gitea that it corresponds to.
func isOld(version string) bool {
	if _, corresponding, found := strings.Cut(version, "+gitea-"); found {
		version = corresponding
	}
	got, least := numbersOf(version), numbersOf(MinimumVersion)
	return got != nil && cmp.Or(cmp.Compare(got[0], least[0]), cmp.Compare(got[1], least[1])) < 0
}

// numbersOf returns the first two numbers of a version, or nil.
func numbersOf(version string) []int {
	found := versionNumbers.FindStringSubmatch(version)
	if found == nil {
		return nil
	}
	major, err := strconv.Atoi(found[1])
	if err != nil {
		return nil
	}
	minor, err := strconv.Atoi(found[2])
	if err != nil {
		return nil
	}
	return []int{major, minor}
}
