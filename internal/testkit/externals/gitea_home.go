// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package externals

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"espalier.dev/internal/giteaserver"
	"espalier.dev/internal/subprocess"
	"espalier.dev/internal/testkit/program"
)

// newGiteaHome creates a folder with everything that one Gitea needs, owned by the user that it runs as. It also returns the authority of
// its certificate.
func newGiteaHome(ctx context.Context, port int) (giteaserver.Settings, []byte, error) {
	binary, err := program.Gitea.Binary(ctx, os.Stderr)
	if err != nil {
		return giteaserver.Settings{}, nil, err
	}
	files, err := program.Gitea.Files(ctx)
	if err != nil {
		return giteaserver.Settings{}, nil, err
	}
	dir, err := os.MkdirTemp("", "espalier-gitea-")
	if err != nil {
		return giteaserver.Settings{}, nil, fmt.Errorf("make a folder for Gitea: %w", err)
	}
	secret, account := rand.Text()+rand.Text(), unprivileged()
	settings := giteaserver.Settings{
		Binary: filepath.Join(dir, "gitea"), Static: filepath.Join(dir, "static"), Dir: dir, Port: port,
		SecretKey: secret, InternalToken: secret,
		Certificate: filepath.Join(dir, "certificate.pem"), Key: filepath.Join(dir, "key.pem"), User: account, Inherit: account != nil,
	}
	authority, err := fillGiteaHome(settings, binary, files)
	if err != nil {
		return giteaserver.Settings{}, nil, errors.Join(fmt.Errorf("fill the folder of Gitea: %w", err), removeGiteaHome(settings))
	}
	return settings, authority, nil
}

// unprivileged returns the user to run as when the test runs as root, which Gitea rejects.
func unprivileged() *subprocess.User {
	if os.Getuid() != 0 {
		return nil
	}
	const overflow = 65534 // the user ID of nobody, nearly everywhere
	unprivileged := &subprocess.User{UID: overflow, GID: overflow}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return unprivileged
	}
	if uid, err := strconv.ParseUint(nobody.Uid, 10, 32); err == nil {
		unprivileged.UID = uint32(uid)
	}
	if gid, err := strconv.ParseUint(nobody.Gid, 10, 32); err == nil {
		unprivileged.GID = uint32(gid)
	}
	return unprivileged
}

// fillGiteaHome also copies the binary and the files that it reads: they may be where another user cannot read them.
func fillGiteaHome(settings giteaserver.Settings, binary, files string) (authority []byte, err error) {
	identity, err := newIdentity()
	if err != nil {
		return nil, err
	}
	if err := os.Link(binary, settings.Binary); err != nil {
		if err := copyFile(binary, settings.Binary, 0o755); err != nil {
			return nil, err
		}
	}
	for _, folder := range []string{"options", "templates", "public"} {
		if err := os.CopyFS(filepath.Join(settings.Static, folder), os.DirFS(filepath.Join(files, folder))); err != nil {
			return nil, err
		}
	}
	for path, text := range map[string][]byte{settings.Certificate: identity.certificate, settings.Key: identity.key} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return nil, err
		}
	}
	if err := settings.Write(); err != nil {
		return nil, err
	}
	return identity.authority, handOver(settings)
}

// handOver gives everything to the user that Gitea runs as, except for the binary, which may be a link to the cached one.
func handOver(settings giteaserver.Settings) error {
	if settings.User == nil {
		return nil
	}
	return filepath.WalkDir(settings.Dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == settings.Binary {
			return err
		}
		return os.Chown(path, int(settings.User.UID), int(settings.User.GID))
	})
}

func copyFile(from, to string, mode fs.FileMode) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, mode)
}

func removeGiteaHome(settings giteaserver.Settings) error {
	if err := os.RemoveAll(settings.Dir); err != nil {
		return fmt.Errorf("remove the folder of Gitea: %w", err)
	}
	return nil
}
