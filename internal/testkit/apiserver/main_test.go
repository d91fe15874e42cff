// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// roleVariable turns this test binary into one of the programs below, which tests start as sub-processes.
const roleVariable = "APISERVER_TEST_ROLE"

var roles = map[string]func() error{
	"obedient": func() error {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		fmt.Print("rea", "dy https://127.0.0.1:1\n")
		<-ctx.Done()
		return nil
	},
	"ends with its input": func() error {
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("not yet\nready https://127.0.0.1:1")
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	},
	"stubborn": func() error {
		heard := make(chan os.Signal, 1)
		signal.Notify(heard, syscall.SIGTERM)
		fmt.Fprintln(os.Stderr, "I shall not be moved")
		fmt.Println("ready https://127.0.0.1:1")
		for range heard {
		}
		return nil
	},
	"broken": func() error {
		return fmt.Errorf("port 6443 is taken; arguments %q", os.Args[1:])
	},
	"never ready": func() error {
		fmt.Println("almost ready")
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	},
	"ill at the end": func() error {
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready https://127.0.0.1:1")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return fmt.Errorf("etcd did not stop")
	},
	"parent": runParent,
}

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := roles[role](); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
