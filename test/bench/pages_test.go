// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/web"
)

const (
	// pagesOfOne is how many pages one user has open; one of them shows the targets and the others the overview.
	pagesOfOne = 10
	// clusters is how many Targets the server checks.
	clusters = 20
	// looksEvery is how often an open page makes the server check them.
	looksEvery = time.Minute
)

// BenchmarkPages measures how long it takes from a write until all open pages have received a change among many installations: first while
// they only listen, then while they also make the server check targets, as pages do. The pages and the server run in this process and share
// the CPU with the API server.
func BenchmarkPages(b *testing.B) {
	s := newServer(b, lsv1alpha1.FlowJob)
	s.fill(b, *shownFlag)
	address := s.serve(b)
	var all []*openPage
	var readers []*browser
	for i := range *pagesFlag / pagesOfOne {
		r := s.logIn(b, address, fmt.Sprintf("reader-%d", i))
		readers = append(readers, r)
		for j := range pagesOfOne {
			all = append(all, r.open(b, []string{"overview", "targets"}[(j+1)/pagesOfOne]))
		}
	}
	overviews := slices.DeleteFunc(slices.Clone(all), func(p *openPage) bool { return p.view != "overview" })
	for _, p := range all {
		_, err := p.await(b.Context(), "")
		check(b, err)
	}
	for b.Loop() {
		before := s.served(b)
		writes, quiet := s.changes(b, "listening", overviews)
		ctx, stop := context.WithCancel(b.Context())
		var looking sync.WaitGroup
		for i, r := range readers {
			looking.Go(func() { r.look(ctx, b, time.Duration(i)*looksEvery/time.Duration(len(readers))) })
		}
		_, busy := s.changes(b, "looking", overviews)
		stop()
		looking.Wait()
		b.Logf("%d changes for %d pages:\n%s", (len(quiet)+len(busy))/len(overviews), len(all), s.served(b).Minus(before))
		quiet.report(b, "listening")
		busy.report(b, "looking")
		b.ReportMetric(busy.at(50)/quiet.at(50), "x-looking")
		b.ReportMetric(quiet.at(50)/writes.at(50), "x-write")
	}
}

// promise is how soon pages must receive a change.
const promise = 500 * time.Millisecond

// heard contains how long each page took to receive each change.
type heard []time.Duration

func (h heard) at(percent int) float64 {
	return float64(h[min(len(h)-1, len(h)*percent/100)].Microseconds()) / 1000
}

func (h heard) within(limit time.Duration) float64 {
	return 100 * float64(len(slices.DeleteFunc(slices.Clone(h), func(d time.Duration) bool { return d > limit }))) / float64(len(h))
}

func (h heard) report(b *testing.B, part string) {
	b.Helper()
	b.ReportMetric(h.at(50), "ms-p50-"+part)
	b.ReportMetric(h.at(99), "ms-p99-"+part)
	b.ReportMetric(h.within(promise), "%-in-time-"+part)
}

// fill creates installations that succeeded long ago, and Targets.
func (s *stand) fill(b *testing.B, count int) {
	b.Helper()
	each(b, names("shown", count), func(ctx context.Context, name string) error {
		shown := testkit.Installation(namespace, name).Build()
		if err := s.client.Create(ctx, shown); err != nil {
			return err
		}
		shown.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseSucceeded)
		return s.client.Status().Update(ctx, shown)
	})
	kubeconfig, err := os.ReadFile(s.server.Kubeconfig())
	check(b, err)
	each(b, names("cluster", clusters), func(ctx context.Context, name string) error {
		return s.client.Create(ctx, testkit.Target(namespace, name).Kubeconfig(string(kubeconfig)).Build())
	})
}

// serve runs the web UI as it runs in a cluster, and returns its address.
func (s *stand) serve(b *testing.B) string {
	b.Helper()
	server, err := web.New(web.Options{Config: s.server.Config(), Mode: web.Cluster, Hosts: []string{"127.0.0.1"}, Log: logr.Discard()})
	check(b, err)
	address, _ := testkit.Serve(b, server.Serve)
	return "http://" + address.String()
}

// browser is a browser with a session.
type browser struct{ address, cookie string }

