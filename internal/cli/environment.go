// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/objects/forecast"
	"espalier.dev/internal/offline"
)

// LogOfUp is the file in the data directory of "espalier up" to which the controllers log. The kubeconfig of its control plane is beside it.
const LogOfUp = "espalier.log"

// Environment is what commands take from the process and the machine they run on.
type Environment struct {
	genericiooptions.IOStreams
	// Now is the clock.
	Now func() time.Time
	// Size returns the size of the terminal that a stream leads to; ok is false if it leads elsewhere.
	Size func(io.Writer) (width, height int, ok bool)
	// Getenv reads environment variables.
	Getenv func(string) string
	// OwnKubeconfig returns the kubeconfig of the control plane on this machine, for users who name no other cluster;
	// empty if there is none.
	OwnKubeconfig func() string
	// SilenceLogs discards what libraries log, from then on and in the whole process: they would write into a screen that a command draws.
	SilenceLogs func()
	// UntilInterrupted returns a context that ends with Ctrl-C or SIGTERM. From then on, such a signal ends the process at once.
	UntilInterrupted func(parent context.Context) (context.Context, context.CancelFunc)
	// Inspectors say what deploy items of some types deploy. Whoever links the deployers knows.
	Inspectors map[lsv1alpha1.DeployItemType]offline.Inspector
	// Forecasters say what jobs would change in the targets of deploy items of some types.
	Forecasters map[lsv1alpha1.DeployItemType]forecast.Forecaster
}

// NewEnvironment returns the environment of this process.
func NewEnvironment(streams genericiooptions.IOStreams) Environment {
	return Environment{
		IOStreams:        streams,
		Now:              time.Now,
		Size:             terminalSize,
		Getenv:           os.Getenv,
		OwnKubeconfig:    func() string { return "" },
		SilenceLogs:      silenceLogs,
		UntilInterrupted: untilInterrupted,
	}
}

func silenceLogs() {
	crlog.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
}

// Confirm asks the user to continue, and reports whether the answer is yes.
func (e Environment) Confirm() bool {
	fmt.Fprint(e.ErrOut, "Type yes to continue: ")
	answer, _ := bufio.NewReader(e.In).ReadString('\n')
	return strings.TrimSpace(answer) == "yes"
}

func terminalSize(w io.Writer) (width, height int, ok bool) {
	file, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return 0, 0, false
	}
	width, height, err := term.GetSize(int(file.Fd()))
	return width, height, err == nil && width > 0 && height > 0
}
