// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"espalier.dev/internal/subprocess"
	"espalier.dev/internal/testkit"
)

// Controllers is a running espalier-controller.
type Controllers struct {
	process *subprocess.Process
	metrics string
}

// StartControllers runs the controllers until the test ends or they are stopped.
func StartControllers(t testing.TB, kubeconfig string, arguments ...string) *Controllers {
	t.Helper()
	binary, err := controllerBinary()
	if err != nil {
		t.Fatal(err)
	}
	c := &Controllers{metrics: testkit.FreeAddress(t)}
	arguments = append([]string{
		"--kubeconfig", kubeconfig,
		"--leader-elect=false",
		"--metrics-address", c.metrics,
		"--health-probe-address=0",
		"--approval-address=0",
		"--log-level=error",
	}, arguments...)
	c.process, err = subprocess.Start(subprocess.Command{Title: "the controllers", Binary: binary, Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Stop(t) })
	return c
}

// Stop ends the controllers. It may be called more than once.
func (c *Controllers) Stop(t testing.TB) {
	t.Helper()
	if err := c.process.Stop(); err != nil {
		t.Log(err)
	}
}

// Memory returns the memory of the controllers, in MiB.
func (c *Controllers) Memory(t testing.TB) float64 {
	t.Helper()
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.process.ID()))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		var kilobytes float64
		if _, err := fmt.Sscanf(line, "RssAnon: %f kB", &kilobytes); err == nil {
			return kilobytes / 1024
		}
	}
	t.Fatal("the system does not say how much memory the controllers occupy")
	return 0
}

// Usage is what the controllers have done since they started.
type Usage struct {
	CPU    time.Duration
	Passes int // over objects, by all controllers
}

// Minus returns what was done since an earlier measurement.
func (u Usage) Minus(earlier Usage) Usage {
	return Usage{CPU: u.CPU - earlier.CPU, Passes: u.Passes - earlier.Passes}
}

// Usage asks the controllers, which costs them a little work, too.
func (c *Controllers) Usage(t testing.TB) Usage {
	t.Helper()
	content, err := c.ask(t.Context())
	if err != nil {
		t.Fatalf("ask the controllers for their metrics: %v\n%s", err, c.process.Output())
	}
	sum := func(metric string) float64 {
		samples, err := parse(content, metric)
		if err != nil {
			t.Fatal(err)
		}
		total := 0.0
		for _, s := range samples {
			total += s.value
		}
		return total
	}
	return Usage{
		CPU:    time.Duration(sum("process_cpu_seconds_total") * float64(time.Second)),
		Passes: int(sum("controller_runtime_reconcile_total")),
	}
}

// passLimit bounds the wait for passes over thousands of objects.
const passLimit = 10 * time.Minute

// AwaitPasses waits until a controller has made the given number of passes since it started. The process may still be starting.
func (c *Controllers) AwaitPasses(t testing.TB, controller string, passes int) {
	t.Helper()
	made := 0
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, passLimit, true, func(ctx context.Context) (bool, error) {
		content, err := c.ask(ctx)
		if err != nil {
			return false, nil
		}
		samples, err := parse(content, "controller_runtime_reconcile_total")
		made = 0
		for _, s := range samples {
			if s.labels["controller"] == controller {
				made += int(s.value)
			}
		}
		return made >= passes, err
	})
	if err != nil {
		t.Fatalf("controller %s has made %d of %d passes: %v\n%s", controller, made, passes, err, c.process.Output())
	}
}

func (c *Controllers) ask(ctx context.Context) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.metrics+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(answer.Body)
}

// controllerBinary builds espalier-controller once in the life of the test process.
var controllerBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "espalier-measure-")
	if err != nil {
		return "", fmt.Errorf("build the controllers: %w", err)
	}
	if err := testkit.AtEnd(func() error { return os.RemoveAll(dir) }); err != nil {
		return "", fmt.Errorf("build the controllers: %w", err)
	}
	path := filepath.Join(dir, "espalier-controller")
	build := exec.CommandContext(context.Background(), "go", "build", "-buildvcs=false", "-o", path, "espalier.dev/cmd/espalier-controller")
	output, err := build.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the controllers: %w\n%s", err, output)
	}
	return path, nil
})