// logIn creates a service account that may see everything, and logs it in.
func (s *stand) logIn(b *testing.B, address, name string) *browser {
	b.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	for _, object := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: meta},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: name}},
		},
	} {
		check(b, s.client.Create(b.Context(), object))
	}
	set, err := kubernetes.NewForConfig(s.server.Config())
	check(b, err)
	accounts := set.CoreV1().ServiceAccounts(namespace)
	token, err := accounts.CreateToken(b.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	check(b, err)
	r := &browser{address: address}
	response, err := r.post(b.Context(), "login", fmt.Sprintf(`{"token":%q}`, token.Status.Token))
	check(b, err)
	for _, cookie := range response.Cookies() {
		r.cookie = cookie.Name + "=" + cookie.Value
	}
	return r
}

func (r *browser) send(ctx context.Context, method, path, body string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, r.address+"/api/v1/"+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Cookie", r.cookie)
	response, err := http.DefaultClient.Do(request)
	if err == nil && response.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s %s: %s", method, path, response.Status)
	}
	return response, err
}

func (r *browser) post(ctx context.Context, path, body string) (*http.Response, error) {
	response, err := r.send(ctx, http.MethodPost, path, body)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response, errors.Join(err, response.Body.Close())
}

// look makes the server check the targets for each page, after the first delay and then periodically.
func (r *browser) look(ctx context.Context, b *testing.B, first time.Duration) {
	timer := time.NewTimer(first)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		for range pagesOfOne {
			if _, err := r.post(ctx, "checks", "{}"); err != nil && ctx.Err() == nil {
				b.Error(err)
			}
		}
		timer.Reset(looksEvery)
	}
}

// openPage records when it receives changes, which have marks in their messages.
type openPage struct {
	view  string
	mutex sync.Mutex
	heard map[string]time.Time
	woken chan struct{}
	ended error
}

// open opens the stream of a page. It has received the mark "" when it has its document.
func (r *browser) open(b *testing.B, view string) *openPage {
	b.Helper()
	response, err := r.send(b.Context(), http.MethodGet, "stream/"+view, "")
	check(b, err)
	p := &openPage{view: view, heard: map[string]time.Time{}, woken: make(chan struct{}, 1)}
	b.Cleanup(func() { check(b, response.Body.Close()) })
	go p.listen(bufio.NewReaderSize(response.Body, 1<<20))
	return p
}

var marks = regexp.MustCompile(`mark-[a-z]+-\d+`)

func (p *openPage) listen(lines *bufio.Reader) {
	for ended := false; !ended; {
		line, err := lines.ReadBytes('\n')
		p.mutex.Lock()
		p.note(line, time.Now())
		p.ended, ended = err, err != nil
		p.mutex.Unlock()
		select {
		case p.woken <- struct{}{}:
		default:
		}
	}
}

func (p *openPage) note(line []byte, now time.Time) {
	if !bytes.HasPrefix(line, []byte("data: ")) {
		return
	}
	p.heard[""] = now
	for _, mark := range marks.FindAll(line, -1) {
		if _, known := p.heard[string(mark)]; !known {
			p.heard[string(mark)] = now
		}
	}
}

// await waits until the page has received a mark, and returns the time.
func (p *openPage) await(ctx context.Context, mark string) (time.Time, error) {
	for {
		p.mutex.Lock()
		at, there := p.heard[mark]
		ended := p.ended
		p.mutex.Unlock()
		if there {
			return at, nil
		}
		if ended != nil {
			return at, fmt.Errorf("the stream has ended: %w", ended)
		}
		select {
		case <-ctx.Done():
			return at, ctx.Err()
		case <-p.woken:
		}
	}
}

// changes marks one installation after the other until every page has made the server check the targets once, at irregular times, and
// returns the durations of the writes and how long each page took to receive each.
func (s *stand) changes(b *testing.B, part string, pages []*openPage) (writes, all heard) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	for start, i := time.Now(), 0; time.Since(start) < looksEvery; i++ {
		wait(b, rand.N(time.Second))
		mark := fmt.Sprintf("mark-%s-%d", part, i)
		status, err := json.Marshal(map[string]any{"status": clitest.Status(lsv1alpha1.PhaseProgressing, clitest.Waits("Waiting", mark))})
		check(b, err)
		began := time.Now()
		shown := testkit.Installation(namespace, fmt.Sprintf("shown-%04d", i)).Build()
		check(b, s.client.Status().Patch(ctx, shown, client.RawPatch(types.MergePatchType, status)))
		writes = append(writes, time.Since(began))
		for _, p := range pages {
			at, err := p.await(ctx, mark)
			check(b, err)
			all = append(all, at.Sub(began))
		}
	}
	slices.Sort(writes)
	slices.Sort(all)
	return writes, all
}
