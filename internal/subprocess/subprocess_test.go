// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package subprocess

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience limits the waits of a broken test.
const patience = 6 * time.Minute

// roleVariable turns this test binary into one of the programs below, which tests start as subprocesses.
const roleVariable = "SUBPROCESS_TEST_ROLE"

var roles = map[string]func() error{
	// deaf reacts neither to its input nor to signals.
	"deaf": func() error {
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("I am deaf")
		return lastForever()
	},
	"broken": func() error { return errors.New("this cannot work") },
	// polite prints what it sees of its environment.
	"polite": func() error {
		fmt.Printf("%s, and %s\n", os.Getenv("GREETING"), cmp.Or(os.Getenv("PATH"), "nothing else"))
		return nil
	},
	// parent is a test process that starts a deaf program, and passes its own first inherited file on to it.
	"parent": func() error {
		heard := make(chan string, 1)
		_, err := Start(Command{
			Title: "the deaf one", Binary: os.Args[0], Env: []string{roleVariable + "=deaf"}, Files: []*os.File{os.NewFile(3, "lifeline")},
			Notice: func(line string) { heard <- line },
		})
		if err != nil {
			return err
		}
		fmt.Println(<-heard)
		return lastForever()
	},
}

// lastForever keeps a timer running, because the Go runtime ends a deadlocked process.
func lastForever() error {
	for range time.Tick(time.Hour) {
		continue
	}
	return nil
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

// Even a deaf program ends with a test process that had no chance to clean up. The write end of a pipe shows it: it is open as long as the
// program lives.
func TestADeafProgramEndsWithAKilledParent(t *testing.T) {
	lifeline, handed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), roleVariable+"=parent")
	parent.ExtraFiles = []*os.File{handed}
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	if err := handed.Close(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "I am deaf\n" {
		t.Fatalf("heard %q, %v", line, err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := lifeline.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(lifeline); err != nil {
		t.Errorf("it lives on: %v", err)
	}
	if err := parent.Wait(); err == nil {
		t.Error("the parent was not killed")
	}
}

func TestWhileEndsWithTheProgram(t *testing.T) {
	process, err := Start(Command{Title: "the broken one", Binary: os.Args[0], Env: []string{roleVariable + "=broken"}})
	if err != nil {
		t.Fatal(err)
	}
	err = process.While(t.Context(), func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	if err == nil || !strings.Contains(err.Error(), "the broken one has ended: exit status 1\nthis cannot work") {
		t.Errorf("says %v", err)
	}
}

func TestWhileShowsWhatTheProgramHasSaid(t *testing.T) {
	heard := make(chan string, 1)
	process, err := Start(Command{
		Title: "the deaf one", Binary: os.Args[0], Env: []string{roleVariable + "=deaf"}, Notice: func(line string) { heard <- line },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer process.Kill()
	err = process.While(t.Context(), func(context.Context) error {
		<-heard
		return errors.New("no answer")
	})
	if err == nil || !strings.Contains(err.Error(), "the deaf one: no answer\nI am deaf") {
		t.Errorf("says %v", err)
	}
}

func TestRunReturnsWhatAProgramHasPrinted(t *testing.T) {
	output, err := Run(t.Context(), Command{
		Title: "the polite one", Binary: os.Args[0], Env: []string{roleVariable + "=polite", "GREETING=hello"}, OnlyEnv: true,
	})
	if err != nil || output != "hello, and nothing else\n" {
		t.Errorf("printed %q: %v", output, err)
	}
	if _, err := Run(t.Context(), Command{Title: "the broken one", Binary: os.Args[0], Env: []string{roleVariable + "=broken"}}); err == nil ||
		!strings.Contains(err.Error(), "the broken one: exit status 1\nthis cannot work") {
		t.Errorf("says %v", err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Run(ctx, Command{
		Title: "the deaf one", Binary: os.Args[0], Env: []string{roleVariable + "=deaf"}, Apart: true, Notice: func(string) { cancel() },
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("says %v", err)
	}
}
