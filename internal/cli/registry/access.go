// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package registry is how commands reach registries and archives of components and blueprints: what they call them, with which
// credentials they go there, and what they say when that fails.
package registry

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/pflag"

	"espalier.dev/internal/artifact"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/component"
	"espalier.dev/internal/component/credentials"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/lru"
)

// CredentialsHelp explains where credentials come from.
const CredentialsHelp = `Credentials are those that docker login has written, or those of the file that
--registry-config names. Docker credential helpers are not used.`

// FlagsHelp explains the arguments and flags of commands that read components.
const FlagsHelp = `REPOSITORY is a registry, such as registry.example.com/components or
http://localhost:5000, or an archive in the common transport format: a directory,
a tar file or a compressed one. Registries are accessed over HTTPS unless the address
begins with http://.

` + CredentialsHelp

const cacheMebibytes = 256

// Access reads from registries and archives.
type Access struct {
	env    cli.Environment
	config string
}

// AddFlags returns an access that is steered by flags.
func AddFlags(env cli.Environment, flags *pflag.FlagSet) *Access {
	a := &Access{env: env}
	flags.StringVar(
		&a.config,
		"registry-config",
		"",
		"file with credentials: a docker or OCM configuration (default: the docker configuration of the user, if there is one)",
	)
	return a
}

// Task is what a command does with registries.
type Task struct {
	// Name says for people what takes so long, for example "reading from registry.example.com".
	Name string
	// Directory is where archives are; empty if there are none.
	Directory string
	// Default is where components are looked up for which neither an installation nor its Context names a repository, unless it is the zero
	// value.
	Default component.RepositoryContext
	// Instead takes the place of every repository of components that is named, unless it is the zero value.
	Instead component.RepositoryContext
	// Lazy postpones reading credentials and everything else until something outside is needed, if it ever is.
	Lazy bool
	// Do does it. The context ends with Ctrl-C.
	Do func(ctx context.Context, session *Session) error
}

// Session is access to registries while a command runs.
type Session struct {
	// Repositories are those that the credentials of the user show; nil as long as a lazy task has needed nothing.
	*artifact.Repositories

	access     *Access
	task       Task
	registries *artifact.Registries
	git        *artifact.Git
	user       credentials.Config
	// helpers says that credentials of the user are left to other programs.
	helpers bool
	// said ends what is said while people wait.
	said    func()
	cleanUp []func()
}

// Run does a task. On a terminal it says so if that takes long. It cleans up behind it, and explains what went wrong.
func (a *Access) Run(parent context.Context, task Task) error {
	ctx, stop := a.env.UntilInterrupted(parent)
	defer stop()
	session := &Session{access: a, task: task, said: func() {}}
	defer session.close()
	if !task.Lazy {
		if err := session.open(); err != nil {
			return err
		}
	}
	err := task.Do(ctx, session)
	session.said()
	if err != nil && ctx.Err() != nil {
		return &cli.CodedError{Code: cli.ExitDetached, Err: errors.New("interrupted")}
	}
	return explain(err, session.helpers)
}

// Finished ends what is said while people wait: nothing more takes long, or they wait for something else.
func (s *Session) Finished() { s.said() }

// open prepares everything, once. Nothing is sent yet.
func (s *Session) open() (err error) {
	if s.registries != nil {
		return nil
	}
	if s.user, s.helpers, err = s.access.credentials(); err != nil {
		return err
	}
	// Content is kept only while the command runs: the next user may have other credentials.
	cache, err := os.MkdirTemp("", "espalier-registry-")
	if err != nil {
		return err
	}
	s.cleanUp = append(s.cleanUp, func() { _ = os.RemoveAll(cache) })
	files, err := s.files()
	if err != nil {
		return err
	}
	// The user of the command may reach what the command reaches.
	rules := dial.Rules{AllowLoopback: true}
	s.registries, err = artifact.NewRegistries(artifact.RegistryOptions{
		Rules:          rules,
		CacheDirectory: cache,
		CacheBytes:     cacheMebibytes << 20,
		Files:          files,
		Default:        s.task.Default,
		Instead:        s.task.Instead,
	})
	if err != nil {
		return err
	}
	s.said = s.access.sayIfSlow(s.task.Name)
	s.git = artifact.NewGit(rules)
	s.Repositories = s.registries.With(lru.Key{}, s.user)
	return nil
}

// files is the directory of archives.
func (s *Session) files() (fs.FS, error) {
	if s.task.Directory == "" {
		return nil, nil
	}
	root, err := os.OpenRoot(s.task.Directory)
	if err != nil {
		return nil, err
	}
	s.cleanUp = append(s.cleanUp, func() { _ = root.Close() })
	return root.FS(), nil
}

func (s *Session) close() {
	for _, do := range s.cleanUp {
		do()
	}
}
