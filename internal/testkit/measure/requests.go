// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"espalier.dev/internal/testkit/traffic"
)

// Requests counts requests by what they do: "POST installations/status". Watches and the housekeeping of the API server itself are omitted.
type Requests map[string]int

// Total returns the number of requests.
func (r Requests) Total() int {
	sum := 0
	for _, count := range r {
		sum += count
	}
	return sum
}

// Writes returns the number of requests that store something.
func (r Requests) Writes() int {
	sum := 0
	for what, count := range r {
		if !strings.HasPrefix(what, "GET ") && !strings.HasPrefix(what, "LIST ") {
			sum += count
		}
	}
	return sum
}

// Minus returns the difference to others.
func (r Requests) Minus(others Requests) Requests {
	rest := maps.Clone(r)
	for what, count := range others {
		rest[what] -= count
	}
	maps.DeleteFunc(rest, func(_ string, count int) bool { return count == 0 })
	return rest
}

// String returns a line for each, the most frequent first.
func (r Requests) String() string {
	var lines []string
	for _, what := range slices.SortedFunc(maps.Keys(r), func(a, b string) int { return r[b] - r[a] }) {
		lines = append(lines, strconv.Itoa(r[what])+" "+what)
	}
	return strings.Join(lines, "\n")
}

// housekeeping are resources that the API server itself reads and writes.
var housekeeping = []string{
	"", "leases", "flowschemas", "prioritylevelconfigurations", "clusterroles", "clusterrolebindings", "roles", "rolebindings",
	"priorityclasses", "apiservices", "servicecidrs", "ipaddresses", "endpoints", "endpointslices", "storageclasses",
	"resourcequotas", "limitranges", "services", "customresourcedefinitions", "validatingadmissionpolicies", "mutatingadmissionpolicies",
	"validatingadmissionpolicybindings", "mutatingadmissionpolicybindings",
	"validatingwebhookconfigurations", "mutatingwebhookconfigurations",
}

func requestName(verb, resource, subresource string) string {
	name := verb + " " + resource
	if subresource != "" {
		name += "/" + subresource
	}
	return name
}

var objectPath = regexp.MustCompile(`^/(?:api/v1|apis/[^/]+/[^/]+)/(?:namespaces/[^/]+/)?([a-z]+)(?:/([^/]+))?(?:/([a-z]+))?$`)

// NameOf names a request as the metrics of the API server do; empty for watches and requests without an object.
func NameOf(request *http.Request) string {
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

// counter counts the requests of this process.
type counter struct {
	mutex sync.Mutex
	seen  Requests
}

func (c *counter) snapshot() Requests {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return maps.Clone(c.seen)
}

func (c *counter) wrap(next http.RoundTripper) http.RoundTripper {
	return traffic.RoundTripper(func(request *http.Request) (*http.Response, error) {
		if name := NameOf(request); name != "" {
			c.mutex.Lock()
			c.seen[name]++
			c.mutex.Unlock()
		}
		return next.RoundTrip(request)
	})
}
