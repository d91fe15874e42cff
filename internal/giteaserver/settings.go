// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package giteaserver

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"espalier.dev/internal/subprocess"
)

// Settings say how to run a Gitea. It writes only below Dir.
type Settings struct {
	Binary string
	Static string // files for a Gitea that was built without them; empty if it contains them
	Dir    string // absolute
	Port   int    // on 127.0.0.1

	SecretKey     string // for what it stores
	InternalToken string // for its own commands, such as the one that stops it

	Certificate, Key string // files for TLS; without them, it uses plain HTTP
	Durable          bool   // it survives crashes; otherwise it is faster

	User    *subprocess.User // nil for the user of this process
	Inherit bool             // it inherits the listener; only for a User without the right to end this process, see Start
	Env     []string         // what is added to the environment
	OnlyEnv bool             // the environment is Env alone, without that of this process
	Apart   bool             // it does not receive the Ctrl-C of the terminal
}

// stopLimit exceeds what Gitea gives its own requests, see GRACEFUL_HAMMER_TIME below.
const stopLimit = 20 * time.Second

// configuration disables what is not needed to try out pull requests, and what would use the network, and lets webhooks reach this machine.
// Values that a user may choose, paths, are quoted.
var configuration = template.Must(template.New("app.ini").Funcs(template.FuncMap{"quote": quote}).Parse(
	`APP_NAME = Gitea
RUN_MODE = prod
WORK_PATH = {{quote .Dir}}
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = {{.AsRoot}}
[server]
{{- if .Static}}
STATIC_ROOT_PATH = {{quote .Static}}
{{- end}}
PROTOCOL = {{.Scheme}}
{{- if .Certificate}}
CERT_FILE = {{quote .Certificate}}
KEY_FILE = {{quote .Key}}
{{- end}}
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {{.Port}}
ROOT_URL = {{.URL}}/
DISABLE_SSH = true
OFFLINE_MODE = true
LFS_START_SERVER = false
GRACEFUL_HAMMER_TIME = 5s
[database]
DB_TYPE = sqlite3
PATH = {{quote .Database}}
SQLITE_TIMEOUT = 60000
SQLITE_JOURNAL_MODE = {{if .Durable}}WAL{{else}}MEMORY{{end}}
[repository]
ROOT = {{quote .Repositories}}
DEFAULT_BRANCH = main
[security]
INSTALL_LOCK = true
SECRET_KEY = {{.SecretKey}}
INTERNAL_TOKEN = {{.InternalToken}}
[oauth2]
ENABLED = false
[service]
DISABLE_REGISTRATION = true
[webhook]
ALLOWED_HOST_LIST = loopback
SKIP_TLS_VERIFY = true
{{- if not .Durable}}
[queue]
TYPE = channel
{{- end}}
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
MODE = console{{if .Durable}}, file{{end}}
LEVEL = {{if .Durable}}Warn{{else}}Info{{end}}
`))

// quote converts any text to a value: elsewhere, a semicolon or a number sign starts a comment.
func quote(text string) string { return "`" + text + "`" }

// URL returns its address, without a final slash.
func (s Settings) URL() string { return fmt.Sprintf("%s://127.0.0.1:%d", s.Scheme(), s.Port) }

// Scheme returns the scheme of the URL.
func (s Settings) Scheme() string {
	if s.Certificate != "" {
		return "https"
	}
	return "http"
}

// AsRoot reports whether Gitea, which refuses to run as root, must do so: the folder belongs to root.
func (s Settings) AsRoot() bool { return s.User == nil && os.Getuid() == 0 }

// Database returns the path of the file with everything that is not in a repository.
func (s Settings) Database() string { return filepath.Join(s.Dir, "data", "gitea.db") }

// Repositories returns the folder of the repositories.
func (s Settings) Repositories() string { return filepath.Join(s.Dir, "data", "repositories") }

// LogDir returns the folder where a durable Gitea keeps its log.
func (s Settings) LogDir() string { return filepath.Join(s.Dir, "log") }

func (s Settings) configPath() string { return filepath.Join(s.Dir, "app.ini") }

// Write writes the configuration into the folder. If User is set, the caller must change the owner.
func (s Settings) Write() error {
	for _, path := range []string{s.Dir, s.Static, s.Certificate, s.Key} {
		if strings.ContainsAny(path, "`\n") {
			return fmt.Errorf("configure Gitea: %q contains a backtick or a line break, which Gitea cannot read: choose another directory", path)
		}
	}
	var text bytes.Buffer
	if err := configuration.Execute(&text, s); err != nil {
		return fmt.Errorf("configure Gitea: %w", err)
	}
	if err := os.WriteFile(s.configPath(), text.Bytes(), 0o600); err != nil {
		return fmt.Errorf("configure Gitea: %w", err)
	}
	return nil
}

// command returns one of Gitea's own commands.
func (s Settings) command(arguments ...string) subprocess.Command {
	return subprocess.Command{
		Title: "Gitea", Binary: s.Binary, Arguments: append([]string{"--config", s.configPath()}, arguments...),
		Dir: s.Dir, User: s.User, Apart: s.Apart, StopLimit: stopLimit, OnlyEnv: s.OnlyEnv,
		Env: append([]string{
			"HOME=" + s.Dir, "TMPDIR=" + s.Dir, "GITEA_WORK_DIR=" + s.Dir, "GITEA_CUSTOM=" + filepath.Join(s.Dir, "custom"),
		}, s.Env...),
	}
}
