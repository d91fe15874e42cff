// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"espalier.dev/cmd/espalier/internal/controlplane"
	"espalier.dev/internal/manager"
)

func TestComplete(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", "/data")
	gitea := os.Args[0] // Any program will do here.
	tests := map[string]struct {
		opts    options
		dataDir string
		problem string
	}{
		"nothing chosen":        {options{uiAddr: defaultUIAddr}, "/data/espalier", ""},
		"a directory":           {options{dataDir: "x", dataDirChosen: true}, "x", ""},
		"ephemeral":             {options{ephemeral: true}, "", ""},
		"no web UI":             {options{uiAddr: ""}, "/data/espalier", ""},
		"an example":            {options{examples: []string{"hello"}}, "/data/espalier", ""},
		"the highest port":      {options{port: 65535}, "/data/espalier", ""},
		"both kinds of data":    {options{ephemeral: true, dataDir: "x", dataDirChosen: true}, "", "--ephemeral"},
		"an empty directory":    {options{dataDirChosen: true}, "", "--data-dir is empty"},
		"a negative port":       {options{port: -1}, "", "--port is -1"},
		"a port that cannot be": {options{port: 65536}, "", "--port is 65536"},
		"an unknown example": {
			options{examples: []string{"hello", "nope"}}, "",
			`--example: unknown example "nope": known examples are chart, gitops, hello, promotion, shop`,
		},
		"the example that needs Gitea": {options{examples: []string{"gitops"}, gitea: gitea}, "/data/espalier", ""},
		"a Gitea that is not there": {
			options{examples: []string{"gitops"}, gitea: "/nowhere/gitea"}, "",
			"--example gitops: --gitea: stat /nowhere/gitea: no such file or directory",
		},
		"a folder for a Gitea":   {options{examples: []string{"gitops"}, gitea: "."}, "", "is a directory: name the program in it"},
		"a text for a Gitea":     {options{examples: []string{"gitops"}, gitea: "up_test.go"}, "", "up_test.go is not executable"},
		"a Gitea for nothing":    {options{examples: []string{"hello"}, gitea: gitea}, "", "--gitea needs --example gitops"},
		"no name of a Gitea":     {options{examples: []string{"gitops"}, giteaChosen: true}, "", "--gitea is empty: name the program"},
		"an address without one": {options{uiAddr: "localhost"}, "", `--ui-addr is "localhost"`},
		"images and no node":     {options{images: []string{"up_test.go"}}, "", "--node-image needs --node"},
		"images that are there":  {options{node: true, images: []string{"up_test.go"}}, "/data/espalier", ""},
		"an image that is not":   {options{node: true, images: []string{"up_test.go", "missing.tar"}}, "", "--node-image: open missing.tar"},
		"an image in a folder":   {options{node: true, images: []string{"."}}, "", "--node-image . is a directory"},
		"no time to start":       {options{startLimit: -time.Second}, "", "--start-timeout is -1s"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.opts.startLimit = cmp.Or(test.opts.startLimit, time.Minute)
			test.opts.manager = managerOptions()
			err := test.opts.complete()
			if test.problem == "" && err != nil || test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)) {
				t.Errorf("error: %v", err)
			}
			if err == nil && test.opts.dataDir != test.dataDir {
				t.Errorf("data directory is %q", test.opts.dataDir)
			}
		})
	}
}

// Users who try pull requests on this machine see the result at once, unless they have chosen how often to poll.
func TestTheGitServerOfTheExampleIsAskedOften(t *testing.T) {
	for _, chosen := range []bool{false, true} {
		opts := options{
			ephemeral: true, examples: []string{"gitops"}, gitea: os.Args[0], startLimit: time.Minute, manager: managerOptions(),
			pollIntervalChosen: chosen,
		}
		usual := opts.manager.Pipelines.PollInterval
		if err := opts.complete(); err != nil {
			t.Fatal(err)
		}
		if got := opts.manager.Pipelines.PollInterval; (got == usual) != chosen || got > usual {
			t.Errorf("chosen %t: it is asked every %s", chosen, got)
		}
	}
}

func TestThePathOfTheKubeconfigIsAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	opts := options{ephemeral: true, kubeconfig: "kubeconfig", startLimit: time.Minute, manager: managerOptions()}
	if err := opts.complete(); err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(here, "kubeconfig"); opts.kubeconfig != want {
		t.Errorf("got %s, want %s", opts.kubeconfig, want)
	}
}

func TestListenUI(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()

	if _, err := listenUI(options{uiAddr: address, uiAddrChosen: true}); err == nil ||
		!strings.Contains(err.Error(), "choose another address") {
		t.Errorf("an address that the user has chosen and that is taken: %v", err)
	}
	listener, err := listenUI(options{uiAddr: address})
	if err != nil {
		t.Fatalf("a default address that is taken: %v", err)
	}
	defer listener.Close()
	if host, _, err := net.SplitHostPort(listener.Addr().String()); err != nil || host != "127.0.0.1" {
		t.Errorf("the other address is %s", listener.Addr())
	}
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		if _, err := listenUI(options{uiAddr: address, uiAddrChosen: true}); err == nil ||
			!strings.Contains(err.Error(), "nothing is encrypted") {
			t.Errorf("%s, which others can reach: %v", address, err)
		}
	}
	if listener, err := listenUI(options{}); listener != nil || err != nil {
		t.Errorf("no web UI wanted: %v, %v", listener, err)
	}
}

