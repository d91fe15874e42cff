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
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/cmd/espalier/internal/controlplane"
	"espalier.dev/config/crd"
	"espalier.dev/internal/manager"
)

func TestComplete(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", "/data")
	tests := map[string]struct {
		opts    options
		dataDir string
		problem string
	}{
		"nothing chosen":         {options{uiAddr: defaultUIAddr}, "/data/espalier", ""},
		"a directory":            {options{dataDir: "x", dataDirChosen: true}, "x", ""},
		"ephemeral":              {options{ephemeral: true}, "", ""},
		"no web UI":              {options{uiAddr: ""}, "/data/espalier", ""},
		"an example":             {options{example: "hello-world"}, "/data/espalier", ""},
		"the highest port":       {options{port: 65535}, "/data/espalier", ""},
		"both kinds of data":     {options{ephemeral: true, dataDir: "x", dataDirChosen: true}, "", "--ephemeral"},
		"an empty directory":     {options{dataDirChosen: true}, "", "--data-dir is empty"},
		"a negative port":        {options{port: -1}, "", "--port is -1"},
		"a port that cannot be":  {options{port: 65536}, "", "--port is 65536"},
		"an unknown example":     {options{example: "nope"}, "", `unknown example "nope": there is hello-world`},
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
		if _, err := listenUI(options{uiAddr: address, uiAddrChosen: true}); err == nil || !strings.Contains(err.Error(), "nothing is encrypted") {
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
				"Try          espalier kubectl",
				"the data stays in /data",
			},
			[]string{"Example", "Waiting", "Approvals"},
		},
		"ephemeral": {
			options{ephemeral: true, example: "hello-world"}, func(s *summary) { s.ui, s.log = "", "" },
			[]string{"hello-world", "Try          KUBECONFIG=/data/kubeconfig espalier kubectl", "nothing is kept"},
			[]string{"Web UI", "Log"},
		},
		"another directory": {options{dataDirChosen: true}, func(*summary) {}, []string{"KUBECONFIG=/data/kubeconfig"}, nil},
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

func startControlPlane(t *testing.T) *rest.Config {
	t.Helper()
	cp, err := controlplane.Start(t.Context(), controlplane.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := (&cluster{cp: cp}).stop(); err != nil {
			t.Error(err)
		}
	})
	return cp.RESTConfig()
}

func TestInstallCRDs(t *testing.T) {
	config := startControlPlane(t)
	crds, err := crd.All()
	if err != nil {
		t.Fatal(err)
	}
	older := crds[0].DeepCopy()
	older.Spec.Names.ShortNames = []string{"outdated"}
	if err := installCRDs(t.Context(), config, []*apiextensionsv1.CustomResourceDefinition{older}); err != nil {
		t.Fatal(err)
	}
	if err := installCRDs(t.Context(), config, crds); err != nil {
		t.Fatalf("over an older version: %v", err)
	}
	before := listCRDs(t, config)
	if err := installCRDs(t.Context(), config, crds); err != nil {
		t.Fatalf("over the same version: %v", err)
	}
	after := listCRDs(t, config)
	for _, wanted := range crds {
		got, ok := before[wanted.Name]
		if !ok || !isEstablished(&got) {
			t.Errorf("%s is not established", wanted.Name)
		}
		if strings.Join(got.Spec.Names.ShortNames, ",") != strings.Join(wanted.Spec.Names.ShortNames, ",") {
			t.Errorf("%s has short names %v", wanted.Name, got.Spec.Names.ShortNames)
		}
		if got.ResourceVersion != after[wanted.Name].ResourceVersion {
			t.Errorf("%s was written although nothing has changed", wanted.Name)
		}
	}
}

func listCRDs(t *testing.T, config *rest.Config) map[string]apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	var list apiextensionsv1.CustomResourceDefinitionList
	if err := c.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	found := map[string]apiextensionsv1.CustomResourceDefinition{}
	for _, item := range list.Items {
		found[item.Name] = item
	}
	return found
}

func TestInstallCRDsGivesUpWithItsContext(t *testing.T) {
	config := startControlPlane(t)
	broken := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "nonsense"}}
	if err := installCRDs(t.Context(), config, []*apiextensionsv1.CustomResourceDefinition{broken}); err == nil ||
		!strings.Contains(err.Error(), "install nonsense") {
		t.Errorf("a definition that the server refuses: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := awaitEstablished(ctx, config, map[string]bool{"never": true}); err == nil {
		t.Error("it has not waited")
	}
	never := &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "example.com", Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "ghosts"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true}},
	}}
	if err := awaitDiscovery(ctx, config, []*apiextensionsv1.CustomResourceDefinition{never}); err == nil ||
		!strings.Contains(err.Error(), "ghosts of example.com/v1") {
		t.Errorf("what is never served: %v", err)
	}
}

func TestDiscoveryHasToNameEverything(t *testing.T) {
	crds, err := crd.All()
	if err != nil {
		t.Fatal(err)
	}
	lists := map[string]*metav1.APIResourceList{}
	for _, definition := range crds {
		version := definition.Spec.Group + "/" + definition.Spec.Versions[0].Name
		if lists[version] == nil {
			lists[version] = &metav1.APIResourceList{GroupVersion: version}
		}
		lists[version].APIResources = append(lists[version].APIResources, metav1.APIResource{Name: definition.Spec.Names.Plural})
	}
	all := slices.Collect(maps.Values(lists))
	if missing := firstMissing(crds, all); missing != "" {
		t.Errorf("of everything %s is missing", missing)
	}
	for _, list := range all {
		last := list.APIResources[len(list.APIResources)-1]
		list.APIResources = list.APIResources[:len(list.APIResources)-1]
		if missing, want := firstMissing(crds, all), last.Name+" of "+list.GroupVersion; missing != want {
			t.Errorf("without %s %q is missing", want, missing)
		}
		list.APIResources = append(list.APIResources, last)
	}
	if missing := firstMissing(crds, nil); missing == "" {
		t.Error("of nothing nothing is missing")
	}
}

func TestAStartThatTakesTooLongSaysWhatItWasAbout(t *testing.T) {
	p := newProgress(io.Discard, time.Hour)
	defer p.end()
	p.step("creating the example")
	err := p.explain(fmt.Errorf("create it: %w", errTooLong), time.Minute)
	if want := "creating the example is not done within 1m0s (--start-timeout): create it: it takes too long"; err == nil ||
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
