// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Repository is a repository of a server.
type Repository struct {
	// URL for clients.
	URL string

	t         testing.TB
	directory string
	work      string
}

// Main is the branch that new repositories have.
const Main = "main"

// Create creates a repository with one commit on the branch Main. Names may contain slashes.
func (s *Server) Create(t testing.TB, name string, files map[string]string) *Repository {
	t.Helper()
	r := &Repository{
		URL:       s.URL + "/" + name + ".git",
		t:         t,
		directory: filepath.Join(s.root, filepath.FromSlash(name)+".git"),
		work:      t.TempDir(),
	}
	run(t, "", "init", "--quiet", "--bare", "--initial-branch="+Main, r.directory)
	r.Set("http.receivepack", "true")
	run(t, "", "clone", "--quiet", r.directory, r.work)
	run(t, r.work, "checkout", "--quiet", "-b", Main)
	r.Commit(Main, files)
	return r
}

// Set changes a setting of the repository.
func (r *Repository) Set(key, value string) { r.t.Helper(); r.Git("config", key, value) }

// Git runs a command in the repository and returns what it prints, without the last line break.
func (r *Repository) Git(args ...string) string {
	r.t.Helper()
	return strings.TrimRight(run(r.t, r.directory, args...), "\n")
}

// Work runs a command in a separate clone of the repository.
func (r *Repository) Work(args ...string) string {
	r.t.Helper()
	return strings.TrimRight(run(r.t, r.work, args...), "\n")
}

// Commit commits files on top of a branch, pushes them, and returns the commit. A file that starts with "-> " becomes a symbolic link.
func (r *Repository) Commit(branch string, files map[string]string) string {
	r.t.Helper()
	if r.Work("ls-remote", "origin", "refs/heads/"+branch) != "" {
		r.Work("fetch", "--quiet", "origin", branch)
		r.Work("checkout", "--quiet", "-B", branch, "FETCH_HEAD")
	} else if branch != Main {
		r.Work("checkout", "--quiet", "-B", branch)
	}
	for name, content := range files {
		r.write(name, content)
	}
	r.Work("add", "--all")
	r.Work("commit", "--quiet", "--allow-empty", "-m", "Change "+branch)
	r.Work("push", "--quiet", "origin", "HEAD:refs/heads/"+branch)
	return r.Tip(branch)
}

func (r *Repository) write(name, content string) {
	r.t.Helper()
	file := filepath.Join(r.work, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.t.Fatal(err)
	}
	_ = os.Remove(file)
	if target, isLink := strings.CutPrefix(content, "-> "); isLink {
		if err := os.Symlink(target, file); err != nil {
			r.t.Fatal(err)
		}
		return
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// Merge merges one branch into another, like the button of a pull request.
func (r *Repository) Merge(branch, into string) string {
	r.t.Helper()
	r.Work("fetch", "--quiet", "origin", branch, into)
	r.Work("checkout", "--quiet", "-B", into, "refs/remotes/origin/"+into)
	r.Work("merge", "--quiet", "--no-ff", "-m", "Merge "+branch, "refs/remotes/origin/"+branch)
	r.Work("push", "--quiet", "origin", "HEAD:refs/heads/"+into)
	return r.Tip(into)
}

// Tip returns the commit of a branch, empty if there is no such branch.
func (r *Repository) Tip(branch string) string {
	r.t.Helper()
	return r.Git("for-each-ref", "--format=%(objectname)", "refs/heads/"+branch)
}

// Branches returns the names of all branches.
func (r *Repository) Branches() []string {
	r.t.Helper()
	return strings.Fields(r.Git("for-each-ref", "--format=%(refname:short)", "refs/heads"))
}

// Read returns a file of a branch or commit.
func (r *Repository) Read(commit, file string) string {
	r.t.Helper()
	return run(r.t, r.directory, "cat-file", "blob", commit+":"+file)
}