func TestProgressIsQuietAtFirst(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, time.Hour)
	p.step("one")
	p.step("two")
	if out.Len() > 0 {
		t.Errorf("it spoke too early: %q", out.String())
	}
	p.speakUp() // what the timer does
	p.step("three")
	p.end()
	p.step("four")
	p.end()
	if got, want := out.String(), "two ...\nthree ...\n"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestProgressSpeaksByItself(t *testing.T) {
	r, w := net.Pipe()
	defer r.Close()
	p := newProgress(w, 0)
	defer p.end()
	go p.step("one")
	buffer := make([]byte, 100)
	n, err := r.Read(buffer)
	if err != nil || string(buffer[:n]) != "one ...\n" {
		t.Errorf("got %q, %v", buffer[:n], err)
	}
}

func TestSummary(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	s := summary{
		server: "https://127.0.0.1:6443", kubeconfig: "/data/kubeconfig", ui: "http://127.0.0.1:8090/open?code=X", dataDir: "/data",
		log: "/data/espalier.log", crds: 13, controllers: 1,
	}
	tests := map[string]struct {
		opts       options
		change     func(*summary)
		want, lack []string
	}{
		"usual": {
			options{}, func(*summary) {},
			[]string{
				"13 custom resources, 1 controller.",
				s.server,
				s.kubeconfig,
				s.ui,
				s.log,
				"Try          espalier get -A",
				"the data stays in /data",
			},
			[]string{"Example", "Waiting", "Approvals"},
		},
		"ephemeral": {
			options{ephemeral: true, examples: []string{"hello"}}, func(s *summary) { s.ui, s.log = "", "" },
			[]string{"Example      hello: One installation that writes", "Try          KUBECONFIG=/data/kubeconfig espalier get -A", "nothing is kept"},
			[]string{"Web UI", "Log"},
		},
		"another directory": {options{dataDirChosen: true}, func(*summary) {}, []string{"KUBECONFIG=/data/kubeconfig"}, nil},
		"a directory with a space": {
			options{dataDirChosen: true}, func(s *summary) { s.kubeconfig = "/my data/kubeconfig" },
			[]string{"Try          KUBECONFIG='/my data/kubeconfig' espalier get -A"}, nil,
		},
		"Gitea": {
			options{}, func(s *summary) { s.gitea = []hint{{"Gitea", "http://127.0.0.1:3000"}, {"Pull requests", "at /pulls"}} },
			[]string{"Gitea           http://127.0.0.1:3000", "Pull requests   at /pulls"}, nil,
		},
		"approvals and a controller that waits": {
			options{}, func(s *summary) {
				s.approvals = "127.0.0.1:8082"
				s.waiting = []manager.Waiting{{Controller: "pipelines", Kind: schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Pipeline"}}}
			},
			[]string{"Approvals    127.0.0.1:8082", "Waiting      pipelines waits until the cluster serves Pipeline of g/v1"}, nil,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			streams, _, out, errOut := genericiooptions.NewTestIOStreams()
			test.opts.streams = streams
			changed := s
			test.change(&changed)
			printSummary(test.opts, changed)
			text := out.String() + errOut.String()
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("the text lacks %q:\n%s", want, text)
				}
			}
			for _, lack := range test.lack {
				if strings.Contains(text, lack) {
					t.Errorf("the text has %q:\n%s", lack, text)
				}
			}
		})
	}
}

// A controller whose kind the cluster does not serve does not count as running, and the summary names it with the kind.
func TestTheSummaryNamesControllersThatWait(t *testing.T) {
	cp, err := controlplane.Start(t.Context(), controlplane.Options{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cp.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	var out bytes.Buffer
	opts := options{streams: genericiooptions.IOStreams{Out: &out, ErrOut: &out}, manager: managerOptions()}
	opts.manager.Controllers = []string{"pipelines", "installations"}
	mgr, err := manager.New(cp.RESTConfig(), opts.manager, logr.Discard()) // There are no custom resources yet.
	if err != nil {
		t.Fatal(err)
	}
	s := &services{opts: opts, cp: cp, manager: mgr}
	printSummary(opts, s.summary())
	for _, want := range []string{
		"0 controllers", "Waiting", "installations waits until the cluster serves",
		"pipelines waits until the cluster serves Pipeline of pipelines.weave.works/v1alpha1", cp.URL(), cp.KubeconfigPath(), cp.DataDir(),
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the summary lacks %q:\n%s", want, out.String())
		}
	}
}

func TestAStartThatTakesTooLongSaysWhatItWasAbout(t *testing.T) {
	p := newProgress(io.Discard, time.Hour)
	defer p.end()
	p.step("creating the example")
	err := p.explain(fmt.Errorf("create it: %w", errTooLong), time.Minute)
	if want := "creating the example is not done within 1m0s (--start-timeout): create it: timed out"; err == nil ||
		err.Error() != want {
		t.Errorf("the error is: %v", err)
	}
	if boom := errors.New("boom"); !errors.Is(p.explain(boom, time.Minute), boom) || p.explain(nil, time.Minute) != nil {
		t.Error("other errors are changed")
	}
}

func TestAnInterruptedStartIsNoError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	boom := errors.New("boom")
	if err := interrupted(ctx, boom); !errors.Is(err, boom) {
		t.Errorf("without an interruption: %v", err)
	}
	cancel()
	if err := interrupted(ctx, context.Canceled); err != nil {
		t.Errorf("with an interruption: %v", err)
	}
	if err := interrupted(ctx, boom); !errors.Is(err, boom) {
		t.Errorf("another error during an interruption: %v", err)
	}
}
