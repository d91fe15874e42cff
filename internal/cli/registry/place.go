// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"espalier.dev/internal/component"
)

// Separator stands between a repository or an archive and what is in it.
const Separator = "//"

// Place is a component in a repository, as a user names it.
type Place struct {
	component.Coordinates
	// Repository is what the user calls the repository.
	Repository string
	// Directory is where the archive is, empty for a registry.
	Directory string
}

// Task is a task that reads there.
func (p Place) Task(do func(context.Context, *Session) error) Task {
	return Task{Name: "reading from " + p.Repository, Directory: p.Directory, Do: do}
}

// ParsePlace understands REPOSITORY//COMPONENT:VERSION.
func ParsePlace(argument string) (Place, error) {
	place, err := parsePlace(argument)
	if err != nil {
		return Place{}, fmt.Errorf("%s: %w", Shown(argument), err)
	}
	return place, nil
}

func parsePlace(argument string) (Place, error) {
	repository, rest, found := cut(argument)
	if !found || repository == "" {
		return Place{}, errors.New("write REPOSITORY//COMPONENT:VERSION")
	}
	name, version, found := strings.Cut(rest, ":")
	if !found || name == "" || version == "" {
		return Place{}, errors.New("after // must come COMPONENT:VERSION")
	}
	object := map[string]any{"type": "OCIRegistry", "baseUrl": repository}
	place := Place{Repository: Shown(repository)}
	file, isArchive, err := findArchive(repository)
	if err != nil {
		return Place{}, err
	}
	if isArchive {
		object, place.Directory = archiveContext(file), filepath.Dir(file)
	} else if err := withoutPassword(repository); err != nil {
		return Place{}, err
	}
	place.RepositoryContext, err = component.NewRepositoryContext(object)
	place.Name, place.Version = name, version
	return place, err
}

// cut takes an argument apart at the last separator that does not belong to a scheme.
func cut(argument string) (before, after string, found bool) {
	at := strings.LastIndex(argument, Separator)
	if at < 0 || strings.HasSuffix(argument[:at], ":") {
		return "", "", false
	}
	return argument[:at], argument[at+len(Separator):], true
}

// archiveContext is the context of an archive in the directory that a task names.
func archiveContext(file string) map[string]any {
	return map[string]any{"type": "CommonTransportFormat", "filePath": filepath.Base(file)}
}

// findArchive returns the path of an archive without links in it. What cannot be a file is a registry.
func findArchive(name string) (file string, isArchive bool, err error) {
	if strings.Contains(name, "://") {
		return "", false, nil
	}
	file, err = filepath.EvalSymlinks(name)
	switch {
	case err == nil:
		file, err = filepath.Abs(file)
		return file, true, err
	case !isPath(name):
		return "", false, nil
	case errors.Is(err, fs.ErrNotExist):
		return "", false, fmt.Errorf("there is no archive %s", Shown(name))
	default:
		return "", false, fmt.Errorf("open the archive: %w", err)
	}
}

// endings are those of archives that are a file, and whether they are packed.
var endings = map[string]bool{".tar": false, ".tgz": true, ".tar.gz": true}

// isPath reports whether a name can only mean a file.
func isPath(name string) bool {
	for _, prefix := range []string{"." + string(os.PathSeparator), ".." + string(os.PathSeparator), "./", "../"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	_, isFile := ending(name)
	return isFile || filepath.IsAbs(name) || name == "." || name == ".."
}

func ending(name string) (packed, isFile bool) {
	for end, packed := range endings {
		if strings.HasSuffix(name, end) {
			return packed, true
		}
	}
	return false, false
}

var (
	digest   = regexp.MustCompile(`@sha[0-9]+:[0-9a-fA-F]+$`)
	password = regexp.MustCompile(`^((?:[a-zA-Z][a-zA-Z0-9+.-]*://)?).*@`)
)

// Shown is an argument as it may be printed: by mistake it may be a URL with a password. The digest at the end of a reference stays.
func Shown(argument string) string {
	behind := digest.FindString(argument)
	before := strings.TrimSuffix(argument, behind)
	return plain(password.ReplaceAllString(before, "${1}<masked>@") + behind)
}

// withoutPassword rejects an address that contains one: it would end up in errors and in the history of the shell.
func withoutPassword(address string) error {
	if strings.Contains(address, "@") {
		return errors.New("an address has no user and password: log in with docker login, or use --registry-config")
	}
	return nil
}
