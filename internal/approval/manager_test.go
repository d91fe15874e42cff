// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/approval"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/managed"
)

// cluster has an application, a pipeline for it, and several replicas of the manager.
type cluster struct {
	*testing.T
	api       *testkit.APIServer
	namespace string
}

// replica runs a manager with the pipeline controller and the server, and returns the server's URL.
func (c cluster) replica() string {
	c.Helper()
	options := managed.Options(c.namespace)
	options.Controllers = []string{"pipelines"}
	options.Pipelines.ApprovalAddress = testkit.FreeAddress(c.T)
	options.LeaderElection.Enabled, options.LeaderElection.Namespace = true, c.namespace
	managed.Run(c.T, c.api.Config(), options)
	url := "http://" + options.Pipelines.ApprovalAddress
	c.untilHealthy(url)
	return url
}

// untilHealthy polls until the server responds. There is no event for it.
func (c cluster) untilHealthy(url string) {
	c.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		response, err := http.Get(url + "/healthz")
		if err == nil {
			response.Body.Close()
			return
		}
		select {
		case <-ticker.C:
		case <-c.Context().Done():
			c.Fatal("the server does not answer")
		}
	}
}

// Two replicas receive the approval, and one of them promotes, once.
func TestPIP25_PIP26_AnApprovalLeadsToOnePromotion(t *testing.T) {
	c := cluster{T: t, api: testkit.Server(t)}
	c.namespace = c.api.Namespace(t)
	c.api.InstallCRD(t, testkit.FluxKinds(t)...)
	dev, prod := c.api.GrantedNamespace(t, c.namespace), c.api.GrantedNamespace(t, c.namespace)
	testkit.HealthyRelease(t, c.api, dev, "shop", "1.3.0")
	testkit.HealthyRelease(t, c.api, prod, "shop", "1.2.0")
	shop := testkit.Pipeline(c.namespace, "shop").Environment("dev", dev).Environment("prod", prod).Notification().Manual().Build()
	shop.Spec.Promotion.Strategy.SecretRef = &pipelines.LocalObjectReference{Name: "key"}
	testkit.Create(t, c.api, shop, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "key"}, Data: map[string][]byte{approval.KeyEntry: []byte(approval.Key)},
	})
	replicas := []string{c.replica(), c.replica()}
	state := func(wanted pipelines.PromotionState) testkit.Condition[*pipelines.Pipeline] {
		return testkit.Is(string(wanted), func(p *pipelines.Pipeline) bool {
			current := p.Status.Environments["prod"].Promotion
			return current != nil && current.State == wanted
		})
	}
	testkit.Eventually(t, c.api, shop, state(pipelines.PromotionUnapproved))
	for _, replica := range slices.Concat(replicas, replicas) {
		c.approve(replica, "/approval/"+c.namespace+"/shop/prod/1.3.0")
	}
	done := testkit.Eventually(t, c.api, shop, state(pipelines.PromotionSucceeded))
	if given := done.Status.Environments["prod"].Promotion.Approval; given == nil || given.By != "key" {
		t.Errorf("recorded is %+v", given)
	}
	if promotions := c.promotions(); promotions != 1 {
		t.Errorf("promoted %d times", promotions)
	}
}

func (c cluster) approve(replica, path string) {
	c.Helper()
	request, err := http.NewRequestWithContext(c.Context(), http.MethodPost, replica+path, nil)
	if err != nil {
		c.Fatal(err)
	}
	request.Header = approval.SignedHeader(path)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		c.Errorf("answer is %s", response.Status)
	}
}

// Each event of Flux leads to a pass over the pipeline. The test sends several, since passes have other causes, too.
func TestPIP27_AnEventLeadsToAPassOfTheController(t *testing.T) {
	c := cluster{T: t, api: testkit.Server(t)}
	c.namespace = c.api.Namespace(t)
	c.api.InstallCRD(t, testkit.FluxKinds(t)...)
	dev, prod := c.api.GrantedNamespace(t, c.namespace), c.api.GrantedNamespace(t, c.namespace)
	testkit.HealthyRelease(t, c.api, dev, "shop", "1.3.0")
	testkit.HealthyRelease(t, c.api, prod, "shop", "1.3.0")
	shop := testkit.Pipeline(c.namespace, "shop").Environment("dev", dev).Environment("prod", prod).Notification().Build()
	testkit.Create(t, c.api, shop)
	replica := c.replica()
	testkit.Eventually(t, c.api, shop, testkit.Is("settled", func(p *pipelines.Pipeline) bool {
		return p.Status.Run != nil && p.Status.Run.CompletionTime != nil
	}))
	body := fmt.Sprintf(`{"involvedObject":{"apiVersion":%q,"kind":%q,"name":%q,"namespace":%q},"metadata":{"revision":"1.3.0"}}`,
		shop.Spec.AppRef.APIVersion, shop.Spec.AppRef.Kind, shop.Spec.AppRef.Name, dev)
	for range 5 {
		before := c.passes()
		response, err := http.Post(replica+"/promotion/"+c.namespace+"/shop/dev", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusNoContent {
			t.Fatalf("answer is %s", response.Status)
		}
		c.untilPasses(before + 1)
	}
}

// passes counts the passes of all controllers of the process. They end with their tests.
func (c cluster) passes() float64 {
	c.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		c.Fatal(err)
	}
	total := 0.0
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			total += metric.GetCounter().GetValue()
		}
	}
	return total
}

// untilPasses waits for a number of passes. Only the metric shows it.
func (c cluster) untilPasses(wanted float64) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), testkit.Patience)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for c.passes() < wanted {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			c.Fatalf("%v passes, want %v: the controller does not look", c.passes(), wanted)
		}
	}
}

// promotions counts the Events about started promotions.
func (c cluster) promotions() int {
	c.Helper()
	var events corev1.EventList
	if err := c.api.Client().List(c.Context(), &events, client.InNamespace(c.namespace)); err != nil {
		c.Fatal(err)
	}
	count := 0
	for _, event := range events.Items {
		if event.Reason == "Promote" {
			count += max(1, int(event.Count))
		}
	}
	return count
}

// If another process uses the address, the server waits until it is free, and does not end the process.
func TestAnAddressInUseIsAwaited(t *testing.T) {
	occupied, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	complaints := make(chan string, 10)
	server, err := approval.New(approval.Options{
		Client: testkit.Server(t).Client(), Address: occupied.Addr().String(),
		Log: funcr.New(func(_, text string) { complaints <- text }, funcr.Options{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Start(ctx) }()
	if text := <-complaints; !strings.Contains(text, "--approval-address") {
		t.Errorf("it says %q", text)
	}
	if err := occupied.Close(); err != nil {
		t.Fatal(err)
	}
	cluster{T: t}.untilHealthy("http://" + occupied.Addr().String())
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
