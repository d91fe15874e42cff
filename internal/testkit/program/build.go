// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	rootModule   = "espalier.dev"
	keptBinaries = 3
)

// withoutC is how everything is compiled for tests, including by the Makefile, so that packages are compiled once: with cgo, a library of
// Helm's makes the linker keep all unused code, which takes it twice as long. A program may override it in its env.
const withoutC = "CGO_ENABLED=0"

// builder builds one program from one checkout. What Program.Binary fixes are fields here, so that tests can build something smaller.
type builder struct {
	Program

	root     string // folder of the root module's go.mod
	cache    string // folder of binaries and the stamp
	progress io.Writer
	patience time.Duration // until it writes to progress
}

// stamp records what the newest binary was built from, so that a warm start hashes a handful of files instead of asking the go command,
// which needs seconds to load the graph of Kubernetes.
type stamp struct {
	Key  string   `json:"key"`
	Dirs []string `json:"dirs"` // folders inside the checkout that contribute to the binary, relative to root
}

// findRoot walks up from dir to the folder whose go.mod declares the root module; the nested modules lie below it.
func findRoot(dir string) (string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		content, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err == nil && declaresModule(content, rootModule) {
			return at, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("find the checkout: %w", err)
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no go.mod of module %s at or above %s: run the tests inside the checkout", rootModule, dir)
		}
	}
}

func declaresModule(goMod []byte, module string) bool {
	for line := range strings.Lines(string(goMod)) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "module" {
			return fields[1] == module
		}
	}
	return false
}

func (b *builder) ensure(ctx context.Context) (string, error) {
	if path, ok := b.fresh(); ok {
		return path, nil
	}
	if err := os.MkdirAll(b.cache, 0o755); err != nil {
		return "", fmt.Errorf("make the cache folder: %w", err)
	}
	stopReport := b.report("waiting for or building " + b.Title + "; a cold build takes minutes")
	defer stopReport()
	unlock, err := lock(b.lockPath())
	if err != nil {
		return "", err
	}
	defer unlock()
	if path, ok := b.fresh(); ok {
		return path, nil
	}
	return b.build(ctx)
}

// fresh returns the binary of the stamp, if its sources are unchanged.
func (b *builder) fresh() (string, bool) {
	content, err := os.ReadFile(b.stampPath())
	if err != nil {
		return "", false
	}
	var s stamp
	if err := json.Unmarshal(content, &s); err != nil {
		return "", false
	}
	key, err := b.key(s.Dirs)
	if err != nil || key != s.Key {
		return "", false
	}
	_, err = os.Stat(b.binaryPath(key))
	return b.binaryPath(key), err == nil
}

// build compiles the binary under a temporary name, so that a half-written file is never started. The caller holds the lock.
func (b *builder) build(ctx context.Context) (string, error) {
	dirs, err := b.sourceDirs(ctx)
	if err != nil {
		return "", err
	}
	key, err := b.key(dirs)
	if err != nil {
		return "", err
	}
	unfinished := filepath.Join(b.cache, b.Name+".unfinished")
	arguments, err := b.buildArguments()
	if err != nil {
		return "", err
	}
	if _, err := b.goCommand(ctx, append(arguments, "-o", unfinished, b.pkg)...); err != nil {
		return "", fmt.Errorf("build %s: %w", b.Title, err)
	}
	path := b.binaryPath(key)
	if err := os.Rename(unfinished, path); err != nil {
		return "", fmt.Errorf("keep %s: %w", b.Title, err)
	}
	if err := b.writeStamp(stamp{Key: key, Dirs: dirs}); err != nil {
		return "", err
	}
	b.removeOld(path)
	return path, nil
}

// buildArguments has no flag that changes compilation (-trimpath, -race): everything must come out of the build cache that
// the module's tests use.
func (b *builder) buildArguments() ([]string, error) {
	link := "-s -w"
	if b.version != "" {
		version, err := b.requiredVersion()
		if err != nil {
			return nil, fmt.Errorf("find the version of %s: %w", b.Title, err)
		}
		link += " -X " + b.version + "=" + version
	}
	return slices.Concat([]string{"build"}, b.flags, []string{"-ldflags", link}), nil
}

