// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pullrequest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/testkit/gitserver"
)

// provider keeps the pull requests of a real repository, by the common rules of providers: two branches have at most one open pull request,
// both branches exist, and they differ.
type provider struct {
	t          testing.TB
	repository *gitserver.Repository
	power      *power

	mutex    sync.Mutex
	all      []gitprovider.PullRequest
	comments map[int64][]string
	// refuse makes calls fail, by their names.
	refuse map[string]gitprovider.Class
	// onCreate is called before a pull request is opened.
	onCreate func()
}

func newProvider(t testing.TB, repository *gitserver.Repository, power *power) *provider {
	return &provider{t: t, repository: repository, power: power, comments: map[int64][]string{}}
}

func (f *provider) Repository() gitprovider.Repository {
	return gitprovider.NewRepository("git.example.com", f.repository.URL)
}

// Checks is irrelevant to the creation of pull requests.
func (f *provider) Checks(context.Context, gitprovider.PullRequest) (gitprovider.Checks, error) {
	return gitprovider.Checks{}, errors.ErrUnsupported
}

func (f *provider) Create(_ context.Context, wish gitprovider.NewPullRequest) (gitprovider.PullRequest, error) {
	if f.onCreate != nil {
		f.onCreate()
	}
	var created gitprovider.PullRequest
	err := f.call("create", func() error {
		head, base := f.repository.Tip(wish.Head), f.repository.Tip(wish.Base)
		if head == "" || base == "" || f.repository.Git("diff", "--name-only", base+"..."+head) == "" {
			return (&gitprovider.Error{Class: gitprovider.Refused, Message: "nothing to merge"}).Classified()
		}
		same := func(p gitprovider.PullRequest) bool {
			return p.State == gitprovider.Open && p.Head == wish.Head && p.Base == wish.Base
		}
		if slices.ContainsFunc(f.all, same) {
			return (&gitprovider.Error{Class: gitprovider.Duplicate, Message: "it exists"}).Classified()
		}
		number := int64(len(f.all) + 1)
		created = gitprovider.PullRequest{
			Number:     number,
			URL:        fmt.Sprintf("https://git.example.com/pulls/%d", number),
			State:      gitprovider.Open,
			Title:      wish.Title,
			Body:       wish.Body,
			Head:       wish.Head,
			Base:       wish.Base,
			HeadCommit: head,
		}
		f.all = append(f.all, created)
		return nil
	})
	return created, err
}

func (f *provider) FindByHead(_ context.Context, head, base string) ([]gitprovider.PullRequest, error) {
	var found []gitprovider.PullRequest
	err := f.call("find", func() error {
		for _, p := range slices.Backward(f.all) {
			if p.Head == head && p.Base == base {
				found = append(found, p)
			}
		}
		return nil
	})
	return found, err
}

func (f *provider) Get(_ context.Context, number int64) (gitprovider.PullRequest, error) {
	var found gitprovider.PullRequest
	err := f.call("get", func() error {
		if number < 1 || number > int64(len(f.all)) {
			return (&gitprovider.Error{Class: gitprovider.NotFound, Message: "there is none"}).Classified()
		}
		found = f.all[number-1]
		return nil
	})
	return found, err
}

func (f *provider) List(context.Context, gitprovider.Cursor) (gitprovider.Listing, error) {
	return gitprovider.Listing{}, errors.New("nobody asks for changes here")
}

func (f *provider) History(context.Context) ([]gitprovider.PullRequest, error) {
	var found []gitprovider.PullRequest
	err := f.call("history", func() error {
		found = slices.Clone(f.all)
		return nil
	})
	return found, err
}

func (f *provider) Close(_ context.Context, number int64) (gitprovider.PullRequest, error) {
	var closed gitprovider.PullRequest
	err := f.call("close", func() error {
		if p := &f.all[number-1]; p.State == gitprovider.Open {
			p.State = gitprovider.Closed
		}
		closed = f.all[number-1]
		return nil
	})
	return closed, err
}

func (f *provider) Comment(_ context.Context, number int64, text string) error {
	return f.call("comment", func() error {
		f.comments[number] = append(f.comments[number], text)
		return nil
	})
}

// call performs an action like a request, which may be cut off before or after it.
func (f *provider) call(name string, do func() error) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if class := f.refuse[name]; class != "" {
		return (&gitprovider.Error{Class: class, Message: "no"}).Classified()
	}
	var result error
	if cut := f.power.use(name, func() { result = do() }); cut {
		return (&gitprovider.Error{Class: gitprovider.Unavailable, Message: "connection lost"}).Classified()
	}
	return result
}

// edit changes a pull request like a person.
func (f *provider) edit(number int64, change func(*gitprovider.PullRequest)) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	change(&f.all[number-1])
}

func (f *provider) open() []gitprovider.PullRequest {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return slices.DeleteFunc(slices.Clone(f.all), func(p gitprovider.PullRequest) bool { return p.State != gitprovider.Open })
}

// power lets a number of requests through, to the provider and to Git alike, and then none: the process has died.
type power struct {
	mutex sync.Mutex
	// left is the number of requests until the cut; negative means never.
	left int
	// afterwards reports that the last request takes effect, and only its response is lost.
	afterwards bool
	used       []string
}

func unlimited() *power { return &power{left: -1} }

func (p *power) use(name string, do func()) (cut bool) {
	p.mutex.Lock()
	left := p.left
	if left > 0 {
		p.left--
	}
	p.used = append(p.used, name)
	last := left == 1 && p.afterwards
	p.mutex.Unlock()
	if left == 0 || left == 1 && !p.afterwards {
		p.exhaust()
		return true
	}
	do()
	return last
}

func (p *power) exhaust() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.left = 0
}

func (p *power) restore() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.left = -1
}

// around wraps the handler for Git, to cut its requests.
func (p *power) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		if p.use(r.Method+" "+r.URL.Path, func() { next.ServeHTTP(answer, r) }) {
			panic(http.ErrAbortHandler)
		}
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	})
}
