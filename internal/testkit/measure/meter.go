// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"bufio"
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"espalier.dev/internal/testkit"
)

// Meter counts the requests of other processes to an API server.
type Meter struct {
	config *rest.Config
	raw    rest.Interface
	own    *counter
}

// NewMeter counts from the start of the server on.
func NewMeter(t testing.TB, server *testkit.APIServer) *Meter {
	t.Helper()
	m := &Meter{config: server.Config(), own: &counter{seen: Requests{}}}
	m.config.Wrap(m.own.wrap)
	m.config.WarningHandler = rest.NoWarnings{}
	clients, err := kubernetes.NewForConfig(m.config)
	if err != nil {
		t.Fatal(err)
	}
	m.raw = clients.CoreV1().RESTClient()
	return m
}

// Config returns the configuration for clients of this process, whose requests are not counted.
func (m *Meter) Config() *rest.Config { return rest.CopyConfig(m.config) }

// Requests returns all requests to the server since it started, except those of this process.
func (m *Meter) Requests(t testing.TB) Requests {
	t.Helper()
	found := Requests{}
	for _, s := range m.samples(t, "apiserver_request_total") {
		if s.labels["verb"] != "WATCH" && !slices.Contains(housekeeping, s.labels["resource"]) {
			found[requestName(s.labels["verb"], s.labels["resource"], s.labels["subresource"])] += int(s.value)
		}
	}
	return found.Minus(m.own.snapshot())
}

func (m *Meter) samples(t testing.TB, metric string) []sample {
	t.Helper()
	content, err := m.raw.Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := parse(content, metric)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// sample is one line in the format of Prometheus.
type sample struct {
	labels map[string]string
	value  float64
}

var (
	sampleForm = regexp.MustCompile(`^(\w+)(?:\{(.*)\})? (\S+)$`)
	labelForm  = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

// parse returns the samples of one metric.
func parse(content []byte, metric string) ([]sample, error) {
	var found []sample
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		if !bytes.HasPrefix(lines.Bytes(), []byte(metric)) {
			continue
		}
		match := sampleForm.FindStringSubmatch(lines.Text())
		if match == nil || match[1] != metric {
			continue
		}
		value, err := strconv.ParseFloat(match[3], 64)
		if err != nil {
			return nil, fmt.Errorf("read %q: %w", lines.Text(), err)
		}
		labels := map[string]string{}
		for _, label := range labelForm.FindAllStringSubmatch(match[2], -1) {
			labels[label[1]] = label[2]
		}
		found = append(found, sample{labels: labels, value: value})
	}
	return found, lines.Err()
}