// requiredVersion returns the version that the module requires, without the leading v.
func (b *builder) requiredVersion() (string, error) {
	goMod, err := os.ReadFile(filepath.Join(b.root, b.module, "go.mod"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(goMod)) {
		fields := strings.Fields(strings.TrimPrefix(line, "require"))
		if len(fields) >= 2 && fields[0] == b.versionOf {
			return strings.TrimPrefix(fields[1], "v"), nil
		}
	}
	return "", fmt.Errorf("%s/go.mod does not require %s", b.module, b.versionOf)
}

// sourceDirs asks the go command which folders of this checkout end up in the binary.
func (b *builder) sourceDirs(ctx context.Context) ([]string, error) {
	out, err := b.goCommand(ctx, slices.Concat([]string{"list", "-deps", "-f", "{{.Dir}}"}, b.flags, []string{b.pkg})...)
	if err != nil {
		return nil, fmt.Errorf("list the sources of %s: %w", b.Title, err)
	}
	var dirs []string
	for line := range strings.Lines(out) {
		dir := strings.TrimSpace(line)
		if rel, err := filepath.Rel(b.root, dir); err == nil && filepath.IsLocal(rel) {
			dirs = append(dirs, rel)
		}
	}
	slices.Sort(dirs)
	return dirs, nil
}

// key is a hash over everything inside the checkout that can change the binary, plus the toolchain.
func (b *builder) key(dirs []string) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.Version(), runtime.GOOS, runtime.GOARCH, os.Getenv("GOFLAGS"), b.pkg)
	for _, setting := range slices.Concat([]string{withoutC}, b.flags, b.env) {
		fmt.Fprintln(hash, setting)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		if err := b.hashFile(hash, filepath.Join(b.module, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	for _, dir := range dirs {
		if err := b.hashDir(hash, dir); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

// hashDir includes every file, also below dir, because a package may embed any of them; tests cannot end up in the binary.
func (b *builder) hashDir(hash io.Writer, dir string) error {
	return filepath.WalkDir(filepath.Join(b.root, dir), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		rel, err := filepath.Rel(b.root, path)
		if err != nil {
			return err
		}
		return b.hashFile(hash, rel)
	})
}

func (b *builder) hashFile(hash io.Writer, rel string) error {
	content, err := os.ReadFile(filepath.Join(b.root, rel))
	if err != nil {
		return fmt.Errorf("hash the sources of %s: %w", b.Title, err)
	}
	fmt.Fprintf(hash, "%s %d\n", rel, len(content))
	_, err = hash.Write(content)
	return err
}

func (b *builder) goCommand(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(b.root, b.module)
	cmd.Env = slices.Concat(os.Environ(), []string{withoutC}, b.env)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s in %s: %w\n%s", args[0], b.module, err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

func (b *builder) writeStamp(s stamp) error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write the build stamp: %w", err)
	}
	unfinished := b.stampPath() + ".unfinished"
	if err := os.WriteFile(unfinished, content, 0o644); err != nil {
		return fmt.Errorf("write the build stamp: %w", err)
	}
	if err := os.Rename(unfinished, b.stampPath()); err != nil {
		return fmt.Errorf("write the build stamp: %w", err)
	}
	return nil
}

// removeOld keeps the newest few binaries: another process may be about to start one that it has just found fresh.
func (b *builder) removeOld(current string) {
	paths, err := filepath.Glob(b.binaryPath("*"))
	if err != nil {
		return
	}
	slices.SortFunc(paths, func(x, y string) int { return modTime(y).Compare(modTime(x)) })
	for i, path := range paths {
		if i >= keptBinaries && path != current {
			_ = os.Remove(path)
		}
	}
}

func modTime(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// report writes the message, and the elapsed time, when its patience ends and then twice a minute until stopped.
func (b *builder) report(message string) (stop func()) {
	done, stopped := make(chan struct{}), make(chan struct{})
	started := time.Now()
	go func() {
		defer close(stopped)
		wait := b.patience
		for {
			select {
			case <-done:
				return
			case <-time.After(wait):
				fmt.Fprintf(b.progress, "testkit: %s (%s so far)\n", message, time.Since(started).Round(time.Second))
				wait = 30 * time.Second
			}
		}
	}()
	return func() {
		close(done)
		<-stopped
	}
}

// lock waits for the exclusive lock on a file. The kernel releases it when the process ends, however it ends.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the build: %w", err)
	}
	for {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("lock the build: %w", err)
	}
	return func() { _ = file.Close() }, nil
}

func (b *builder) stampPath() string { return filepath.Join(b.cache, b.Name+".json") }

func (b *builder) lockPath() string { return filepath.Join(b.cache, b.Name+".lock") }

func (b *builder) binaryPath(key string) string { return filepath.Join(b.cache, b.Name+"-"+key) }
