// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Command setup is the image of container deploy items in tests: it counts its runs in its state and exports what it finds.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// imports configure how the image ends.
type imports struct {
	// Code is the exit code, OnDelete that of the operation DELETE, and Words the text to print first.
	Code, OnDelete int
	Words          string
	// Wait makes it wait until it is stopped, except for the operation DELETE.
	Wait bool
}

func main() {
	code, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 99
	}
	os.Exit(code)
}

func run() (int, error) {
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, syscall.SIGTERM)
	var in imports
	text, err := os.ReadFile(os.Getenv("IMPORTS_PATH"))
	if err == nil {
		err = json.Unmarshal(text, &in)
	}
	if err != nil {
		return 0, err
	}
	count, err := countUp()
	if err != nil {
		return 0, err
	}
	exports, err := look(count)
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile(os.Getenv("EXPORTS_PATH"), exports, 0o600); err != nil {
		return 0, err
	}
	deletes := os.Getenv("OPERATION") == "DELETE"
	if in.Wait && !deletes {
		fmt.Println("waiting")
		<-stopped
	}
	fmt.Println("the setup gives up:", in.Words)
	if deletes {
		return in.OnDelete, nil
	}
	return in.Code, nil
}

func countUp() (int, error) {
	file := filepath.Join(os.Getenv("STATE_PATH"), "counter")
	before, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	return len(before) + 1, os.WriteFile(file, append(before, 'x'), 0o600)
}

// look describes what a run finds.
func look(count int) ([]byte, error) {
	found := map[string]any{"runs": count, "operation": os.Getenv("OPERATION")}
	info, err := os.Stat(filepath.Join(os.Getenv("CONTENT_PATH"), "blueprint.yaml"))
	if err != nil {
		return nil, err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok {
		found["owner"] = fmt.Sprintf("%d:%d", owner.Uid, owner.Gid)
	}
	_, err = os.Stat("/var/run/secrets/kubernetes.io/serviceaccount/token")
	found["token"] = err == nil
	var target struct{ Content string }
	text, err := os.ReadFile(os.Getenv("TARGET_PATH"))
	if err == nil {
		err = json.Unmarshal(text, &target)
	}
	if err != nil {
		return nil, err
	}
	found["target"] = target.Content
	return json.Marshal(found)
}
