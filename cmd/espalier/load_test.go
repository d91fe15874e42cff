// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build node

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

const (
	// jobLimit bounds one job, even if there is no leader until a lease expires.
	jobLimit = 10 * time.Minute
	// pace is how often each installation starts a job, if the previous one has finished.
	pace = 250 * time.Millisecond
)

// counting deploys a ConfigMap with the name of the installation and the number that the installation maps.
const counting = `apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
imports:
  - {name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}
  - {name: round, type: data, schema: {type: integer}}
deployExecutions:
  - name: all
    type: GoTemplate
    template: |
      deployItems:
        - name: item
          type: landscaper.gardener.cloud/kubernetes-manifest
          target: {import: cluster}
          config:
            apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
            kind: ProviderConfiguration
            manifests:
              - policy: manage
                manifest:
                  apiVersion: v1
                  kind: ConfigMap
                  metadata: {namespace: shop, name: NAME}
                  data: {round: "{{ .imports.round }}"}
`

// load runs jobs of several installations, one at a time for each. Every job deploys the next number.
type load struct {
	client   client.Client
	recorder *testkit.Recorder
	rounds   map[string]*atomic.Int64 // how many have finished, by installation

	stopping chan struct{}
	group    *errgroup.Group
	running  context.Context // ends early if a job fails
}

// startLoad starts the first round of each installation.
func startLoad(t *testing.T, server *testkit.APIServer, names ...string) *load {
	t.Helper()
	l := &load{client: server.Client(), rounds: map[string]*atomic.Int64{}, stopping: make(chan struct{})}
	l.recorder = testkit.Record(t, server, "shop", testkit.Groups(landscaper.GroupName), testkit.Kinds(&corev1.ConfigMap{}))
	l.group, l.running = errgroup.WithContext(t.Context())
	for _, name := range names {
		l.rounds[name] = &atomic.Int64{}
		l.group.Go(func() error { return l.run(l.running, name) })
	}
	return l
}

func (l *load) run(ctx context.Context, name string) error {
	next := time.NewTicker(pace)
	defer next.Stop()
	for number := int64(1); ; number++ {
		if err := l.round(ctx, name, number); err != nil {
			return fmt.Errorf("job %d of %s: %w", number, name, err)
		}
		l.rounds[name].Store(number)
		select {
		case <-l.stopping:
			return nil
		case <-next.C:
		}
	}
}

// round starts a job and waits until it has succeeded.
func (l *load) round(ctx context.Context, name string, number int64) error {
	installation := &landscaper.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	patch := fmt.Sprintf(`{"metadata": {"annotations": {%q: %q}}, "spec": {"importDataMappings": {"round": %d}}}`,
		landscaper.OperationAnnotation, landscaper.OperationReconcile, number)
	if err := l.client.Patch(ctx, installation, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		return err
	}
	before := installation.Status.JobIDFinished
	err := wait.PollUntilContextTimeout(ctx, pace/5, jobLimit, true, func(ctx context.Context) (bool, error) {
		err := l.client.Get(ctx, client.ObjectKeyFromObject(installation), installation)
		return installation.Status.JobIDFinished != before && installation.Status.JobID == installation.Status.JobIDFinished, err
	})
	if err != nil {
		return fmt.Errorf("%w; its status is %+v", err, installation.Status.RunStatus)
	}
	if installation.Status.Phase != landscaper.PhaseSucceeded {
		return fmt.Errorf("it ended in phase %s: %+v", installation.Status.Phase, installation.Status.LastError)
	}
	return nil
}

// another waits until each installation has finished a job that was started after the call.
func (l *load) another(t *testing.T) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(l.rounds)) {
		// The next one to finish may already be running.
		enough := l.rounds[name].Load() + 2
		err := wait.PollUntilContextTimeout(l.running, pace, jobLimit, true, func(context.Context) (bool, error) {
			return l.rounds[name].Load() >= enough, nil
		})
		if err != nil {
			t.Fatalf("no further job of %s has ended: %v", name, l.stop())
		}
	}
}

func (l *load) stop() error {
	close(l.stopping)
	return l.group.Wait()
}

// checkNothingLost ends the load. Each requested job has started once, deployed once and finished once, in the order of the requests.
func (l *load) checkNothingLost(t *testing.T) {
	t.Helper()
	if err := l.stop(); err != nil {
		t.Fatal(err)
	}
	ofItems := map[string]bool{}
	for id, history := range l.recorder.History().Objects() {
		if id.Kind == "DeployItem" {
			for _, job := range values(history, "status.jobIDFinished") {
				ofItems[job] = true
			}
		}
	}
	all := 0
	for name, ended := range l.rounds {
		rounds := int(ended.Load())
		all += rounds
		meta := metav1.ObjectMeta{Namespace: "shop", Name: name}
		history := l.recorder.Of(&landscaper.Installation{ObjectMeta: meta})
		begun, finished := values(history, "status.jobID"), values(history, "status.jobIDFinished")
		distinct := slices.Compact(slices.Sorted(slices.Values(begun)))
		if len(begun) != rounds || len(distinct) != rounds || !slices.Equal(begun, finished) {
			t.Errorf("%s was asked for %d jobs; it has begun %q and ended %q", name, rounds, begun, finished)
		}
		var written, want []string
		for _, revision := range l.recorder.Of(&corev1.ConfigMap{ObjectMeta: meta}) {
			written = append(written, revision.Field("data.round"))
		}
		for number := range rounds {
			want = append(want, strconv.Itoa(number+1))
		}
		if !slices.Equal(written, want) {
			t.Errorf("%s has deployed %q in %d jobs", name, written, rounds)
		}
	}
	if len(ofItems) != all {
		t.Errorf("deploy items have ended %d jobs of %d", len(ofItems), all)
	}
	t.Logf("%d jobs were asked for", all)
}

// values returns the consecutive values of a field, without the times when it had none.
func values(history testkit.History, field string) []string {
	return slices.DeleteFunc(history.Transitions(field), func(value string) bool { return value == "" })
}
