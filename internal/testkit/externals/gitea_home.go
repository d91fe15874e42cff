// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package externals

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"text/template"

	"espalier.dev/internal/testkit/program"
)

// giteaHome is a folder with everything that one Gitea needs, owned by the user that it runs as.
type giteaHome struct {
	dir      string
	binary   string
	identity identity
	user     *syscall.Credential // nil for the user of the test
}

// giteaConfiguration switches off what no test asks for, surviving a crash included, and lets webhooks reach servers of a test.
var giteaConfiguration = template.Must(template.New("app.ini").Parse(`APP_NAME = test
RUN_MODE = prod
WORK_PATH = {{.Dir}}
[server]
STATIC_ROOT_PATH = {{.Dir}}/static
PROTOCOL = https
CERT_FILE = {{.Dir}}/certificate.pem
KEY_FILE = {{.Dir}}/key.pem
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {{.Port}}
ROOT_URL = https://127.0.0.1:{{.Port}}/
DISABLE_SSH = true
OFFLINE_MODE = true
LFS_START_SERVER = false
[database]
DB_TYPE = sqlite3
PATH = {{.Dir}}/data/gitea.db
SQLITE_TIMEOUT = 60000
SQLITE_JOURNAL_MODE = MEMORY
[repository]
ROOT = {{.Dir}}/data/repositories
DEFAULT_BRANCH = main
[security]
INSTALL_LOCK = true
SECRET_KEY = {{.Secret}}
INTERNAL_TOKEN = {{.Secret}}
[oauth2]
ENABLED = false
[service]
DISABLE_REGISTRATION = true
[webhook]
ALLOWED_HOST_LIST = loopback
SKIP_TLS_VERIFY = true
[queue]
TYPE = channel
[i18n]
LANGS = en-US
NAMES = English
[actions]
ENABLED = false
[packages]
ENABLED = false
[mirror]
ENABLED = false
[cron]
ENABLED = false
[indexer]
ISSUE_INDEXER_TYPE = db
[log]
MODE = console
LEVEL = Info
`))

func newGiteaHome(ctx context.Context, port int) (giteaHome, error) {
	binary, err := program.Gitea.Binary(ctx, os.Stderr)
	if err != nil {
		return giteaHome{}, err
	}
	files, err := program.Gitea.Files(ctx)
	if err != nil {
		return giteaHome{}, err
	}
	dir, err := os.MkdirTemp("", "espalier-gitea-")
	if err != nil {
		return giteaHome{}, fmt.Errorf("make a folder for Gitea: %w", err)
	}
	home := giteaHome{dir: dir, binary: filepath.Join(dir, "gitea"), user: unprivileged()}
	if err := home.fill(binary, files, port); err != nil {
		return giteaHome{}, errors.Join(fmt.Errorf("fill the folder of Gitea: %w", err), home.remove())
	}
	return home, nil
}

// unprivileged returns the user to be when the test is run by root, as whom Gitea refuses to start.
func unprivileged() *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	const overflow = 65534 // what nobody is called in numbers, nearly everywhere
	credential := &syscall.Credential{Uid: overflow, Gid: overflow}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return credential
	}
	if uid, err := strconv.ParseUint(nobody.Uid, 10, 32); err == nil {
		credential.Uid = uint32(uid)
	}
	if gid, err := strconv.ParseUint(nobody.Gid, 10, 32); err == nil {
		credential.Gid = uint32(gid)
	}
	return credential
}

// fill copies the binary, too, and the files that it reads: they may lie where another user cannot go.
func (h *giteaHome) fill(binary, files string, port int) error {
	var err error
	if h.identity, err = newIdentity(); err != nil {
		return err
	}
	if err := os.Link(binary, h.binary); err != nil {
		if err := copyFile(binary, h.binary, 0o755); err != nil {
			return err
		}
	}
	for _, folder := range []string{"options", "templates", "public"} {
		if err := os.CopyFS(filepath.Join(h.dir, "static", folder), os.DirFS(filepath.Join(files, folder))); err != nil {
			return err
		}
	}
	var configuration bytes.Buffer
	values := map[string]any{"Dir": h.dir, "Port": port, "Secret": rand.Text() + rand.Text()}
	if err := giteaConfiguration.Execute(&configuration, values); err != nil {
		return err
	}
	texts := map[string][]byte{"app.ini": configuration.Bytes(), "certificate.pem": h.identity.certificate, "key.pem": h.identity.key}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(h.dir, name), text, 0o600); err != nil {
			return err
		}
	}
	return h.handOver()
}

// handOver gives everything to the user that Gitea runs as, except for the binary, which may be a link to the one in the cache.
func (h *giteaHome) handOver() error {
	if h.user == nil {
		return nil
	}
	return filepath.WalkDir(h.dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == h.binary {
			return err
		}
		return os.Chown(path, int(h.user.Uid), int(h.user.Gid))
	})
}

func copyFile(from, to string, mode fs.FileMode) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, mode)
}

func (h *giteaHome) command(arguments ...string) program.Command {
	return program.Command{
		Title: "Gitea", Binary: h.binary, Arguments: append([]string{"--config", filepath.Join(h.dir, "app.ini")}, arguments...),
		Dir: h.dir, User: h.user, Env: []string{"HOME=" + h.dir, "TMPDIR=" + h.dir, "GITEA_WORK_DIR=" + h.dir},
	}
}

// run runs one of Gitea's own commands to its end and returns what it printed.
func (h *giteaHome) run(ctx context.Context, arguments ...string) (string, error) {
	command := h.command(arguments...)
	cmd := exec.CommandContext(ctx, command.Binary, command.Arguments...)
	cmd.Dir, cmd.Env = command.Dir, append(os.Environ(), command.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: command.User}
	output, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("gitea %s: %w\n%s", strings.Join(arguments[:min(3, len(arguments))], " "), err, output)
	}
	return string(output), nil
}

func (h *giteaHome) remove() error {
	if err := os.RemoveAll(h.dir); err != nil {
		return fmt.Errorf("remove the folder of Gitea: %w", err)
	}
	return nil
}
