// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"espalier.dev/internal/component"
)

// ReferenceHelp explains the argument REFERENCE.
const ReferenceHelp = `REFERENCE is an artifact in a registry, such as registry.example.com/team/shop:1.0.0,
or in an archive in the common transport format: ./archive.tgz//team/shop:1.0.0. An
archive is a directory, a tar file or a compressed one. Registries are accessed over HTTPS
unless the reference begins with http://.

` + CredentialsHelp

// Reference names an artifact in a registry or an archive.
type Reference struct {
	// ImageReference has the repository in the archive, or with the host of its registry.
	component.ImageReference
	// Image is what the user wrote, for a registry.
	Image string
	// Archive is the file or directory, empty for a registry. Links are followed if it exists.
	Archive string
	exists  bool
	shown   string
}

// String is the reference as it may be printed, without a digest.
func (r Reference) String() string { return r.shown }

// At is the reference with a digest.
func (r Reference) At(digest string) string {
	if r.Digest != "" {
		return r.shown
	}
	return r.shown + "@" + digest
}

// ParseReference understands [http://]HOST/REPOSITORY:TAG and ARCHIVE//REPOSITORY:TAG, each also with @DIGEST.
func ParseReference(argument string) (Reference, error) {
	parsed, err := parseReference(argument)
	if err != nil {
		return Reference{}, fmt.Errorf("%s: %w", Shown(argument), err)
	}
	parsed.shown = Shown(argument)
	return parsed, nil
}

func parseReference(argument string) (r Reference, err error) {
	name, image, inArchive := cut(argument)
	switch {
	case inArchive && strings.Contains(name, "://"):
		return r, errors.New("// separates an archive from the artifact in it: write REGISTRY/REPOSITORY:TAG for a registry")
	case inArchive && name == "":
		return r, errors.New("write ARCHIVE//REPOSITORY:TAG, or REGISTRY/REPOSITORY:TAG")
	case inArchive:
		if r.ImageReference, err = component.ParseImageReference(image); err != nil {
			return r, err
		}
		r.Archive, r.exists, err = archiveFile(name)
		return r, err
	case isPath(argument):
		return r, errors.New("write ARCHIVE//REPOSITORY:TAG to name an artifact in an archive")
	}
	if err := withoutPassword(digest.ReplaceAllString(argument, "")); err != nil {
		return r, err
	}
	r.Image = argument
	r.ImageReference, err = component.ParseImageReference(argument)
	return r, err
}

// archiveFile returns where an archive is, or where it will be.
func archiveFile(name string) (file string, exists bool, err error) {
	file, err = filepath.EvalSymlinks(name)
	switch {
	case err == nil:
		file, err = filepath.Abs(file)
		return file, true, err
	case !errors.Is(err, fs.ErrNotExist):
		return "", false, fmt.Errorf("open the archive: %w", err)
	case !isPath(name):
		return "", false, fmt.Errorf("there is no archive %s: a new one ends with .tar or .tgz, or begins with ./ for a directory", Shown(name))
	}
	file, err = filepath.Abs(name)
	return file, false, err
}
