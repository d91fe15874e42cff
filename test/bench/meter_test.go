// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"bufio"
	"bytes"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// requests counts requests by what they do: "POST installations/status". Watches and the housekeeping of the API server itself
// are left out.
type requests map[string]int

func (r requests) total() int {
	sum := 0
	for _, count := range r {
		sum += count
	}
	return sum
}

func (r requests) writes() int {
	sum := 0
	for what, count := range r {
		if !strings.HasPrefix(what, "GET ") && !strings.HasPrefix(what, "LIST ") {
			sum += count
		}
	}
	return sum
}

// minus is what is left without others.
func (r requests) minus(others requests) requests {
	rest := maps.Clone(r)
	for what, count := range others {
		rest[what] -= count
	}
	maps.DeleteFunc(rest, func(_ string, count int) bool { return count == 0 })
	return rest
}

func (r requests) String() string {
	var lines []string
	for _, what := range slices.SortedFunc(maps.Keys(r), func(a, b string) int { return r[b] - r[a] }) {
		lines = append(lines, strconv.Itoa(r[what])+" "+what)
	}
	return strings.Join(lines, "\n")
}

var (
	requestLine = regexp.MustCompile(`^apiserver_request_total\{(.*)\} (\S+)$`)
	labelForm   = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

// housekeeping are resources that the API server itself reads and writes.
var housekeeping = []string{
	"", "leases", "flowschemas", "prioritylevelconfigurations", "clusterroles", "clusterrolebindings", "roles", "rolebindings",
	"priorityclasses", "apiservices", "servicecidrs", "ipaddresses", "endpoints", "endpointslices", "storageclasses",
	"resourcequotas", "limitranges", "services", "customresourcedefinitions", "validatingadmissionpolicies", "mutatingadmissionpolicies",
	"validatingadmissionpolicybindings", "mutatingadmissionpolicybindings", "validatingwebhookconfigurations", "mutatingwebhookconfigurations",
}

// served is what the API server has been asked for since it started, by anybody but this process.
func (s *stand) served(b *testing.B) requests {
	b.Helper()
	content, err := s.kubernetes.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(b.Context())
	check(b, err)
	found := requests{}
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		match := requestLine.FindStringSubmatch(lines.Text())
		if match == nil {
			continue
		}
		labels := map[string]string{}
		for _, label := range labelForm.FindAllStringSubmatch(match[1], -1) {
			labels[label[1]] = label[2]
		}
		count, err := strconv.ParseFloat(match[2], 64)
		check(b, err)
		if labels["verb"] != "WATCH" && !slices.Contains(housekeeping, labels["resource"]) {
			found[requestName(labels["verb"], labels["resource"], labels["subresource"])] += int(count)
		}
	}
	return found.minus(s.requests.snapshot())
}

func requestName(verb, resource, subresource string) string {
	name := verb + " " + resource
	if subresource != "" {
		name += "/" + subresource
	}
	return name
}

// counter counts the requests of this process.
type counter struct {
	mutex sync.Mutex
	seen  requests
}

func newCounter() *counter { return &counter{seen: requests{}} }

func (c *counter) snapshot() requests {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return maps.Clone(c.seen)
}

func (c *counter) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if name := nameOf(request); name != "" {
			c.mutex.Lock()
			c.seen[name]++
			c.mutex.Unlock()
		}
		return next.RoundTrip(request)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip makes a function a transport.
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

var objectPath = regexp.MustCompile(`^/(?:api/v1|apis/[^/]+/[^/]+)/(?:namespaces/[^/]+/)?([a-z]+)(?:/([^/]+))?(?:/([a-z]+))?$`)

// nameOf names a request as the metrics of the API server do; empty for watches and what is no object.
func nameOf(request *http.Request) string {
	match := objectPath.FindStringSubmatch(request.URL.Path)
	if match == nil || request.URL.Query().Has("watch") || slices.Contains(housekeeping, match[1]) {
		return ""
	}
	verb := request.Method
	if verb == http.MethodGet && match[2] == "" {
		verb = "LIST"
	}
	return requestName(verb, match[1], match[3])
}
